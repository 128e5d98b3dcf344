// error: deleted function
// note: a temporary guard has released
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/asio/renew.hpp>
#include <leasehold/basic_lease.hpp>
#include <leasehold/store/memory_store.hpp>

namespace lh = leasehold;

int main()
{
    lh::memory_store store;
    lh::basic_lease lease{store, "report"};
    const auto done = [](const auto&, bool) {};
#ifndef LEASEHOLD_COMPILE_OK
    lh::async_renew(lease.try_acquire(), done);
#endif
    const auto guard = lease.try_acquire();
    lh::async_renew(guard, done);
}
