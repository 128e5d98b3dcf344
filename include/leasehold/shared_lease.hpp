// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SHARED_LEASE_HPP
#define LEASEHOLD_SHARED_LEASE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/acquire_forms.hpp>
#include <leasehold/detail/lease_options.hpp>
#include <leasehold/detail/wrong_arguments.hpp>
#include <leasehold/detail/permit_pool.hpp>
#include <leasehold/detail/shared_attempts.hpp>
#include <leasehold/detail/thread_locks.hpp>
#include <leasehold/exclusive_guard.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/permit_guard.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/renewal/runtime_traits.hpp>
#include <leasehold/waiting/local_queue.hpp>

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
/// somebody has the gate. Those who wait, readers and writers, stand in one line, first come, first served, across processes where
/// the database has session locks: so neither starves the other. If a writer dies, the gate and its shares come back at the end of their
/// ttl. A writer that doesn't renew (no_renewal) can wait for readers no longer than its ttl, and then fails with errc::lost: the gate and
/// its first shares are ordinary terms meanwhile. With renew_for(max), that wait counts towards max.
///
/// All processes must agree on the number of readers, as on the count of a lease_semaphore, which keeps it in the same way:
/// the owner of the bare name is "64 readers". A reader can't become a writer: release first. As with a lease, two objects with one
/// fixed_owner_id take each other's shares.
/// Movable, not copyable; a moved-from lease can only be destroyed or assigned to.
/// Thread safety: any thread may call any function, except moving; guard() and shared_guard() are for the thread that locked.
/// Lifetime: the store must outlive the lease and its guards.
template <lease_store Store, lease_clock Clock = steady_clock, owner_id OwnerId = random_owner_id,
          renew_policy RenewPolicy = renew_at_fraction>
