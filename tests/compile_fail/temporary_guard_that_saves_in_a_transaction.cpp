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
    std::error_code ec;
#ifndef LEASEHOLD_COMPILE_OK
    return lh::odbc::save_checkpoint(nullptr, lease.try_acquire(), "17", ec);
#endif
    const auto guard = lease.try_acquire();
    return lh::odbc::save_checkpoint(nullptr, guard, "17", ec);
}
