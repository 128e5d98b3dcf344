// error: complete.connection. needs save_checkpoint_on
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>
#include <leasehold/recurring.hpp>

#include <chrono>

namespace lh = leasehold;
using namespace std::chrono_literals;

void use(lh::memory_store& store)
{
    lh::recurring job{store, "n", lh::every{.period = 24h}};
    auto run = job.try_begin();
#ifdef LEASEHOLD_COMPILE_OK
    run.complete();
#else
    run.complete(5);
#endif
}
