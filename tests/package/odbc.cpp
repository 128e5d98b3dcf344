// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc.hpp>

#include <iostream>

int main()
{
    leasehold::odbc_store store{"Driver=SQLite3;Database=jobs.db"};
    store.create_schema();
    leasehold::basic_lease lease{store, "nightly-report"};
    if (auto guard = lease.try_acquire()) std::cout << "held under token " << guard.token() << '\n';
}
