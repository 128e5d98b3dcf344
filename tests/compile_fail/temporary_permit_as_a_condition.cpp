// error: deleted function
// note: a temporary guard has released
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

int main()
{
    lh::memory_store store;
    lh::lease_semaphore licences{store, "licences", 5};
#ifndef LEASEHOLD_COMPILE_OK
    if (licences.try_acquire()) return 0;
#endif
    if (auto permit = licences.try_acquire()) return 0;
    return 1;
}
