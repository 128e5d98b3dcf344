// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_BASIC_LEASE_HPP
#define LEASEHOLD_BASIC_LEASE_HPP

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/guarded.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fwd.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/renewal/broken_rule.hpp>
#include <leasehold/renewal/term.hpp>
#include <leasehold/waiting/deadline.hpp>
#include <leasehold/waiting/wait_machine.hpp>
#include <leasehold/waiting/wait_queue.hpp>
#include <leasehold/waiting/watch_release.hpp>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
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
///     lh::basic_lease lease{store, "nightly-report", lh::lease_terms{.ttl = 30s}};
///     if (auto guard = lease.try_acquire()) { ... }
///
/// At most one guard of an object is alive at a time: while one is, a further attempt is busy, like a std::mutex's,
/// so threads that share the object exclude each other too.
/// Every operation has a form with a std::error_code, which does not throw.
///
/// Thread safety: all functions from any thread. Lifetime: the store must outlive the lease, the lease its guards.
/// Not for use across fork(): a child has neither the threads nor an owner of its own.
template <lease_store Store, lease_clock Clock = steady_clock, owner_id OwnerId = random_owner_id, renew_policy RenewPolicy = renew_at_fraction>
class basic_lease {
public:
    using store_type = Store;  ///< where it lives
    using clock_type = Clock;  ///< of deadlines
    using owner_id_type = OwnerId;  ///< says who holds
    using renew_policy_type = RenewPolicy;  ///< says when to renew
    using guard_type = lease_guard<basic_lease>;  ///< what an attempt returns

    /// Does no I/O. Throws std::system_error, saying what is wrong and what is allowed: errc::invalid_name,
    /// errc::invalid_owner, errc::invalid_terms (also for a policy whose first renewal comes after the deadline); and
    /// what the owner id throws.
    explicit basic_lease(Store& store, std::string_view name, lease_terms terms = {}, Clock clock = Clock{}, OwnerId owner = OwnerId{},
                         RenewPolicy policy = RenewPolicy{})
        : term_{std::make_shared<term_type>(store, checked_name(name), checked_owner(owner.id()), checked(terms, policy), std::move(clock),
                                            std::move(policy))}
    {
    }

    basic_lease(const basic_lease&) = delete;
    basic_lease& operator=(const basic_lease&) = delete;

    /// May wait, up to the store's call timeout, for a renewal that is under way.
    ~basic_lease()
    {
        unlock();
        term_->retire();
    }

    [[nodiscard]] const std::string& name() const noexcept { return term_->name(); }  ///< what it is a right to
    [[nodiscard]] const std::string& owner() const noexcept { return term_->owner(); }  ///< who holds, when it holds
    [[nodiscard]] const lease_terms& terms() const noexcept { return term_->terms(); }  ///< its durations
    [[nodiscard]] Store& store() const noexcept { return term_->store(); }  ///< where it lives

