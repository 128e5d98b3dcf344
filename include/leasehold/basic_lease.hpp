// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_BASIC_LEASE_HPP
#define LEASEHOLD_BASIC_LEASE_HPP

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/guarded.hpp>
#include <leasehold/detail/lease_options.hpp>
#include <leasehold/detail/thread_locks.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fwd.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/renewal/broken_rule.hpp>
#include <leasehold/renewal/term_keeper.hpp>
#include <leasehold/waiting/deadline.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/wait_machine.hpp>
#include <leasehold/waiting/queue_ticket.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

/// The right to one name in a store, acquired again and again; composed of four policies.
///
///     lh::basic_lease lease{store, "nightly-report", 30s};
///     if (auto guard = lease.try_acquire()) { ... }
///
/// At most one guard of an object holds at a time: while one does, a further attempt is busy, like a std::mutex's,
/// so threads that share the object exclude each other too. A guard whose term was lost is in nobody's way.
/// Every operation has a form with a std::error_code, which does not throw.
///
/// Movable, not copyable; what is moved from can only be destroyed or assigned to.
/// Thread safety: all functions from any thread, but for moving, and guard(), which is for the thread that locked.
/// Lifetime: the store must outlive the lease and its guards.
/// Not for use across fork(): a child has neither the threads nor an owner of its own.
template <lease_store Store, lease_clock Clock = steady_clock, owner_id OwnerId = random_owner_id, renew_policy RenewPolicy = renew_at_fraction>
class basic_lease {
    static_assert(renew_policy_on_clock<RenewPolicy, Clock>,
                  "a clock without wait_until (waitable_clock) renews nothing in the background: give the lease no_renewal{}, or such a clock");

public:
    using store_type = Store;  ///< where it lives
    using clock_type = Clock;  ///< of deadlines
    using owner_id_type = OwnerId;  ///< says who holds
    using renew_policy_type = RenewPolicy;  ///< says when to renew
    using guard_type = lease_guard<basic_lease>;  ///< what an attempt returns

    // The store's type is left to the deduction guides below: what the constructors themselves would make of the options is
    // a lease of default policies.

    /// With a ttl of 30 s, and policies made by default. Does no I/O. Throws as below.
    basic_lease(std::type_identity_t<Store>& store, std::string_view name) : basic_lease{lease_terms{}, store, name} {}

    /// What follows the name may come in any order: lease_terms, or a bare duration, which is the ttl; a clock; an owner id; a
    /// renew policy. What is left out is made by default.
    ///
    /// Does no I/O. Throws std::system_error, saying what is wrong and what is allowed: errc::invalid_name,
    /// errc::invalid_owner, errc::invalid_terms (also for a policy whose first renewal comes after the deadline); and
    /// what the owner id throws.
    template <class... Options>
    basic_lease(std::type_identity_t<Store>& store, std::string_view name, Options&&... options)
        : basic_lease{detail::pick_terms(options...), store, name, options...}
    {
        check_options<Options...>();
    }

    /// The same, so that the terms can be given in braces.
    template <class... Options>
    basic_lease(std::type_identity_t<Store>& store, std::string_view name, lease_terms terms, Options&&... options)
        : basic_lease{terms, store, name, options...}
    {
        check_options<lease_terms, Options...>();
    }

    /// The same, with the clock next, which can then be given in braces too.
    template <class... Options>
    basic_lease(std::type_identity_t<Store>& store, std::string_view name, lease_terms terms, Clock clock, Options&&... options)
        : basic_lease{terms, store, name, clock, options...}
    {
        check_options<lease_terms, Clock, Options...>();
    }

    /// Takes over what the other was, which can only be destroyed or assigned to then.
    basic_lease(basic_lease&&) noexcept = default;
    /// Destroys what it was before.
    basic_lease& operator=(basic_lease&&) noexcept = default;

    /// Releases what lock() keeps. May wait, up to the store's call timeout, for a renewal that is under way.
    ~basic_lease() = default;

    [[nodiscard]] const std::string& name() const noexcept { return keeper().name(); }  ///< what it is a right to
    [[nodiscard]] const std::string& owner() const noexcept { return keeper().owner(); }  ///< who holds, when it holds
    [[nodiscard]] const lease_terms& terms() const noexcept { return keeper().terms(); }  ///< its durations
    [[nodiscard]] Store& store() const noexcept { return keeper().store(); }  ///< where it lives

