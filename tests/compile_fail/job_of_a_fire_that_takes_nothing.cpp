// error: deleted.*run
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>
#include <leasehold/recurring.hpp>

#include <chrono>
#include <stop_token>

namespace lh = leasehold;
using namespace std::chrono_literals;

void use(lh::memory_store& store, const std::stop_token& stop)
{
    lh::recurring job{store, "n", lh::every{.period = 24h}};
#ifdef LEASEHOLD_COMPILE_OK
    job.run(stop, [](auto& run) { run.ensure_held(); });
#else
    job.run(stop, [] {});
#endif
}
