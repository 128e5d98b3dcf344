// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <iostream>

int main()
{
    leasehold::memory_store store;
    leasehold::basic_lease lease{store, "nightly-report"};
    if (auto guard = lease.try_acquire()) std::cout << "held under token " << guard.token() << '\n';
}
