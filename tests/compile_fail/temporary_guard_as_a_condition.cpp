// error: deleted function
// note: a temporary guard has released
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

int main()
{
    lh::memory_store store;
    lh::basic_lease lease{store, "nightly-report"};
#ifndef LEASEHOLD_COMPILE_OK
    if (lease.try_acquire()) return 0;
#endif
    if (auto guard = lease.try_acquire()) {
        auto moved = std::move(guard);
        return moved ? 0 : 1;
    }
    return 1;
}
