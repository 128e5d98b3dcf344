// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SHARED_LEASE_HPP
#define LEASEHOLD_SHARED_LEASE_HPP

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/exclusive_wait.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/lease_options.hpp>
#include <leasehold/detail/permit_pool.hpp>
#include <leasehold/detail/thread_locks.hpp>
#include <leasehold/exclusive_guard.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/permit_guard.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/renewal/runtime_traits.hpp>
#include <leasehold/waiting/deadline.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/wait_on_thread.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

/// How many readers of a shared_lease may hold at once: an option of its constructor, up to max_permits (1,024). A writer needs
/// one row for each, so fewer are cheaper for writers.
struct reader_limit {
    std::size_t readers = 64;  ///< the number
};

namespace detail {

template <class... Options>
reader_limit pick_readers(const Options&... options)
{
    reader_limit limit;
    [[maybe_unused]] const auto take = [&limit](const auto& option) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(option)>, reader_limit>) limit = option;
    };
    (take(options), ...);
    return limit;
}

// What a shared_lease can't work with.
inline lease_terms checked_shared_terms(const lease_terms& terms)
{
    if (terms.min_hold != duration::zero())
        raise_invalid(errc::invalid_terms, "min_hold must be 0 for a shared lease: a reader that has left would keep writers out");
    return terms;
}

}  // namespace detail

/// One writer or many readers, on all hosts: a std::shared_timed_mutex made of leases.
///
///     lh::shared_lease catalog{store, "catalog", 30s};
///     if (auto reader = catalog.try_acquire_shared_for(1s)) { ... }
///     if (auto writer = catalog.try_acquire_for(1s)) { ... }
///
/// A reader holds one of 64 shares (see reader_limit), "catalog/r0" to "catalog/r63", each a lease. A writer holds all of them:
/// that alone keeps readers and writers apart. Before that it takes the gate, "catalog/writer", and readers don't begin while
/// somebody has the gate. So a writer that waits goes before new readers, and readers can't starve it; if it dies, the gate and
/// its shares come back at the end of their ttl. A writer goes before waiting readers, too: writers without end starve readers.
///
/// All processes must agree on the number of readers, as on the count of a lease_semaphore, which keeps it in the same way:
/// the owner of the bare name is "64 readers". A reader can't become a writer: release first.
/// Movable, not copyable; a moved-from lease can only be destroyed or assigned to.
/// Thread safety: any thread may call any function, except moving; guard() and shared_guard() are for the thread that locked.
/// Lifetime: the store must outlive the lease and its guards.
template <lease_store Store, lease_clock Clock = steady_clock, owner_id OwnerId = random_owner_id, renew_policy RenewPolicy = renew_at_fraction>
class shared_lease {
    static_assert(renew_policy_on_clock<RenewPolicy, Clock>,
                  "without wait_until (waitable_clock) a clock allows no renewal in the background: give the lease no_renewal{}, or a waitable clock");

public:
    using store_type = Store;  ///< where the lease lives
    using clock_type = Clock;  ///< measures deadlines
    using owner_id_type = OwnerId;  ///< names the owner
    using renew_policy_type = RenewPolicy;  ///< decides when to renew
    using guard_type = exclusive_guard<shared_lease>;  ///< what a writer's attempt returns
    using shared_guard_type = permit_guard<shared_lease>;  ///< what a reader's attempt returns

    /// The arguments after the name may come in any order, as for basic_lease; reader_limit is one of them. Does no I/O.
    ///
    /// Throws std::system_error, which says what is wrong and what is allowed: errc::invalid_terms also for a limit of 0 or more
    /// than max_permits (1,024) and for a min_hold, errc::invalid_name also for a name that leaves no room for "/writer".
    template <class... Options>
    shared_lease(std::type_identity_t<Store>& store, std::string_view name, Options&&... options)
        : shared_lease{detail::pick_terms(options...), store, name, options...}
    {
        check_options<Options...>();
    }

