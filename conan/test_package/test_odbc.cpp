// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <iostream>
#include <system_error>

// That it links. Which drivers the machine has is not the package's affair.
int main()
{
    leasehold::odbc_store store{"Driver=none"};
    std::error_code refused;
    leasehold::basic_lease lease{store, "nightly-report"};
    const auto guard = lease.try_acquire(refused);
    std::cout << "leasehold::odbc: " << (refused ? refused.message() : "held") << '\n';
}
