// SPDX-License-Identifier: BSL-1.0
// ctest:

// "Exactly one of us does this now", on an SQLite file. The README shows this program.

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <iostream>
namespace lh = leasehold;

int main()
{
    lh::odbc_store store{"Driver=SQLite3;Database=jobs.db"};  // or Driver=PostgreSQL Unicode;Server=...
    store.create_schema();                                    // if absent; any number of processes at once
    lh::basic_lease lease{store, "nightly-report"};
    if (auto guard = lease.try_acquire()) {                   // renewed in the background until the guard goes
        for (int page = 1; page <= 3 && guard.held(); ++page)
            std::cout << "page " << page << " under token " << guard.token() << '\n';
    } else std::cout << "another host is doing it\n";         // busy is an answer; an outage is an exception
}
