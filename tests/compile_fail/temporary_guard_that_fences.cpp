// error: deleted function
// note: a temporary guard has released
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/basic_lease.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

namespace lh = leasehold;

int main()
{
    lh::odbc_store store{"DSN=leases"};
    lh::basic_lease lease{store, "report"};
#ifndef LEASEHOLD_COMPILE_OK
    return lh::odbc::fence(nullptr, lease.try_acquire());
#endif
    const auto guard = lease.try_acquire();
    return lh::odbc::fence(nullptr, guard);
}