    /// One attempt. An empty guard means busy: somebody else holds the lease, or a guard of this object is alive.
    ///
    /// Throws store_error when the store fails, or answers only when the term would be over already
    /// (errc::store_timeout); std::system_error or std::bad_alloc when there are no threads or memory for watching over
    /// the term. Nothing is held then.
    [[nodiscard]] guard_type try_acquire()
    {
        std::error_code ec;
        connect();
        attempt_result tried = attempt_once(ec);
        if (ec) raise_failure(ec, "try_acquire", tried.too_late);
        return std::move(tried.guard);
    }

    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] guard_type try_acquire(std::error_code& ec) noexcept
    {
        ec.clear();
        detail::guarded(ec, [this] { connect(); });
        return ec ? guard_type{} : attempt_once(ec).guard;
    }

    /// Waits for the lease, at most this long; zero or less is exactly one attempt.
    ///
    /// An empty guard means that the time ran out or that `stop` was asked to stop; asked before, the store isn't called.
    /// Sleeps until the lease's end as the store told it, or until a release wakes it; polls with growing, jittered pauses
    /// only where the store can't wake. Waiters of one process queue, first come, first served, and ask the store one at
    /// a time. Throws like try_acquire(): an outage ends the wait.
    template <class Rep, class Period>
    [[nodiscard]] guard_type try_acquire_for(std::chrono::duration<Rep, Period> at_most, std::stop_token stop = {})
    {
        return wait_or_throw(waiting::deadline_after(clock(), at_most), stop, "try_acquire_for");
    }

    /// The same, reported in `ec`: does not throw.
    template <class Rep, class Period>
    [[nodiscard]] guard_type try_acquire_for(std::chrono::duration<Rep, Period> at_most, std::error_code& ec, std::stop_token stop = {}) noexcept
    {
        return wait_or_report(waiting::deadline_after(clock(), at_most), stop, ec);
    }

    /// Waits until an instant of the lease's own clock, or of any std clock: that one's distance from now is what counts.
    template <class Clk, class Dur>
    [[nodiscard]] guard_type try_acquire_until(std::chrono::time_point<Clk, Dur> until, std::stop_token stop = {})
    {
        return wait_or_throw(waiting::deadline_at(clock(), until), stop, "try_acquire_until");
    }

    /// The same, reported in `ec`: does not throw.
    template <class Clk, class Dur>
    [[nodiscard]] guard_type try_acquire_until(std::chrono::time_point<Clk, Dur> until, std::error_code& ec, std::stop_token stop = {}) noexcept
    {
        return wait_or_report(waiting::deadline_at(clock(), until), stop, ec);
    }

    /// Waits without a limit: the guard is empty only when `stop` was asked to stop.
    [[nodiscard]] guard_type acquire(std::stop_token stop = {}) { return wait_or_throw(time_point::max(), stop, "acquire"); }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] guard_type acquire(std::error_code& ec, std::stop_token stop = {}) noexcept
    {
        return wait_or_report(time_point::max(), stop, ec);
    }

    /// TimedLockable, for std::unique_lock, std::scoped_lock and std::lock: the lease keeps the guard itself.
    ///
    /// They throw like try_acquire(), and hold nothing then. Ask guard().held() before relying on it: a lease can be lost.
    void lock() { locked_ = acquire(); }
    /// One attempt, kept like lock() does; false: busy.
    [[nodiscard]] bool try_lock() { return keep(try_acquire()); }

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

    /// Releases what lock() acquired. A failure is not reported: the store then frees the lease when its time runs out.
    void unlock() noexcept { const guard_type released_here{std::move(locked_)}; }

    /// The guard between lock() and unlock(); empty otherwise.
    [[nodiscard]] const guard_type& guard() const noexcept { return locked_; }

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
        return ec ? std::nullopt : record;
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
    friend guard_type;
    template <class Lease>
    friend class leader_election;
    template <class Lease>
    friend class detail::guards_to_release;
    using term_type = renewal::term<Store, Clock, RenewPolicy>;

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

    [[nodiscard]] const Clock& clock() const noexcept { return term_->clock(); }

    void connect() { term_->connect(); }

    struct attempt_result {
        guard_type guard;
        acquire_result answer{};
        bool own_guard_alive = false;
        bool too_late = false;  // granted, but the term was over before the answer came
    };

    attempt_result attempt(std::error_code& ec) noexcept
    {
        // Sequentially consistent, like wait_queues: a waiter that sees the flag set is seen by whoever clears it.
        if (in_use_.exchange(true)) return {.guard = {}, .own_guard_alive = true};
        acquire_result result;
        const time_point sent = term_->clock().now();
        detail::guarded(ec, [&] { result = store().try_acquire(name(), owner(), terms().ttl, ec); });
        if (!ec && result.granted()) {
            if (term_->grant(result.token, sent)) return {.guard = guard_type{*this}, .answer = result};
            // The answer took longer than the term: nothing to hand out, and nothing to leave behind.
            std::error_code ignored;
            term_->end(ignored);
            ec = errc::store_timeout;
            in_use_.store(false);
            return {.guard = {}, .too_late = true};
        }
        in_use_.store(false);
        return {.guard = {}, .answer = result};
    }

    // An attempt of somebody who doesn't wait. A waiter that met it took it for a guard that is alive, and sleeps until told.
    attempt_result attempt_once(std::error_code& ec) noexcept
    {
        attempt_result tried = attempt(ec);
        if (!tried.guard && !tried.own_guard_alive) waiting::wait_queues::released(std::addressof(store()), name());
        return tried;
    }

    guard_type wait_or_throw(time_point deadline, const std::stop_token& stop, std::string_view operation)
    {
        std::error_code ec;
        connect();
        attempt_result last = wait(deadline, stop, ec, ignore_busy);
        if (ec) raise_failure(ec, operation, last.too_late);
        return std::move(last.guard);
    }

    guard_type wait_or_report(time_point deadline, const std::stop_token& stop, std::error_code& ec) noexcept
    {
        guard_type guard;
        ec.clear();
        detail::guarded(ec, [&] {
            connect();
            guard = wait(deadline, stop, ec, ignore_busy).guard;
        });
        return guard;
    }

    // `on_busy` is told each busy answer of the store.
    template <class OnBusy>
    attempt_result wait(time_point deadline, const std::stop_token& stop, std::error_code& ec, OnBusy on_busy)
    {
        static_assert(waitable_clock<Clock>, "waiting for a lease needs a clock with wait_until (waitable_clock)");
        if (stop.stop_requested()) return {};
        if (deadline <= clock().now()) return attempt_once(ec);
        waker to_wake;
        const waiting::wait_queues::place in_line{std::addressof(store()), name(), to_wake};
        const std::stop_callback wake_when_cancelled{stop, [&to_wake] { to_wake.wake(); }};
        while (!in_line.first()) {
            if (stop.stop_requested() || clock().now() >= deadline) return {};
            clock().wait_until(to_wake, deadline);
        }
        const std::uint64_t seed = waiting::random_seed(owner(), clock().now());
        return campaign(waiting::wait_machine{deadline, waiting::pauses_of(store()), seed}, to_wake, stop, ec, on_busy);
    }

    static void ignore_busy(const acquire_result&) noexcept {}

    // The first in line asks the store; from before its first attempt on, a release can't be missed.
    template <class OnBusy>
    attempt_result campaign(waiting::wait_machine machine, waker& to_wake, const std::stop_token& stop, std::error_code& ec, OnBusy& on_busy)
    {
        auto watch = waiting::watch_release(store(), name(), to_wake);
        for (;;) {
            const waiting::wait_step step = machine.next(clock().now(), stop.stop_requested());
            if (step.action == waiting::wait_action::give_up) return {};
            if (step.action == waiting::wait_action::sleep) {
                if (clock().wait_until(to_wake, step.at)) machine.woken(clock().now());
                continue;
            }
            attempt_result tried = attempt(ec);
            if (tried.guard || ec) return tried;
            if (tried.own_guard_alive) {
                machine.busy(clock().now(), duration::max(), true);
            } else {
                on_busy(tried.answer);
                machine.busy(clock().now(), tried.answer.remaining, watch.live());
            }
        }
    }

    bool keep(guard_type guard) noexcept
    {
        if (!guard) return false;
        locked_ = std::move(guard);
        return true;
    }

    release_outcome end_term(std::error_code& ec) noexcept
    {
        const release_outcome outcome = term_->end(ec);
        has_ended();
        return outcome;
    }

    void has_ended() noexcept
    {
        in_use_.store(false);
        waiting::wait_queues::released(std::addressof(store()), name());
    }

    template <class Work>
    static auto run_under(guard_type guard, Work&& work)
    {
        const auto call = [&]() -> decltype(auto) {
            if constexpr (std::invocable<Work, guard_type&>)
                return std::invoke(std::forward<Work>(work), guard);
            else
                return std::invoke(std::forward<Work>(work));
        };
        using result = std::decay_t<decltype(call())>;
        if constexpr (std::is_void_v<result>) {
            if (guard) call();
            return static_cast<bool>(guard);
        }
        else {
            return guard ? std::optional<result>{call()} : std::optional<result>{};
        }
    }

    // `not_said_by_store`: the failure is our own finding, and what the store said last is about something else.
    [[noreturn]] void raise_failure(std::error_code ec, std::string_view operation, bool not_said_by_store = false) const
    {
        store_diagnostics said;
        if (not_said_by_store)
            said.advice = "it granted the lease, but answered only when the term was over already; the term was released";
        else if constexpr (diagnosing_store<Store>)
            said = store().diagnostics();
        detail::raise(store_error{ec, std::string{operation} + " '" + name() + "'", std::move(said)});
    }

    std::shared_ptr<term_type> term_;
    std::atomic<bool> in_use_ = false;
    guard_type locked_;  // belongs to whoever locked
};

/// The common case, as a name for members and parameters.
template <lease_store Store>
using lease = basic_lease<Store>;

}  // namespace leasehold::inline v0

#endif
