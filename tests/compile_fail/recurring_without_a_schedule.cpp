// error: after the name comes the schedule
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <chrono>

namespace lh = leasehold;
using namespace std::chrono_literals;

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::recurring job{store, "n", lh::every{.period = 24h}};
#else
    lh::recurring job{store, "n", 24h};
#endif
}
