// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_LEASE_ACCESS_HPP
#define LEASEHOLD_DETAIL_LEASE_ACCESS_HPP

#include <leasehold/detail/guard_core.hpp>

#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0::detail {

// Lets the rest of the library use more of a right and its guard than their public interfaces.
struct lease_access {
    // Returns a right's attempts: see acquire_forms.
    template <class Right>
    static auto& attempts(Right& right) noexcept
    {
        return right.attempts_;
    }

    // Makes another object of the same lease, which keeps what the lease refers to.
    template <class Lease>
    static std::shared_ptr<Lease> share(const Lease& lease)
    {
        return std::make_shared<Lease>(attempts(lease).handle());
    }

    template <class Lease>
    static auto& keeper(const Lease& lease) noexcept
    {
        return attempts(lease).keeper();
    }

    // Returns the right that a guard holds.
    template <class Guard, class Body>
    static Body& body(guard_core<Guard, Body>& guard) noexcept
    {
        return guard.body();
    }
    template <class Guard, class Body>
    static const Body& body(const guard_core<Guard, Body>& guard) noexcept
    {
        return guard.body();
    }

    template <class Guard>
    static void forget_min_hold(const Guard& guard) noexcept
    {
        body(guard).forget_min_hold();
    }

    template <class Guard>
    static void share_stop(const Guard& guard, const std::stop_source& shared) noexcept
    {
        body(guard).keeper().share_stop(body(guard).term(), shared);
    }

    template <class Guard>
    static void decline_up_to(const Guard& guard, int priority) noexcept
    {
        body(guard).keeper().decline_up_to(body(guard).term(), priority);
    }

    template <class Guard, class Pool, class Granted>
    static Guard make_guard(std::shared_ptr<Pool> pool, Granted granted) noexcept
    {
        return Guard{typename Guard::body_type{std::move(pool), std::move(granted)}};
    }
};

template <class Lease>
using keeper_of = std::remove_reference_t<decltype(lease_access::keeper(std::declval<const Lease&>()))>;

}  // namespace leasehold::inline v0::detail

#endif
