// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <iostream>

int main()
{
    leasehold::memory_store store;
    leasehold::basic_lease lease{store, "nightly-report"};
    const auto guard = lease.try_acquire();
    std::cout << "leasehold: " << (guard.held() ? "held" : "not held") << " under token " << guard.token() << '\n';
    return guard.held() ? 0 : 1;
}
