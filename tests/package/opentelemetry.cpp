// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>
#include <leasehold/opentelemetry.hpp>

#include <functional>
#include <iostream>

int main()
{
    leasehold::memory_store store;
    leasehold::opentelemetry_hook telemetry;
    leasehold::hooked_store observed{store, std::ref(telemetry)};
    leasehold::basic_lease lease{observed, "nightly-report"};
    if (const auto guard = lease.try_acquire()) std::cout << "held under token " << guard.token() << '\n';
}
