// error: after the schedule come recurring_options
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <chrono>

namespace lh = leasehold;
using namespace std::chrono_literals;

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::recurring job{store, "n", lh::every{.period = 24h}, lh::recurring_options{.ttl = 60s}};
#else
    lh::recurring job{store, "n", lh::every{.period = 24h}, 60s};
#endif
}