    /// The same, so that the terms can be given in braces.
    template <class... Options>
    shared_lease(std::type_identity_t<Store>& store, std::string_view name, lease_terms terms, Options&&... options)
        : shared_lease{terms, store, name, options...}
    {
        check_options<lease_terms, Options...>();
    }

    /// Takes over the other lease, which can then only be destroyed or assigned to.
    shared_lease(shared_lease&&) noexcept = default;
    /// Gives up its former state, like the destructor, and takes over the other lease.
    shared_lease& operator=(shared_lease&&) noexcept = default;
    /// Releases the guards that lock() and lock_shared() keep.
    ~shared_lease() = default;

    [[nodiscard]] const std::string& name() const noexcept { return pool().name(); }  ///< the name that all its leases begin with
    [[nodiscard]] const std::string& owner() const noexcept { return pool().owner(); }  ///< the owner of its terms
    [[nodiscard]] const lease_terms& terms() const noexcept { return pool().terms(); }  ///< its durations
    [[nodiscard]] std::size_t readers() const noexcept { return pool().count(); }  ///< how many readers may hold at once
    [[nodiscard]] Store& store() const noexcept { return pool().store(); }  ///< where the lease lives

    /// A writer's single attempt. An empty guard means busy: another writer holds or waits, or readers hold.
    ///
    /// Throws like basic_lease::try_acquire(), and std::system_error with errc::invalid_terms if the store's record says another
    /// number of readers. Nothing is held then.
    [[nodiscard]] guard_type try_acquire() &
    {
        std::error_code ec;
        auto done = attempt(ec);
        return granted_or_throw(std::move(done), ec, "try_acquire");
    }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] guard_type try_acquire(std::error_code& ec) & noexcept
    {
        ec.clear();
        return attempt(ec).guard;
    }

    /// A writer's wait, at most this long; zero or less means exactly one attempt. Once it has the gate, no new readers begin, and
    /// it takes the shares as they come free. It gives all of it back if its time runs out, or `stop` is asked to stop: then the
    /// guard is empty. Throws like try_acquire(), also with errc::lost if an outage cost it the gate while it waited.
    template <class Rep, class Period>
    [[nodiscard]] guard_type try_acquire_for(std::chrono::duration<Rep, Period> at_most, std::stop_token stop = {}) &
    {
        return wait_or_throw(waiting::deadline_after(pool().clock(), at_most), stop, "try_acquire_for");
    }
    /// The same, reported in `ec`: does not throw.
    template <class Rep, class Period>
    [[nodiscard]] guard_type try_acquire_for(std::chrono::duration<Rep, Period> at_most, std::error_code& ec, std::stop_token stop = {}) & noexcept
    {
        return wait_or_report(waiting::deadline_after(pool().clock(), at_most), stop, ec);
    }

    /// Waits until an instant of the lease's own clock, or of any std clock, of which only the distance from now counts.
    template <class Clk, class Dur>
    [[nodiscard]] guard_type try_acquire_until(std::chrono::time_point<Clk, Dur> until, std::stop_token stop = {}) &
    {
        return wait_or_throw(waiting::deadline_at(pool().clock(), until), stop, "try_acquire_until");
    }
    /// The same, reported in `ec`: does not throw.
    template <class Clk, class Dur>
    [[nodiscard]] guard_type try_acquire_until(std::chrono::time_point<Clk, Dur> until, std::error_code& ec, std::stop_token stop = {}) & noexcept
    {
        return wait_or_report(waiting::deadline_at(pool().clock(), until), stop, ec);
    }

    /// Waits without a limit: the guard is empty only if `stop` was asked to stop.
    [[nodiscard]] guard_type acquire(std::stop_token stop = {}) & { return wait_or_throw(time_point::max(), stop, "acquire"); }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] guard_type acquire(std::error_code& ec, std::stop_token stop = {}) & noexcept
    {
        return wait_or_report(time_point::max(), stop, ec);
    }

    /// A reader's single attempt. An empty guard means busy: a writer holds or waits, or all shares are taken. Throws like
    /// try_acquire().
    [[nodiscard]] shared_guard_type try_acquire_shared() &
    {
        std::error_code ec;
        auto last = attempt_shared(ec);
        return shared_or_throw(std::move(last), ec, "try_acquire_shared");
    }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] shared_guard_type try_acquire_shared(std::error_code& ec) & noexcept
    {
        shared_guard_type guard;
        ec.clear();
        detail::catch_into(ec, [&] { guard = shared_guard_type{pool_ptr(), attempt_shared(ec)}; });
        return guard;
    }

    /// A reader's wait, at most this long; zero or less means exactly one attempt. Waiters of one process queue, first come, first
    /// served; see lease_semaphore::try_acquire_for().
    template <class Rep, class Period>
    [[nodiscard]] shared_guard_type try_acquire_shared_for(std::chrono::duration<Rep, Period> at_most, std::stop_token stop = {}) &
    {
        return wait_shared_or_throw(waiting::deadline_after(pool().clock(), at_most), stop, "try_acquire_shared_for");
    }
    /// The same, reported in `ec`: does not throw.
    template <class Rep, class Period>
    [[nodiscard]] shared_guard_type try_acquire_shared_for(std::chrono::duration<Rep, Period> at_most, std::error_code& ec,
                                                           std::stop_token stop = {}) & noexcept
    {
        return wait_shared_or_report(waiting::deadline_after(pool().clock(), at_most), stop, ec);
    }

    /// Waits until an instant of the lease's own clock, or of any std clock, of which only the distance from now counts.
    template <class Clk, class Dur>
    [[nodiscard]] shared_guard_type try_acquire_shared_until(std::chrono::time_point<Clk, Dur> until, std::stop_token stop = {}) &
    {
        return wait_shared_or_throw(waiting::deadline_at(pool().clock(), until), stop, "try_acquire_shared_until");
    }
    /// The same, reported in `ec`: does not throw.
    template <class Clk, class Dur>
    [[nodiscard]] shared_guard_type try_acquire_shared_until(std::chrono::time_point<Clk, Dur> until, std::error_code& ec,
                                                             std::stop_token stop = {}) & noexcept
    {
        return wait_shared_or_report(waiting::deadline_at(pool().clock(), until), stop, ec);
    }

    /// Waits without a limit: the guard is empty only if `stop` was asked to stop.
    [[nodiscard]] shared_guard_type acquire_shared(std::stop_token stop = {}) &
    {
        return wait_shared_or_throw(time_point::max(), stop, "acquire_shared");
    }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] shared_guard_type acquire_shared(std::error_code& ec, std::stop_token stop = {}) & noexcept
    {
        return wait_shared_or_report(time_point::max(), stop, ec);
    }

    /// Deleted: a temporary lease would be gone when its guard is used, and the next attempt would belong to another object.
    template <class... Arguments>
    guard_type try_acquire(Arguments&&...) && = delete;
    template <class... Arguments>
    guard_type try_acquire_for(Arguments&&...) && = delete;  ///< see try_acquire() &&
    template <class... Arguments>
    guard_type try_acquire_until(Arguments&&...) && = delete;  ///< see try_acquire() &&
    template <class... Arguments>
    guard_type acquire(Arguments&&...) && = delete;  ///< see try_acquire() &&
    template <class... Arguments>
    shared_guard_type try_acquire_shared(Arguments&&...) && = delete;  ///< see try_acquire() &&
    template <class... Arguments>
    shared_guard_type try_acquire_shared_for(Arguments&&...) && = delete;  ///< see try_acquire() &&
    template <class... Arguments>
    shared_guard_type try_acquire_shared_until(Arguments&&...) && = delete;  ///< see try_acquire() &&
    template <class... Arguments>
    shared_guard_type acquire_shared(Arguments&&...) && = delete;  ///< see try_acquire() &&

    /// SharedTimedMutex, for std::unique_lock, std::scoped_lock and std::shared_lock: the lease keeps the guard for the thread that
    /// locked.
    ///
    /// These functions throw like the attempts, and hold nothing then. lock() and lock_shared() also throw std::system_error with
    /// std::errc::resource_deadlock_would_occur if this thread has already locked the name, shared or not, through any object.
    /// Call guard().held() or shared_guard().held() before you rely on the lease: it can be lost.
    void lock()
    {
        detail::refuse_deadlock("lock", name(), locked_exclusively() || locked_shared());
        locks_->exclusive.keep(exclusive_site(), acquire());
    }

    /// Makes one attempt, and keeps the guard like lock(). False means busy.
    [[nodiscard]] bool try_lock()
    {
        const detail::lock_site here = exclusive_site();
        detail::refuse_deadlock("try_lock", name(), exclusive_locks::goes_in_circles(here));
        return locks_->exclusive.keep(here, try_acquire());
    }

    /// Waits at most this long. False means that it was busy until then.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> at_most)
    {
        return locks_->exclusive.keep(exclusive_site(), try_acquire_for(at_most));
    }

    /// Waits at most until this instant. False means that it was busy until then.
    template <class Clk, class Dur>
    [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clk, Dur> until)
    {
        return locks_->exclusive.keep(exclusive_site(), try_acquire_until(until));
    }

    /// Releases the right that this thread locked, or, if it locked none, one that another thread locked. A failure is not
    /// reported: the store then frees it when its time runs out.
    void unlock() noexcept { const guard_type released_here{locks_->exclusive.take(exclusive_site())}; }

    /// The same for a reader.
    void lock_shared()
    {
        detail::refuse_deadlock("lock_shared", name(), locked_exclusively() || locked_shared());
        locks_->shared.keep(shared_site(), acquire_shared());
    }

    /// Makes one attempt, and keeps the guard like lock_shared(). False means busy, or that this thread has locked it already.
    [[nodiscard]] bool try_lock_shared() { return !locked_shared() && locks_->shared.keep(shared_site(), try_acquire_shared()); }

    /// Waits at most this long. False means that it was busy until then, or that this thread has locked it already.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> at_most)
    {
        return !locked_shared() && locks_->shared.keep(shared_site(), try_acquire_shared_for(at_most));
    }

    /// Waits at most until this instant. False means that it was busy until then, or that this thread has locked it already.
    template <class Clk, class Dur>
    [[nodiscard]] bool try_lock_shared_until(std::chrono::time_point<Clk, Dur> until)
    {
        return !locked_shared() && locks_->shared.keep(shared_site(), try_acquire_shared_until(until));
    }

    /// Releases the share that this thread locked, or, if it locked none, one that another thread locked; like unlock().
    void unlock_shared() noexcept { const shared_guard_type released_here{locks_->shared.take(shared_site())}; }

    /// The guard of the exclusive right that this thread has locked, until it unlocks; empty otherwise.
    [[nodiscard]] const guard_type& guard() const noexcept { return locks_->exclusive.of_this_thread(exclusive_site()); }
    /// The guard of the share that this thread has locked, until it unlocks; empty otherwise.
    [[nodiscard]] const shared_guard_type& shared_guard() const noexcept { return locks_->shared.of_this_thread(shared_site()); }