    /// One attempt. An empty guard means busy: somebody else holds the lease, or a guard of this object is alive.
    ///
    /// Throws store_error when the store fails, or answers only when the term would be over already
    /// (errc::store_timeout); std::system_error or std::bad_alloc when there are no threads or memory for watching over
    /// the term. Nothing is held then.
    [[nodiscard]] guard_type try_acquire() &
    {
        std::error_code ec;
        attach_engine();
        attempt_result tried = attempt(ec);
        if (ec) raise_failure(ec, "try_acquire", tried.too_late);
        return std::move(tried.guard);
    }

    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] guard_type try_acquire(std::error_code& ec) & noexcept
    {
        ec.clear();
        detail::guarded(ec, [this] { attach_engine(); });
        return ec ? guard_type{} : attempt(ec).guard;
    }

    /// Waits for the lease, at most this long; zero or less is exactly one attempt.
    ///
    /// An empty guard means that the time ran out or that `stop` was asked to stop; asked before, the store isn't called.
    /// Sleeps until the lease's end as the store told it, or until a release wakes it; polls with growing, jittered pauses
    /// only where the store can't wake. Waiters of one process queue, first come, first served, and ask the store one at
    /// a time. Throws like try_acquire(): an outage ends the wait.
    template <class Rep, class Period>
    [[nodiscard]] guard_type try_acquire_for(std::chrono::duration<Rep, Period> at_most, std::stop_token stop = {}) &
    {
        return wait_or_throw(waiting::deadline_after(clock(), at_most), stop, "try_acquire_for");
    }

    /// The same, reported in `ec`: does not throw.
    template <class Rep, class Period>
    [[nodiscard]] guard_type try_acquire_for(std::chrono::duration<Rep, Period> at_most, std::error_code& ec, std::stop_token stop = {}) & noexcept
    {
        return wait_or_report(waiting::deadline_after(clock(), at_most), stop, ec);
    }

    /// Waits until an instant of the lease's own clock, or of any std clock: that one's distance from now is what counts.
    template <class Clk, class Dur>
    [[nodiscard]] guard_type try_acquire_until(std::chrono::time_point<Clk, Dur> until, std::stop_token stop = {}) &
    {
        return wait_or_throw(waiting::deadline_at(clock(), until), stop, "try_acquire_until");
    }

    /// The same, reported in `ec`: does not throw.
    template <class Clk, class Dur>
    [[nodiscard]] guard_type try_acquire_until(std::chrono::time_point<Clk, Dur> until, std::error_code& ec, std::stop_token stop = {}) & noexcept
    {
        return wait_or_report(waiting::deadline_at(clock(), until), stop, ec);
    }

    /// Waits without a limit: the guard is empty only when `stop` was asked to stop.
    [[nodiscard]] guard_type acquire(std::stop_token stop = {}) & { return wait_or_throw(time_point::max(), stop, "acquire"); }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] guard_type acquire(std::error_code& ec, std::stop_token stop = {}) & noexcept
    {
        return wait_or_report(time_point::max(), stop, ec);
    }

    /// Nothing is acquired on a temporary: it would be gone when its guard is used, and the next attempt another object's.
    template <class... Arguments>
    guard_type try_acquire(Arguments&&...) && = delete;
    template <class... Arguments>
    guard_type try_acquire_for(Arguments&&...) && = delete;  ///< see try_acquire() &&
    template <class... Arguments>
    guard_type try_acquire_until(Arguments&&...) && = delete;  ///< see try_acquire() &&
    template <class... Arguments>
    guard_type acquire(Arguments&&...) && = delete;  ///< see try_acquire() &&

    /// TimedLockable, for std::unique_lock, std::scoped_lock and std::lock: the lease keeps the guard, for the thread that locked.
    ///
    /// They throw like try_acquire(), and hold nothing then; and std::system_error with
    /// std::errc::resource_deadlock_would_occur where this thread would wait for itself: lock(), where it has locked the name
    /// already, through whatever object; try_lock(), where std::lock() of two leases of one name goes in circles.
    /// Ask guard().held() before relying on it: a lease can be lost. Then another thread may lock it; each unlocks its own.
    void lock()
    {
        refuse_deadlock("lock", locks_->held_by_this_thread());
        locks_->keep(acquire());
    }

    /// One attempt, kept like lock() does; false: busy.
    [[nodiscard]] bool try_lock()
    {
        refuse_deadlock("try_lock", locks_->goes_in_circles());
        return keep(try_acquire());
    }

    /// Waits, at most this long; false: busy until then.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> at_most)
    {
        return keep(try_acquire_for(at_most));
    }

    /// Waits, until then at most; false: busy until then.
    template <class Clk, class Dur>
    [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clk, Dur> until)
    {
        return keep(try_acquire_until(until));
    }

    /// Releases what this thread locked; where it locked nothing, what another one did. A failure is not reported: the store then frees the lease when its time runs out.
    void unlock() noexcept { const guard_type released_here{locks_->take()}; }

    /// The guard of what this thread has locked, until it unlocks; empty otherwise.
    [[nodiscard]] const guard_type& guard() const noexcept { return locks_->of_this_thread(); }

    /// What the store says about the name now; empty when it is free. Throws store_error when the store fails.
    [[nodiscard]] std::optional<lease_record> inspect() const
    {
        std::error_code ec;
        std::optional<lease_record> record = inspect(ec);
        if (ec) raise_failure(ec, "inspect");
        return record;
    }

    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] std::optional<lease_record> inspect(std::error_code& ec) const noexcept
    {
        std::optional<lease_record> record;
        ec.clear();
        detail::guarded(ec, [&] { record = store().inspect(name(), ec); });
        if (ec) record.reset();
        return record;  // moved: to copy it takes memory
    }

    /// Runs `work` under the lease: one attempt, then the call, then the release.
    ///
    /// `work` takes the guard by reference, or nothing. Returns std::optional of what it returns, empty when the lease
    /// was busy; for void, whether it ran. What `work` throws reaches the caller, after the release. Throws like
    /// try_acquire(); a release that fails is not reported.
    template <class Work>
    auto try_run(Work&& work)
    {
        return run_under(try_acquire(), std::forward<Work>(work));
    }

    /// Does not throw of its own; what `work` throws still reaches the caller.
    template <class Work>
    auto try_run(Work&& work, std::error_code& ec)
    {
        return run_under(try_acquire(ec), std::forward<Work>(work));
    }

