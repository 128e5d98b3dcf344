// error: deleted function
// note: several terms, so use each of its guards
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/lease_semaphore.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

namespace lh = leasehold;

int main()
{
    lh::odbc_store store{"DSN=leases"};
    lh::lease_semaphore licences{store, "licences", 5};
    auto three = licences.try_acquire(3);
#ifndef LEASEHOLD_COMPILE_OK
    return lh::odbc::fence(nullptr, three);
#endif
    for (const auto& permit : three.guards())
        if (!lh::odbc::fence(nullptr, permit)) return 1;
    return 0;
}
