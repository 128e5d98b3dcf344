// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_BASIC_LEASE_HPP
#define LEASEHOLD_BASIC_LEASE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/acquire_forms.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/lease_attempts.hpp>
#include <leasehold/detail/lease_options.hpp>
#include <leasehold/detail/wrong_arguments.hpp>
#include <leasehold/detail/thread_locks.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fwd.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/renewal/runtime_traits.hpp>
#include <leasehold/waiting/deadline.hpp>
#include <leasehold/waiting/local_queue.hpp>

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

/// Acquires one name in a store, as often as you like; composed of four policies.
///
///     lh::basic_lease lease{store, "nightly-report", 30s};
///     if (auto guard = lease.try_acquire()) { ... }
///
/// At most one guard of an object holds at a time. While one does, another attempt is busy, as with a std::mutex,
/// so threads that share the object exclude each other too. A guard whose term was lost does not block a new attempt.
/// Every operation has a form with a std::error_code, which does not throw.
///
/// Movable, not copyable; a moved-from lease can only be destroyed or assigned to.
/// Thread safety: any thread may call any function, except moving, and guard(), which is for the thread that locked.
/// Lifetime: the store must outlive the lease and its guards; so don't call std::exit() while one that is not static holds a
/// lease of a static store.
/// Not for use across fork(): a child has neither the threads nor an owner of its own.
template <lease_store Store, lease_clock Clock = steady_clock, owner_id OwnerId = random_owner_id,
          renew_policy RenewPolicy = renew_at_fraction>
class basic_lease : public detail::acquire_forms<detail::lease_attempts<Store, Clock, OwnerId, RenewPolicy>> {
    static_assert(renew_policy_on_clock<RenewPolicy, Clock>,
                  "without wait_until (waitable_clock) a clock allows no renewal in the background: "
                  "give the lease no_renewal{}, or a waitable clock");

    using attempts_type = detail::lease_attempts<Store, Clock, OwnerId, RenewPolicy>;
    using forms_type = detail::acquire_forms<attempts_type>;

public:
    using store_type = Store;  ///< where the lease lives
    using clock_type = Clock;  ///< measures deadlines
    using owner_id_type = OwnerId;  ///< names the owner
    using renew_policy_type = RenewPolicy;  ///< decides when to renew
    using guard_type = lease_guard<basic_lease>;  ///< what an attempt returns

    // The deduction guides below deduce all types. From the constructors alone, the compiler would deduce default policies,
    // whatever the options are.

    /// With a ttl of 30 s, and policies made by default. Does no I/O. Throws as below.
    basic_lease(std::type_identity_t<Store>& store, std::string_view name) : basic_lease{lease_terms{}, store, name} {}

    /// The arguments after the name may come in any order: lease_terms, or a bare duration, which is the ttl; a clock; an
    /// owner id; a renew policy. An argument that is left out is default-constructed.
    ///
    /// Does no I/O. Throws std::system_error, which says what is wrong and what is allowed: errc::invalid_name,
    /// errc::invalid_owner, errc::invalid_terms (also for a policy whose first renewal comes after the deadline). Also
    /// throws what the owner id throws.
    template <class... Options>
    basic_lease(std::type_identity_t<Store>& store, std::string_view name, Options&&... options)
        : basic_lease{detail::pick_terms(options...), store, name, options...}
    {
        detail::check_options<void, Options...>();
    }

    /// The same, so that the terms can be given in braces.
    template <class... Options>
    basic_lease(std::type_identity_t<Store>& store, std::string_view name, lease_terms terms, Options&&... options)
        : basic_lease{terms, store, name, options...}
    {
        detail::check_options<void, lease_terms, Options...>();
    }

    /// The same, with the clock as the next argument, so that it can be given in braces too.
    template <class... Options>
    basic_lease(std::type_identity_t<Store>& store, std::string_view name, lease_terms terms, Clock clock, Options&&... options)
        : basic_lease{terms, store, name, clock, options...}
    {
        detail::check_options<void, lease_terms, Clock, Options...>();
    }