private:
    template <class Lease>
    friend class leader_election;
    using keeper_type = renewal::term_keeper<Store, Clock, RenewPolicy>;
    using handle_type = renewal::keeper_handle<Store, Clock, RenewPolicy>;
    using locks_type = detail::thread_locks<guard_type, renewal::threading<Clock>>;

    template <class... Options>
    static constexpr void check_options() noexcept
    {
        static_assert((detail::lease_option<Options> && ...),
                      "after the name of a lease come, in any order: lease_terms or a ttl, a clock, an owner id, a renew policy");
        static_assert(detail::each_once<Options...>, "two lease_terms or ttls, clocks, owner ids or renew policies are given: which one counts?");
    }

    template <class... Options>
    basic_lease(const lease_terms& terms, Store& store, std::string_view name, const Options&... options)
        : handle_{std::make_shared<handle_type>(make_keeper(store, name, terms, detail::pick<detail::role_of_clock, Clock>(options...),
                                                            detail::pick<detail::role_of_owner_id, OwnerId>(options...),
                                                            detail::pick<detail::role_of_renew_policy, RenewPolicy>(options...)))},
          locks_{std::make_unique<locks_type>(detail::lock_target{std::addressof(waiting::queue_of(store)), waiting::key_of(store, this->name())})}
    {
    }

    static std::shared_ptr<keeper_type> make_keeper(Store& store, std::string_view name, const lease_terms& terms, Clock clock,
                                                    const OwnerId& owner, RenewPolicy policy)
    {
        return std::make_shared<keeper_type>(store, checked_name(name), checked_owner(owner.id()), checked(terms, policy), std::move(clock),
                                             std::move(policy));
    }

    static std::string checked_name(std::string_view name)
    {
        validate_name(name);
        return std::string{name};
    }

    static std::string checked_owner(std::string owner)
    {
        validate_owner(owner);
        return owner;
    }

    static lease_terms checked(const lease_terms& terms, const RenewPolicy& policy)
    {
        if (const char* rule = renewal::broken_rule(terms, policy)) detail::raise_invalid(errc::invalid_terms, rule);
        return terms;
    }

    [[nodiscard]] keeper_type& keeper() const noexcept
    {
        assert(handle_ && "a lease that was moved from can only be destroyed or assigned to");
        return *handle_->keeper;
    }

    [[nodiscard]] const Clock& clock() const noexcept { return keeper().clock(); }

    void attach_engine() { keeper().attach_engine(); }

    struct attempt_result {
        guard_type guard;
        acquire_result answer{};
        bool closed = false;    // a guard of this object holds, or another attempt through it is under way
        bool too_late = false;  // granted, but the term was over before the answer came
    };

    attempt_result attempt(std::error_code& ec) noexcept
    {
        waiting::no_ticket single;
        return attempt(single, ec);
    }

    template <class Ticket>
    attempt_result attempt(Ticket& ticket, std::error_code& ec) noexcept
    {
        bool begun = false;
        detail::guarded(ec, [&] { begun = keeper().begin_attempt(); });
        if (!begun) return {.guard = {}, .closed = !ec};
        acquire_result result;
        const time_point sent = clock().now();
        detail::guarded(ec, [&] { result = waiting::try_acquire(store(), ticket, name(), owner(), terms().ttl, ec); });
        if (ec || !result.granted()) {
            keeper().attempt_failed();
            return {.guard = {}, .answer = result};
        }
        if (auto term = keeper().grant(result.token, sent)) return {.guard = guard_type{handle_, std::move(term)}, .answer = result};
        // The answer took longer than the term. Nobody has worked under it: nothing to hand out, nothing to leave behind.
        std::error_code ignored;
        detail::guarded(ignored, [&] { static_cast<void>(store().release(name(), owner(), result.token, duration::zero(), ignored)); });
        keeper().attempt_failed();
        waiting::released(store(), name());
        ec = errc::store_timeout;
        return {.guard = {}, .too_late = true};
    }

    guard_type wait_or_throw(time_point deadline, const std::stop_token& stop, std::string_view operation)
    {
        std::error_code ec;
        attach_engine();
        attempt_result last = wait(deadline, stop, ec, ignore_busy);
        if (ec) raise_failure(ec, operation, last.too_late);
        return std::move(last.guard);
    }

    guard_type wait_or_report(time_point deadline, const std::stop_token& stop, std::error_code& ec) noexcept
    {
        guard_type guard;
        ec.clear();
        detail::guarded(ec, [&] {
            attach_engine();
            guard = wait(deadline, stop, ec, ignore_busy).guard;
        });
        return guard;
    }

    // What is the same in all of one wait.
    struct wait_limits {
        time_point deadline;
        const std::stop_token& stop;
        waker& to_wake;
    };

    // First for the guards of this object, in a queue of its own; then, among those who wait for the name, for everybody else's.
    // `on_busy` is told each busy answer of the store.
    template <class OnBusy>
    attempt_result wait(time_point deadline, const std::stop_token& stop, std::error_code& ec, OnBusy on_busy)
    {
        static_assert(waitable_clock<Clock>, "waiting for a lease needs a clock with wait_until (waitable_clock)");
        if (stop.stop_requested()) return {};
        if (deadline <= clock().now()) return attempt(ec);
        waker to_wake;
        const wait_limits limits{deadline, stop, to_wake};
        typename keeper_type::own_place own{keeper(), to_wake};
        const std::stop_callback wake_when_cancelled{stop, [&to_wake] { to_wake.wake(); }};
        waiting::wait_machine machine{deadline, waiting::pauses_of(store()), waiting::random_seed(owner(), clock().now())};
        while (sleep_until(limits, [&own] { return own.closed_until(); })) {
            const waiting::local_queue::place in_line{waiting::queue_of(store()), waiting::key_of(store(), name()), to_wake};
            if (!sleep_until(limits, [&in_line] { return in_line.first() ? std::nullopt : std::optional{time_point::max()}; })) break;
            attempt_result tried = acquire_loop(limits, machine, ec, on_busy);
            if (!tried.closed) return tried;
        }
        return {};
    }

    // Until there is no instant left to sleep to. False: the wait is over.
    template <class NextLook>
    bool sleep_until(const wait_limits& limits, NextLook next_look)
    {
        while (const std::optional<time_point> look_at = next_look()) {
            if (limits.stop.stop_requested() || clock().now() >= limits.deadline) return false;
            clock().wait_until(limits.to_wake, std::min(*look_at, limits.deadline));
        }
        return true;
    }

    static void ignore_busy(const acquire_result&) noexcept {}

    // The first of this process queues at the store.
    template <class OnBusy>
    attempt_result acquire_loop(const wait_limits& limits, waiting::wait_machine& machine, std::error_code& ec, OnBusy& on_busy)
    {
        auto ticket = waiting::enqueue(store(), name(), limits.to_wake);
        for (;;) {
            const waiting::wait_step step = machine.next(clock().now(), limits.stop.stop_requested());
            if (step.action == waiting::wait_action::give_up) return {};
            if (step.action == waiting::wait_action::sleep) {
                if (clock().wait_until(limits.to_wake, step.at)) machine.woken(clock().now());
                continue;
            }
            attempt_result tried = step.action == waiting::wait_action::attempt ? attempt(ticket, ec) : attempt(ec);
            if (!tried.guard.empty() || ec || tried.closed) return tried;
            on_busy(tried.answer);
            machine.busy(clock().now(), tried.answer);
        }
    }

    bool keep(guard_type guard)
    {
        if (guard.empty()) return false;
        locks_->keep(std::move(guard));
        return true;
    }

    void refuse_deadlock(std::string_view operation, bool would_deadlock) const
    {
        if (!would_deadlock) return;
        detail::raise(std::system_error{std::make_error_code(std::errc::resource_deadlock_would_occur),
                                        "leasehold: " + std::string{operation} + " '" + name() + "': this thread has locked the name already"});
    }

    template <class Work>
    static auto run_under(guard_type guard, Work&& work)
    {
        constexpr bool takes_guard = std::invocable<Work, guard_type&>;
        static_assert(takes_guard || std::invocable<Work>, "try_run needs something to call with the guard (auto&), or with nothing");
        const auto call = [&]() -> decltype(auto) {
            if constexpr (takes_guard)
                return std::invoke(std::forward<Work>(work), guard);
            else if constexpr (std::invocable<Work>)
                return std::invoke(std::forward<Work>(work));
        };
        using result = std::decay_t<decltype(call())>;
        const bool granted = !guard.empty();
        if constexpr (std::is_void_v<result>) {
            if (granted) call();
            return granted;
        }
        else {
            return granted ? std::optional<result>{call()} : std::optional<result>{};
        }
    }

    // `not_said_by_store`: the failure is our own finding, and what the store said last is about something else.
    [[noreturn]] void raise_failure(std::error_code ec, std::string_view operation, bool not_said_by_store = false) const
    {
        if (!not_said_by_store) detail::raise_store_failure(store(), ec, operation, name());
        store_diagnostics said;
        said.advice = "it granted the lease, but answered only when the term was over already; the term was released";
        detail::raise(store_error{ec, std::string{operation} + " '" + name() + "'", std::move(said)});
    }

    std::shared_ptr<handle_type> handle_;
    std::unique_ptr<locks_type> locks_;  // destroyed first: what it keeps is released while the lease still is there
};

