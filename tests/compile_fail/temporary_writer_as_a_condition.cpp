// error: deleted function
// note: a temporary guard has released
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

int main()
{
    lh::memory_store store;
    lh::shared_lease catalog{store, "catalog"};
#ifndef LEASEHOLD_COMPILE_OK
    if (catalog.try_acquire()) return 0;
#endif
    if (auto writer = catalog.try_acquire()) return 0;
    return 1;
}
