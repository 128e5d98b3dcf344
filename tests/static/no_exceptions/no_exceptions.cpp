// SPDX-License-Identifier: BSL-1.0
// Compiled without exceptions and run-time type information: the forms with a std::error_code are enough to use the core.
#include <leasehold/leasehold.hpp>

int main()
{
    leasehold::memory_store store;
    leasehold::basic_lease lease{store, "name"};
    std::error_code ec;
    auto guard = lease.try_acquire(ec);
    return !ec && guard.held() && guard.renew(ec) && guard.release(ec) == leasehold::release_outcome::released ? 0 : 1;
}
