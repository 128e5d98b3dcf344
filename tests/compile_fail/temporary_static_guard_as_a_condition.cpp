// error: deleted function
// note: a temporary guard has released
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/embedded.hpp>
#include <leasehold/store/static_memory_store.hpp>

namespace lh = leasehold;

int main()
{
    lh::static_memory_store<4> store;
    lh::basic_static_lease lease{store, "pump", lh::lease_terms{}, lh::steady_clock{}, lh::static_owner_id{"control"}};
    lh::plain_error ec;
#ifndef LEASEHOLD_COMPILE_OK
    if (lease.try_acquire(ec)) return 0;
#endif
    if (auto guard = lease.try_acquire(ec)) return 0;
    return 1;
}