    /// Other arguments: one line says what is wrong.
    template <class First, class Second, class... Rest>
        requires std::same_as<Store, detail::no_store>
    basic_lease(First&&, Second&&, Rest&&...) : forms_type{attempts_type{typename attempts_type::handle_type{}}}
    {
        detail::explain_wrong_arguments<First, Second, Rest...>();
    }

    /// For the library: another object of the same lease, which keeps what the lease refers to.
    explicit basic_lease(const typename attempts_type::handle_type& handle) noexcept : forms_type{attempts_type{handle}} {}

    /// Takes over the other lease, which can then only be destroyed or assigned to.
    basic_lease(basic_lease&&) noexcept = default;
    /// Destroys its former state, like the destructor, and takes over the other lease.
    basic_lease& operator=(basic_lease&&) noexcept = default;

    /// Releases the guards that lock() keeps. May wait, up to the store's call timeout, for a renewal that is under way; and, if it
    /// is the last of all leases and guards of the store, for a stop callback that is running.
    ~basic_lease() = default;

    [[nodiscard]] const std::string& name() const noexcept { return keeper().name(); }  ///< the name that it acquires
    [[nodiscard]] const std::string& owner() const noexcept { return keeper().owner(); }  ///< the owner of its terms
    [[nodiscard]] const lease_terms& terms() const noexcept { return keeper().terms(); }  ///< its durations
    [[nodiscard]] Store& store() const noexcept { return keeper().store(); }  ///< where the lease lives

    /// TimedLockable, for std::unique_lock, std::scoped_lock and std::lock: the lease keeps the guard for the thread that
    /// locked.
    ///
    /// These functions throw like try_acquire(), and hold nothing then. lock() also throws std::system_error with
    /// std::errc::resource_deadlock_would_occur if this thread has already locked this lease. A second lease of the same name
    /// excludes this one also in the same thread: its lock() waits, and std::lock() of both never ends. Call guard().held()
    /// before you rely on the lease: it can be lost. Then another thread may lock it, and each thread unlocks its own term. A thread that
    /// locks it again unlocks twice, as two std::lock_guard do.
    void lock() &
    {
        detail::refuse_deadlock("lock", name(), locks_.held_by_this_thread(keeper().mutex()));
        locks_.keep(keeper().mutex(), this->acquire());
    }

    /// Makes one attempt, and keeps the guard like lock(). False means busy.
    [[nodiscard]] bool try_lock() & { return locks_.keep(keeper().mutex(), this->try_acquire()); }

    /// Waits at most this long. False means that the name was busy until then.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> at_most) &
    {
        return locks_.keep(keeper().mutex(), this->try_acquire_for(at_most));
    }

    /// Waits at most until this instant. False means that the name was busy until then.
    template <class Clk, class Dur>
    [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clk, Dur> until) &
    {
        return locks_.keep(keeper().mutex(), this->try_acquire_until(until));
    }

    /// Releases the term that this thread locked. A failure of the store is not reported: the store then frees the lease when its
    /// time runs out. Throws std::system_error with std::errc::operation_not_permitted if this thread has locked nothing.
    void unlock()
    {
        const guard_type released_here{locks_.take(keeper().mutex())};
        if (released_here.empty()) detail::raise_not_locked("unlock", name());
    }

    /// The guard of the term that this thread has locked, until it unlocks; empty otherwise.
    [[nodiscard]] const guard_type& guard() const noexcept { return locks_.of_this_thread(keeper().mutex()); }

