// error: deleted function
// note: a temporary guard has released
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

int main()
{
    lh::memory_store store;
    lh::basic_lease lease{store, "report"};
#ifndef LEASEHOLD_COMPILE_OK
    return lh::to_text(lease.try_acquire()).empty();
#endif
    const auto guard = lease.try_acquire();
    return lh::to_text(guard).empty();
}