class shared_lease : public detail::acquire_forms<detail::shared_attempts<shared_lease<Store, Clock, OwnerId, RenewPolicy>,
                                                                          detail::permit_pool<Store, Clock, RenewPolicy>>> {
    static_assert(renew_policy_on_clock<RenewPolicy, Clock>,
                  "without wait_until (waitable_clock) a clock allows no renewal in the background: "
                  "give the lease no_renewal{}, or a waitable clock");

    using pool_type = detail::permit_pool<Store, Clock, RenewPolicy>;
    using attempts_type = detail::shared_attempts<shared_lease, pool_type>;
    using forms_type = detail::acquire_forms<attempts_type>;

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
        detail::check_options<reader_limit, Options...>();
    }

    /// The same, so that the terms can be given in braces.
    template <class... Options>
    shared_lease(std::type_identity_t<Store>& store, std::string_view name, lease_terms terms, Options&&... options)
        : shared_lease{terms, store, name, options...}
    {
        detail::check_options<reader_limit, lease_terms, Options...>();
    }

    /// Other arguments: one line says what is wrong.
    template <class First, class Second, class... Rest>
        requires std::same_as<Store, detail::no_store>
    shared_lease(First&&, Second&&, Rest&&...) : forms_type{attempts_type{nullptr}}
    {
        detail::explain_wrong_arguments<First, Second, Rest...>();
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

    /// A reader's single attempt. An empty guard means busy: a writer holds or waits, or all shares are taken. Throws like
    /// try_acquire().
    [[nodiscard]] shared_guard_type try_acquire_shared() &
    {
        return for_readers().here().try_acquire();
    }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] shared_guard_type try_acquire_shared(std::error_code& ec) & noexcept
    {
        return for_readers().here().try_acquire(ec);
    }

    /// A reader's wait, at most this long; zero or less means exactly one attempt. See try_acquire_for().
    template <class Rep, class Period>
    [[nodiscard]] shared_guard_type try_acquire_shared_for(std::chrono::duration<Rep, Period> at_most, std::stop_token stop = {}) &
    {
        return for_readers().here().try_acquire_for(at_most, std::move(stop));
    }
    /// The same, reported in `ec`: does not throw. No error means that the time ran out.
    template <class Rep, class Period>
    [[nodiscard]] shared_guard_type try_acquire_shared_for(std::chrono::duration<Rep, Period> at_most, std::error_code& ec) & noexcept
    {
        return for_readers().here().try_acquire_for(at_most, ec);
    }
    /// The same. std::errc::operation_canceled means that `stop` was asked to stop.
    template <class Rep, class Period>
    [[nodiscard]] shared_guard_type try_acquire_shared_for(std::chrono::duration<Rep, Period> at_most, std::stop_token stop,
                                                           std::error_code& ec) & noexcept
    {
        return for_readers().here().try_acquire_for(at_most, std::move(stop), ec);
    }

    template <class Number, class... Rest>
        requires std::is_arithmetic_v<Number>
    shared_guard_type try_acquire_shared_for(Number, Rest&&...) & = delete;  ///< a number is no time: write 10s, not 10

    /// Waits until an instant of the lease's own clock, or of any std clock, of which only the distance from now counts.
    template <class Clk, class Dur>
    [[nodiscard]] shared_guard_type try_acquire_shared_until(std::chrono::time_point<Clk, Dur> until, std::stop_token stop = {}) &
    {
        return for_readers().here().try_acquire_until(until, std::move(stop));
    }
    /// The same, reported in `ec`: does not throw. No error means that the time ran out.
    template <class Clk, class Dur>
    [[nodiscard]] shared_guard_type try_acquire_shared_until(std::chrono::time_point<Clk, Dur> until, std::error_code& ec) & noexcept
    {
        return for_readers().here().try_acquire_until(until, ec);
    }
    /// The same. std::errc::operation_canceled means that `stop` was asked to stop.
    template <class Clk, class Dur>
    [[nodiscard]] shared_guard_type try_acquire_shared_until(std::chrono::time_point<Clk, Dur> until, std::stop_token stop,
                                                             std::error_code& ec) & noexcept
    {
        return for_readers().here().try_acquire_until(until, std::move(stop), ec);
    }

    /// Waits without a limit: the guard is empty only if `stop` was asked to stop.
    [[nodiscard]] shared_guard_type acquire_shared(std::stop_token stop = {}) &
    {
        return for_readers().here().acquire(std::move(stop));
    }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] shared_guard_type acquire_shared(std::error_code& ec) & noexcept { return for_readers().here().acquire(ec); }
    /// The same. std::errc::operation_canceled means that `stop` was asked to stop.
    [[nodiscard]] shared_guard_type acquire_shared(std::stop_token stop, std::error_code& ec) & noexcept
    {
        return for_readers().here().acquire(std::move(stop), ec);
    }

    /// Deleted: a temporary lease would be gone when its guard is used, and the next attempt would belong to another object.
    template <class... Arguments>
    shared_guard_type try_acquire_shared(Arguments&&...) && = delete;
    template <class... Arguments>
    shared_guard_type try_acquire_shared_for(Arguments&&...) && = delete;  ///< see try_acquire_shared() &&
    template <class... Arguments>
    shared_guard_type try_acquire_shared_until(Arguments&&...) && = delete;  ///< see try_acquire_shared() &&
    template <class... Arguments>
    shared_guard_type acquire_shared(Arguments&&...) && = delete;  ///< see try_acquire_shared() &&

    /// SharedTimedMutex, for std::unique_lock, std::scoped_lock and std::shared_lock: the lease keeps the guard for the thread that
    /// locked.
    ///
    /// These functions throw like the attempts, and hold nothing then. lock() and lock_shared() also throw std::system_error with
    /// std::errc::resource_deadlock_would_occur if this thread has already locked this lease, shared or not.
    /// Call guard().held() or shared_guard().held() before you rely on the lease: it can be lost. A lost exclusive right counts as
    /// locked until unlock(): what is left of it keeps everybody out.
    void lock() &
    {
        detail::refuse_deadlock("lock", name(), is_locked_by_this_thread());
        locks_->exclusive.keep(locks_->mutex, this->acquire());
    }

    /// Makes one attempt, and keeps the guard like lock(). False means busy, or that this thread has locked it already.
    [[nodiscard]] bool try_lock() & { return !is_locked_by_this_thread() && locks_->exclusive.keep(locks_->mutex, this->try_acquire()); }

    /// Waits at most this long. False means that it was busy until then, or that this thread has locked it already.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> at_most) &
    {
        return !is_locked_by_this_thread() && locks_->exclusive.keep(locks_->mutex, this->try_acquire_for(at_most));
    }

    /// Waits at most until this instant. False means that it was busy until then, or that this thread has locked it already.
    template <class Clk, class Dur>
    [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clk, Dur> until) &
    {
        return !is_locked_by_this_thread() && locks_->exclusive.keep(locks_->mutex, this->try_acquire_until(until));
    }

    /// Releases the right that this thread locked. A failure of the store is not reported: the store then frees it when its time runs
    /// out. Throws std::system_error with std::errc::operation_not_permitted if this thread has locked nothing.
    void unlock()
    {
        const guard_type released_here{locks_->exclusive.take(locks_->mutex)};
        if (released_here.empty()) detail::raise_not_locked("unlock", name());
    }

    /// The same for a reader.
    void lock_shared() &
    {
        detail::refuse_deadlock("lock_shared", name(), is_locked_by_this_thread());
        locks_->shared.keep(locks_->mutex, acquire_shared());
    }

    /// Makes one attempt, and keeps the guard like lock_shared(). False means busy, or that this thread has locked it already.
    [[nodiscard]] bool try_lock_shared() &
    {
        return !is_locked_by_this_thread() && locks_->shared.keep(locks_->mutex, try_acquire_shared());
    }

    /// Waits at most this long. False means that it was busy until then, or that this thread has locked it already.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> at_most) &
    {
        return !is_locked_by_this_thread() && locks_->shared.keep(locks_->mutex, try_acquire_shared_for(at_most));
    }

    /// Waits at most until this instant. False means that it was busy until then, or that this thread has locked it already.
    template <class Clk, class Dur>
    [[nodiscard]] bool try_lock_shared_until(std::chrono::time_point<Clk, Dur> until) &
    {
        return !is_locked_by_this_thread() && locks_->shared.keep(locks_->mutex, try_acquire_shared_until(until));
    }

    /// Releases the share that this thread locked; like unlock().
    void unlock_shared()
    {
        const shared_guard_type released_here{locks_->shared.take(locks_->mutex)};
        if (released_here.empty()) detail::raise_not_locked("unlock_shared", name());
    }

    /// The guard of the exclusive right that this thread has locked, until it unlocks; empty otherwise.
    [[nodiscard]] const guard_type& guard() const noexcept { return locks_->exclusive.of_this_thread(locks_->mutex); }
    /// The guard of the share that this thread has locked, until it unlocks; empty otherwise.
    [[nodiscard]] const shared_guard_type& shared_guard() const noexcept { return locks_->shared.of_this_thread(locks_->mutex); }

