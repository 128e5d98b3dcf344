// error: this is no clock
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <chrono>

namespace lh = leasehold;
using namespace std::chrono_literals;

struct my_clock {
#ifdef LEASEHOLD_COMPILE_OK
    lh::time_point now() const noexcept { return {}; }
#else
    int now() const noexcept { return 0; }
#endif
};

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::basic_lease lease{store, "n", my_clock{}, lh::no_renewal{}};
#else
    lh::basic_lease lease{store, "n", my_clock{}, lh::no_renewal{}};
#endif
}