/// The policies are those among the options, or the defaults.
template <lease_store Store, class... Options>
basic_lease(Store&, std::string_view, Options&&...)
    -> basic_lease<Store, detail::option_t<detail::role_of_clock, steady_clock, Options...>,
                   detail::option_t<detail::role_of_owner_id, random_owner_id, Options...>,
                   detail::option_t<detail::role_of_renew_policy, renew_at_fraction, Options...>>;
/// The same, with terms in braces.
template <lease_store Store, class... Options>
basic_lease(Store&, std::string_view, lease_terms, Options&&...)
    -> basic_lease<Store, detail::option_t<detail::role_of_clock, steady_clock, Options...>,
                   detail::option_t<detail::role_of_owner_id, random_owner_id, Options...>,
                   detail::option_t<detail::role_of_renew_policy, renew_at_fraction, Options...>>;

/// The same, with a clock in braces.
template <lease_store Store, class... Options>
basic_lease(Store&, std::string_view, lease_terms, steady_clock, Options&&...)
    -> basic_lease<Store, steady_clock, detail::option_t<detail::role_of_owner_id, random_owner_id, Options...>,
                   detail::option_t<detail::role_of_renew_policy, renew_at_fraction, Options...>>;

/// The common case, as a name for members and parameters.
template <lease_store Store>
using lease = basic_lease<Store>;

}  // namespace leasehold::inline v0

#endif