private:
    friend guard_type;
    friend shared_guard_type;
    using exclusive_locks = detail::thread_locks<guard_type, renewal::runtime_traits<Clock>>;
    using shared_locks = detail::thread_locks<shared_guard_type, renewal::runtime_traits<Clock>>;

    struct locks {
        std::mutex mutex;
        exclusive_locks exclusive;
        shared_locks shared;
    };

    template <class... Options>
    shared_lease(const lease_terms& terms, Store& store, std::string_view name, const Options&... options)
        : forms_type{attempts_type{std::make_shared<pool_type>(
              store, detail::checked_permits(name, "/r", "/writer", detail::pick_last<reader_limit>(options...).readers, "readers"),
              detail::pick<detail::role_of_owner_id, OwnerId>(options...).id(), detail::checked_shared_terms(terms),
              detail::pick<detail::role_of_clock, Clock>(options...),
              detail::pick<detail::role_of_renew_policy, RenewPolicy>(options...))}},
          locks_{std::make_unique<locks>()}
    {
    }

    [[nodiscard]] auto for_readers() const noexcept { return detail::forms_of_call{this->attempts_.readers()}; }
    [[nodiscard]] pool_type& pool() const noexcept { return this->attempts_.pool(); }
    // A writer that has lost one of its terms still has the others, which keep it out, too. A reader that has lost its share has nothing.
    [[nodiscard]] bool is_locked_by_this_thread() const noexcept
    {
        return !guard().empty() || locks_->shared.held_by_this_thread(locks_->mutex);
    }

    std::unique_ptr<locks> locks_;  // destroyed first: its guards are released while the lease still exists
};

/// Takes the policies from the options, or the defaults.
template <lease_store Store, class... Options>
shared_lease(Store&, std::string_view, Options&&...)
    -> shared_lease<Store, detail::clock_in<Options...>, detail::owner_id_in<Options...>, detail::renew_policy_in<Options...>>;
/// The same, for terms in braces.
template <lease_store Store, class... Options>
shared_lease(Store&, std::string_view, lease_terms, Options&&...)
    -> shared_lease<Store, detail::clock_in<Options...>, detail::owner_id_in<Options...>, detail::renew_policy_in<Options...>>;

/// Other arguments: one line says what is wrong.
template <class First, class Second, class... Rest>
    requires(!detail::store_and_name<First, Second>)
shared_lease(First&&, Second&&, Rest&&...) -> shared_lease<detail::no_store>;

}  // namespace leasehold::inline v0

#endif
