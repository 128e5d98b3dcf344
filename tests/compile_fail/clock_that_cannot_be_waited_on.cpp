// error: give the lease no_renewal
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

struct my_clock {
    lh::time_point now() const noexcept { return {}; }
};

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::basic_lease lease{store, "n", my_clock{}, lh::no_renewal{}};
#else
    lh::basic_lease lease{store, "n", my_clock{}};
#endif
}
