// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_LEASE_ACCESS_HPP
#define LEASEHOLD_DETAIL_LEASE_ACCESS_HPP

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/guard_core.hpp>
#include <leasehold/error.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/queue_ticket.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0::detail {

// What several rights at once need of a lease and its guard beyond their public interfaces: an attempt in parts, so that the
// attempts of several leases can share a call, and the end of a term under which nobody has worked.
struct lease_access {
    // The part of an attempt before the call; answered() or unanswered() must follow. False: a guard of the lease holds,
    // another attempt is under way, or there is an error.
    template <class Lease>
    static bool begin(Lease& lease, std::error_code& ec) noexcept
    {
        catch_into(ec, [&lease] { lease.attempts_.attach_engine(); });
        return !ec && lease.attempts_.begin_attempt(ec);
    }

    template <class Lease>
    static auto answered(Lease& lease, const acquire_result& said, time_point sent, std::error_code& ec, std::error_code& not_released,
                         std::optional<time_point> asked) noexcept
    {
        return lease.attempts_.answered(said, sent, ec, not_released, asked);
    }

    template <class Lease>
    static void unanswered(Lease& lease) noexcept
    {
        lease.keeper().attempt_failed();
    }

    // One attempt. `asked`: since when the caller has waited, if it has; the same below.
    template <class Lease>
    static auto attempt(Lease& lease, std::error_code& ec, std::optional<time_point> asked = {}) noexcept
    {
        catch_into(ec, [&lease] { lease.attempts_.attach_engine(); });
        waiting::no_ticket single;
        using result = decltype(lease.attempts_.attempt(single, ec, asked));
        return ec ? result{} : lease.attempts_.attempt(single, ec, asked);
    }

    // One attempt of a waiter, whose lease has attached the engine before.
    template <class Lease, class Ticket>
    static auto attempt(Lease& lease, Ticket& ticket, std::error_code& ec, std::optional<time_point> asked) noexcept
    {
        return lease.attempts_.attempt(ticket, ec, asked);
    }

    // Another object of the same lease, which keeps what the lease refers to.
    template <class Lease>
    static std::shared_ptr<Lease> share(const Lease& lease)
    {
        return std::shared_ptr<Lease>{new Lease{lease.attempts_.handle()}};
    }

    template <class Lease>
    static auto& keeper(const Lease& lease) noexcept
    {
        return lease.keeper();
    }

    // The attempt that a wait asked for.
    template <class Lease, class Wait>
    static auto attempt(Lease& lease, Wait& waits, waiting::wait_action how, std::error_code& ec) noexcept
    {
        return lease.attempts_.attempt(waits, how, ec);
    }

    template <class Lease, class Wait, class Result>
    static void go_on(const Lease& lease, Wait& waits, const Result& tried)
    {
        lease.attempts_.go_on(waits, tried);
    }

    template <class Lease>
    static const auto& clock(const Lease& lease) noexcept
    {
        return lease.attempts_.clock();
    }

    template <class Lease>
    static store_error failure(const Lease& lease, std::error_code ec, std::string_view operation, bool too_late)
    {
        return lease.attempts_.failure(ec, operation, too_late);
    }

    template <class Lease>
    [[noreturn]] static void raise_failure(const Lease& lease, std::error_code ec, std::string_view operation, bool too_late)
    {
        lease.attempts_.raise_failure(ec, operation, too_late);
    }

    // The right that a guard holds.
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

    // What a semaphore or a shared lease consists of, which outlives it.
    template <class Right>
    static auto parts(const Right& of) noexcept
    {
        return of.parts();
    }

    // The attempts of a shared lease's readers.
    template <class SharedLease>
    static auto reader(const SharedLease& of) noexcept
    {
        return of.attempts_.reader();
    }

    // One attempt at the exclusive right.
    template <class SharedLease, class Rights>
    static auto write(Rights& of, std::error_code& ec)
    {
        return SharedLease::attempts_type::write(of, ec);
    }
};

template <class Lease>
using keeper_of = std::remove_reference_t<decltype(lease_access::keeper(std::declval<const Lease&>()))>;

}  // namespace leasehold::inline v0::detail

#endif