private:
    friend guard_type;
    friend shared_guard_type;
    friend detail::lease_access;
    using pool_type = detail::permit_pool<Store, Clock, RenewPolicy>;
    using lease_type = typename pool_type::lease_type;

    // The readers' shares, and the gate.
    struct rights {
        explicit rights(std::shared_ptr<pool_type> shares) : pool{std::move(shares)}, gate{pool->make_lease(pool->name() + "/writer")} {}

        const std::shared_ptr<pool_type> pool;
        lease_type gate;
    };

    using exclusive_locks = detail::thread_locks<guard_type, renewal::runtime_traits<Clock>>;
    using shared_locks = detail::thread_locks<shared_guard_type, renewal::runtime_traits<Clock>>;

    struct locks {
        std::mutex mutex;
        exclusive_locks exclusive;
        shared_locks shared;
    };

    struct outcome {
        guard_type guard;
        bool too_late = false;
    };
    using shared_attempt = typename pool_type::attempt_result;
    using terms_type = detail::exclusive_terms<pool_type>;

    template <class... Options>
    static constexpr void check_options() noexcept
    {
        static_assert(((detail::lease_option<Options> || std::same_as<std::remove_cvref_t<Options>, reader_limit>) && ...),
                      "the arguments after the name are, in any order: lease_terms or a ttl, a clock, an owner id, a renew policy, a reader_limit");
        static_assert(detail::each_once<Options...>, "two lease_terms or ttls, clocks, owner ids or renew policies are given: which one counts?");
    }

    template <class... Options>
    shared_lease(const lease_terms& terms, Store& store, std::string_view name, const Options&... options)
        : rights_{std::make_shared<rights>(std::make_shared<pool_type>(
              store, detail::checked_permits(name, "/r", "/writer", detail::pick_readers(options...).readers, "readers"),
              detail::pick<detail::role_of_owner_id, OwnerId>(options...).id(), detail::checked_shared_terms(terms),
              detail::pick<detail::role_of_clock, Clock>(options...), detail::pick<detail::role_of_renew_policy, RenewPolicy>(options...)))},
          locks_{std::make_unique<locks>()}
    {
    }

    [[nodiscard]] pool_type& pool() const noexcept { return *rights_->pool; }
    [[nodiscard]] const std::shared_ptr<pool_type>& pool_ptr() const noexcept { return rights_->pool; }

    outcome outcome_of(typename terms_type::result taken) const noexcept
    {
        if (taken.guard.empty()) return {.guard = {}, .too_late = taken.too_late};
        return {guard_type{pool_ptr(), std::move(taken.guard)}};
    }

    // A writer's single attempt. Stops at the first share that is busy.
    static typename terms_type::result write(rights& of, std::error_code& ec)
    {
        terms_type taken{*of.pool};
        if (!taken.take_gate(detail::lease_access::attempt(of.gate, ec), ec)) return taken.none();
        taken.take_shares(true, ec);
        if (!ec && !taken.missing()) return taken.complete(ec);
        if (taken.lost() && !ec) ec = errc::lost;
        return taken.none();
    }

    outcome attempt(std::error_code& ec) noexcept
    {
        outcome done;
        detail::catch_into(ec, [&] { done = outcome_of(write(*rights_, ec)); });
        return done;
    }

    outcome wait(time_point deadline, const std::stop_token& stop, std::error_code& ec) noexcept
    {
        if (stop.stop_requested()) return {};
        if (deadline <= pool().clock().now()) return attempt(ec);
        outcome done;
        detail::catch_into(ec, [&] {
            detail::lease_access::keeper(rights_->gate).attach_engine();
            waker to_wake;
            detail::exclusive_wait<pool_type> waits{pool(), rights_->gate, deadline, to_wake};
            done = outcome_of(waiting::wait_on_thread(waits, pool().clock(), to_wake, stop, ec));
        });
        return done;
    }

    guard_type granted_or_throw(outcome done, std::error_code ec, std::string_view operation)
    {
        if (ec) pool().raise_failure(ec, operation, done.too_late);
        return std::move(done.guard);
    }

    guard_type wait_or_throw(time_point deadline, const std::stop_token& stop, std::string_view operation)
    {
        std::error_code ec;
        auto done = wait(deadline, stop, ec);
        return granted_or_throw(std::move(done), ec, operation);
    }

    guard_type wait_or_report(time_point deadline, const std::stop_token& stop, std::error_code& ec) noexcept
    {
        ec.clear();
        return wait(deadline, stop, ec).guard;
    }

    // A reader looks at the gate, and takes a share if it is open. A writer that takes the gate in between waits for the share.
    template <class Asking>
    static shared_attempt read(const rights& of, detail::permit_search& search, Asking& asking, std::error_code& ec)
    {
        const std::optional<lease_record> closed = of.pool->counted().inspect(of.gate.name(), ec);
        if (ec) return {};
        if (closed) return {.busy_for = closed->remaining};
        return asking.try_any(search, ec);
    }

    // A reader's attempts; keeps what they need.
    struct reading {
        std::shared_ptr<rights> of;

        template <class Asking>
        shared_attempt operator()(detail::permit_search& search, Asking& asking, std::error_code& ec) const
        {
            return read(*of, search, asking, ec);
        }
    };

    [[nodiscard]] reading reader() const noexcept { return {rights_}; }
    [[nodiscard]] const std::shared_ptr<rights>& parts() const noexcept { return rights_; }

    shared_attempt attempt_shared(std::error_code& ec)
    {
        auto attempt = reader();
        return pool().attempt_once(attempt, ec);
    }

    shared_attempt wait_shared(time_point deadline, const std::stop_token& stop, std::error_code& ec)
    {
        return pool().wait(deadline, stop, ec, reader());
    }

    shared_guard_type shared_or_throw(shared_attempt last, std::error_code ec, std::string_view operation)
    {
        if (ec) pool().raise_failure(ec, operation, last.too_late);
        return shared_guard_type{pool_ptr(), std::move(last)};
    }

    shared_guard_type wait_shared_or_throw(time_point deadline, const std::stop_token& stop, std::string_view operation)
    {
        std::error_code ec;
        auto last = wait_shared(deadline, stop, ec);
        return shared_or_throw(std::move(last), ec, operation);
    }

    shared_guard_type wait_shared_or_report(time_point deadline, const std::stop_token& stop, std::error_code& ec) noexcept
    {
        shared_guard_type guard;
        ec.clear();
        detail::catch_into(ec, [&] { guard = shared_guard_type{pool_ptr(), wait_shared(deadline, stop, ec)}; });
        return guard;
    }

    [[nodiscard]] bool locked_exclusively() const { return exclusive_locks::held_by_this_thread(exclusive_site().target); }
    [[nodiscard]] bool locked_shared() const { return shared_locks::held_by_this_thread(shared_site().target); }
    [[nodiscard]] detail::lock_site exclusive_site() const noexcept { return site(rights_->gate.name(), &locks_->exclusive); }
    [[nodiscard]] detail::lock_site shared_site() const noexcept { return site(pool().name(), &locks_->shared); }
    [[nodiscard]] detail::lock_site site(std::string_view locked, const void* by) const noexcept
    {
        return {detail::lock_target{std::addressof(waiting::queue_of(store())), waiting::key_of(store(), locked)}, by, locks_->mutex};
    }

    std::shared_ptr<rights> rights_;
    std::unique_ptr<locks> locks_;  // destroyed first: its guards are released while the lease still exists
};

/// Takes the policies from the options, or the defaults.
template <lease_store Store, class... Options>
shared_lease(Store&, std::string_view, Options&&...)
    -> shared_lease<Store, detail::option_t<detail::role_of_clock, steady_clock, Options...>,
                    detail::option_t<detail::role_of_owner_id, random_owner_id, Options...>,
                    detail::option_t<detail::role_of_renew_policy, renew_at_fraction, Options...>>;
/// The same, for terms in braces.
template <lease_store Store, class... Options>
shared_lease(Store&, std::string_view, lease_terms, Options&&...)
    -> shared_lease<Store, detail::option_t<detail::role_of_clock, steady_clock, Options...>,
                    detail::option_t<detail::role_of_owner_id, random_owner_id, Options...>,
                    detail::option_t<detail::role_of_renew_policy, renew_at_fraction, Options...>>;

}  // namespace leasehold::inline v0

#endif
