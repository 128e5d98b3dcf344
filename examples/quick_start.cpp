// SPDX-License-Identifier: BSL-1.0
// ctest:

// "Exactly one of us does this now", on an SQLite file. The README shows this program.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <iostream>

namespace lh = leasehold;
using namespace std::chrono_literals;

int main()
{
    lh::odbc_store store{"Driver=SQLite3;Database=jobs.db"};
    store.create_schema();

    lh::basic_lease lease{store, "nightly-report", lh::lease_terms{.ttl = 30s}};
    if (auto guard = lease.try_acquire()) {
        std::cout << "this process works, with token " << guard.token() << '\n';
        // Renewed in the background; held() is false as soon as this process must stop.
        for (int step = 1; step <= 3 && guard.held(); ++step) std::cout << "step " << step << '\n';
    }
    else {
        std::cout << "somebody else works\n";
    }
}