    /// What the store says about the name now; empty when it is free. Throws store_error when the store fails.
    [[nodiscard]] std::optional<lease_record> inspect() const
    {
        std::error_code ec;
        std::optional<lease_record> record = inspect(ec);
        if (ec) this->attempts_.raise_failure(ec, "inspect");
        return record;
    }

    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] std::optional<lease_record> inspect(std::error_code& ec) const noexcept
    {
        std::optional<lease_record> record;
        ec.clear();
        detail::catch_into(ec, [&] { record = store().inspect(name(), ec); });
        if (ec) record.reset();
        return record;  // moved, since a copy would allocate memory
    }

    /// Asks the holder of the name to hand it over. True: somebody holds it, and that term has been asked; false: nobody does, also
    /// if `min_hold` keeps the name closed. True, too, for a hold and for the record of a count, where nobody hears it: inspect() tells
    /// them, by is_hold() and is_count(). The holder learns of it with its next renewal, and decides: a request takes nothing away,
    /// and ends with the term. A later request takes the place of an earlier one. Does I/O.
    ///
    /// `reason`: at most max_data_bytes (1,024) bytes of UTF-8 without a NUL; may be empty. "priority 7" is for holders with a
    /// priority; see leader_election_options::priority.
    /// Throws std::system_error with errc::invalid_data, which says what is wrong, and store_error when the store fails. For
    /// stores that are a handover_store.
    bool request_handover(std::string_view reason = {}) const
    {
        validate_reason(reason);
        std::error_code ec;
        const bool requested = request_handover(reason, ec);
        if (ec) this->attempts_.raise_failure(ec, "request_handover");
        return requested;
    }

    /// The same without a reason, reported in `ec`: does not throw.
    bool request_handover(std::error_code& ec) const noexcept { return request_handover({}, ec); }
    /// The same, reported in `ec`: does not throw.
    bool request_handover(std::string_view reason, std::error_code& ec) const noexcept
    {
        static_assert(handover_store<Store>, "this store keeps neither data nor requests of a term: it has to be a handover_store");
        bool requested = false;
        ec = detail::refusal_of_data(reason);
        if constexpr (handover_store<Store>)
            if (!ec) detail::catch_into(ec, [&] { requested = store().request_handover(name(), reason, ec); });
        return requested && !ec;
    }

    /// Runs `work` under the lease: one attempt, then the call, then the release.
    ///
    /// `work` takes the guard by reference, or nothing. Returns its result in a std::optional, which is empty if the lease
    /// was busy; for a `work` that returns void, returns whether it ran. An exception of `work` reaches the caller after the
    /// release. Throws like try_acquire(); a release that fails is not reported.
    template <class Work>
    auto try_run(Work&& work)
    {
        return run_under(this->try_acquire(), std::forward<Work>(work));
    }

    /// The same, reported in `ec`: throws nothing itself, but an exception of `work` still reaches the caller.
    template <class Work>
    auto try_run(Work&& work, std::error_code& ec)
    {
        return run_under(this->try_acquire(ec), std::forward<Work>(work));
    }

private:
    using locks_type = detail::thread_locks<guard_type, renewal::runtime_traits<Clock>>;

    template <class... Options>
    basic_lease(const lease_terms& terms, Store& store, std::string_view name, const Options&... options)
        : forms_type{attempts_type{store, name, terms,
                                   detail::pick<detail::role_of_clock, Clock>(options...),
                                   detail::pick<detail::role_of_owner_id, OwnerId>(options...),
                                   detail::pick<detail::role_of_renew_policy, RenewPolicy>(options...)}}
    {
    }

    [[nodiscard]] auto& keeper() const noexcept { return this->attempts_.keeper(); }

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

    locks_type locks_;  // destroyed first: its guards are released while the lease still exists
};

/// Takes the policies from the options, or the defaults.
template <lease_store Store, class... Options>
basic_lease(Store&, std::string_view, Options&&...)
    -> basic_lease<Store, detail::clock_in<Options...>, detail::owner_id_in<Options...>, detail::renew_policy_in<Options...>>;
/// The same, for terms in braces.
template <lease_store Store, class... Options>
basic_lease(Store&, std::string_view, lease_terms, Options&&...)
    -> basic_lease<Store, detail::clock_in<Options...>, detail::owner_id_in<Options...>, detail::renew_policy_in<Options...>>;

/// The same, for a clock in braces.
template <lease_store Store, class... Options>
basic_lease(Store&, std::string_view, lease_terms, steady_clock, Options&&...)
    -> basic_lease<Store, steady_clock, detail::owner_id_in<Options...>, detail::renew_policy_in<Options...>>;

/// Other arguments: one line says what is wrong.
template <class First, class Second, class... Rest>
    requires(!detail::store_and_name<First, Second>)
basic_lease(First&&, Second&&, Rest&&...) -> basic_lease<detail::no_store>;

/// A lease with default policies, as a type for members and parameters.
template <lease_store Store>
using lease = basic_lease<Store>;

}  // namespace leasehold::inline v0

#endif
