// SPDX-License-Identifier: BSL-1.0
// Compiled without exceptions and run-time type information: the forms with a std::error_code are enough to use the core.
#include <leasehold/leasehold.hpp>

namespace {

template <class Lease, class Error>
bool can_be_used(Lease& lease, Error& ec)
{
    auto guard = lease.try_acquire(ec);
    return !ec && guard.held() && guard.renew(ec) && guard.release(ec) == leasehold::release_outcome::released;
}

template <class Store>
bool several_can_be_used(Store& store, std::error_code& ec)
{
    leasehold::basic_lease a{store, "a"}, b{store, "b"};
    auto both = leasehold::try_acquire_all(a, b, ec);
    leasehold::lease_semaphore permits{store, "permits", 2};
    auto permit = permits.try_acquire(ec);
    leasehold::shared_lease shared{store, "shared", leasehold::reader_limit{2}};
    const auto reader = shared.try_acquire_shared(ec);
    const auto writer = shared.try_acquire(ec);
    return !ec && both.renew(ec) && permit.renew(ec) && reader.held() && writer.empty() &&
           both.release(ec) == leasehold::release_outcome::released;
}

}  // namespace

int main()
{
    std::error_code ec;
    leasehold::plain_error plain;
    leasehold::memory_store store;
    leasehold::basic_lease lease{store, "name"};
    leasehold::static_memory_store<1> static_store;
    leasehold::basic_lease on_static_store{static_store, "name"};
    leasehold::basic_static_lease static_lease{
        static_store, "name", {}, leasehold::steady_clock{}, leasehold::static_owner_id{"owner"}};
    return can_be_used(lease, ec) && can_be_used(on_static_store, ec) && can_be_used(static_lease, ec) &&
                   can_be_used(static_lease, plain) && several_can_be_used(store, ec)
               ? 0
               : 1;
}
