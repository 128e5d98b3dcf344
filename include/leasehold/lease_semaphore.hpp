// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_SEMAPHORE_HPP
#define LEASEHOLD_LEASE_SEMAPHORE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/acquire_forms.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/lease_options.hpp>
#include <leasehold/detail/wrong_arguments.hpp>
#include <leasehold/detail/permit_attempts.hpp>
#include <leasehold/detail/permit_names.hpp>
#include <leasehold/detail/permit_pool.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/permit_guard.hpp>
#include <leasehold/permits_guard.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/semaphore_options.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

/// At most so many hold at once, on all hosts: a lease of which there are several.
///
///     lh::lease_semaphore licences{store, "licences", 5, 30s};
///     if (auto permit = licences.try_acquire()) use_licence(permit.index());
///
/// A permit is a lease of a name of its own, "licences/0" to "licences/4", with its own term, token and deadline. So what is
/// promised of a lease is promised of each permit, and a permit comes back when its holder dies: at the end of its ttl.
///
/// All processes must agree on the count. It is kept with the leases: while there are permits, and up to three ttls longer, the
/// bare name is held by the owner "5 permits". For an object that is made with another count, every attempt is an error,
/// errc::invalid_terms, which says both counts, unless semaphore_options tell it to follow. resize() changes the count while all
/// processes run: those that have agreed on it before follow within a ttl. While there are permits, nobody may release the bare name by
/// force.
///
/// try_acquire(3) and the other forms with a number take several permits at once, all or none, as one guard.
///
/// Several guards of one object may hold at once, each a permit of its own. The object's owner is the same for all of its
/// permits; as with a lease, two objects with one fixed_owner_id take each other's permits.
/// Movable, not copyable; a moved-from semaphore can only be destroyed or assigned to.
/// Thread safety: any thread may call any function, except moving. Lifetime: the store must outlive the semaphore and its guards.
template <lease_store Store, lease_clock Clock = steady_clock, owner_id OwnerId = random_owner_id,
          renew_policy RenewPolicy = renew_at_fraction>
class lease_semaphore
    : public detail::acquire_forms<
          detail::permit_attempts<detail::permit_pool<Store, Clock, RenewPolicy>,
                                  permit_guard<lease_semaphore<Store, Clock, OwnerId, RenewPolicy>>, detail::any_permit>> {
    static_assert(renew_policy_on_clock<RenewPolicy, Clock>,
                  "without wait_until (waitable_clock) a clock allows no renewal in the background: "
                  "give the semaphore no_renewal{}, or a waitable clock");

    using pool_type = detail::permit_pool<Store, Clock, RenewPolicy>;
    using attempts_type = detail::permit_attempts<pool_type, permit_guard<lease_semaphore>, detail::any_permit>;
    using forms_type = detail::acquire_forms<attempts_type>;

public:
    using store_type = Store;  ///< where the permits live
    using clock_type = Clock;  ///< measures deadlines
    using owner_id_type = OwnerId;  ///< names the owner
    using renew_policy_type = RenewPolicy;  ///< decides when to renew
    using guard_type = permit_guard<lease_semaphore>;  ///< what an attempt returns
    using several_guard_type = permits_guard<lease_semaphore>;  ///< what an attempt at several permits returns

    /// The arguments after the count may come in any order, as for basic_lease; semaphore_options is one of them. Does no I/O.
    ///
    /// Throws std::system_error, which says what is wrong and what is allowed: errc::invalid_terms for a count of 0 or more than
    /// max_permits (1,024), errc::invalid_name also for a name that leaves no room for the permits' numbers, and otherwise like
    /// basic_lease.
    template <std::integral Count, class... Options>
    lease_semaphore(std::type_identity_t<Store>& store, std::string_view name, Count count, Options&&... options)
        : lease_semaphore{detail::pick_terms(options...), store, name, count, options...}
    {
        detail::check_options<semaphore_options, Options...>();
    }

    /// The same, so that the terms can be given in braces.
    template <std::integral Count, class... Options>
    lease_semaphore(std::type_identity_t<Store>& store, std::string_view name, Count count, lease_terms terms, Options&&... options)
        : lease_semaphore{terms, store, name, count, options...}
    {
        detail::check_options<semaphore_options, lease_terms, Options...>();
    }

    /// Other arguments: one line says what is wrong.
    template <class First, class Second, class... Rest>
        requires std::same_as<Store, detail::no_store>
    lease_semaphore(First&&, Second&&, Rest&&...) : forms_type{attempts_type{nullptr}}
    {
        detail::explain_wrong_arguments<First, Second, Rest...>();
        static_assert(!detail::store_and_name<First, Second>, "after the name comes the number of permits");
    }

    /// Takes over the other semaphore, which can then only be destroyed or assigned to.
    lease_semaphore(lease_semaphore&&) noexcept = default;
    /// Gives up its former state, like the destructor, and takes over the other semaphore.
    lease_semaphore& operator=(lease_semaphore&&) noexcept = default;
    /// Its permits stay held: their guards do not need the semaphore.
    ~lease_semaphore() = default;

    [[nodiscard]] const std::string& name() const noexcept { return pool().name(); }  ///< the name that all permits begin with
    [[nodiscard]] const std::string& owner() const noexcept { return pool().owner(); }  ///< the owner of its permits
    [[nodiscard]] const lease_terms& terms() const noexcept { return pool().terms(); }  ///< the durations of each permit
    /// How many permits there are, as far as this object knows: what it was made with, until it has asked the store.
    [[nodiscard]] std::size_t count() const noexcept { return pool().count(); }
    [[nodiscard]] Store& store() const noexcept { return pool().store(); }  ///< where the permits live

    /// Changes the count for all processes while permits are held. Objects that have agreed on the count before follow within a ttl, and
    /// sooner if they find nothing free. An object that is made from then on must give the new count, or semaphore_options that
    /// follow. Does I/O.
    ///
    /// Fewer permits: none is taken away. As long as more than the new count are held, no process that knows of the change is granted one.
    /// While the count changes, no more than the larger of the two counts are held; once the record has the new count alone, as in
    /// "4 permits, change 2", no more than that. resize() does not wait for it: the next attempts of any process see to it.
    /// It replaces a record of permits, and nothing else that has the bare name. Of two calls at once, one comes last. If this process
    /// ends in the middle of it, others carry out the change, or nothing has changed. A lease of the name "licences/+" notes it meanwhile.
    ///
    /// Throws std::system_error with errc::invalid_terms for a count of 0 or more than max_permits (1,024), or if the bare name belongs to
    /// something else, and errc::invalid_name for a name that leaves no room for the permits' numbers. Throws store_error when the store
    /// fails: then the count may have changed or not; call it again.
    template <std::integral Count>
    void resize(Count count)
    {
        detail::check_count(pool().counted().names(), count);
        std::error_code ec;
        resize(count, ec);
        if (ec) pool().raise_failure(ec, "resize");
    }

    /// The same, reported in `ec`: does not throw.
    template <std::integral Count>
    void resize(Count count, std::error_code& ec) noexcept
    {
        ec = detail::refusal_of_count(pool().counted().names(), count);
        if (!ec) detail::catch_into(ec, [&] { pool().counted().resize(static_cast<std::size_t>(count), terms().ttl, ec); });
    }

    using forms_type::try_acquire, forms_type::try_acquire_for, forms_type::try_acquire_until, forms_type::acquire;

    /// One attempt at so many permits, all or none: an empty guard means that fewer are free. Two that want more than half at the same time
    /// may both get nothing: try again after a random pause, or wait. The permits need not follow on each other.
    ///
    /// Throws like try_acquire(), and std::system_error with errc::invalid_terms for a number of 0 or more than there are permits.
    template <std::integral Count>
    [[nodiscard]] several_guard_type try_acquire(Count several) &
    {
        return several_of(several).here().try_acquire();
    }
    /// The same, reported in `ec`: does not throw.
    template <std::integral Count>
    [[nodiscard]] several_guard_type try_acquire(Count several, std::error_code& ec) & noexcept
    {
        return several_of(several).here().try_acquire(ec);
    }

    /// Waits for so many permits, all or none, in the line of all that wait for a permit. It takes none before it can have all, so nobody
    /// deadlocks. While it is the first in the line, those behind it take none either, so it isn't overtaken by those that want fewer; on a
    /// store that doesn't order the waiters of all processes (ordered_store), it may be, by those of other processes. Meanwhile it has a
    /// lease of the name "licences/^", which runs out if its process dies.
    /// Otherwise like try_acquire_for().
    template <class Rep, class Period, std::integral Count>
    [[nodiscard]] several_guard_type try_acquire_for(std::chrono::duration<Rep, Period> at_most, Count several, std::stop_token stop = {}) &
    {
        return several_of(several).here().try_acquire_for(at_most, std::move(stop));
    }
    /// The same, reported in `ec`: does not throw. No error means that the time ran out.
    template <class Rep, class Period, std::integral Count>
    [[nodiscard]] several_guard_type try_acquire_for(std::chrono::duration<Rep, Period> at_most, Count several,
                                                     std::error_code& ec) & noexcept
    {
        return several_of(several).here().try_acquire_for(at_most, ec);
    }
    /// The same. std::errc::operation_canceled means that `stop` was asked to stop.
    template <class Rep, class Period, std::integral Count>
    [[nodiscard]] several_guard_type try_acquire_for(std::chrono::duration<Rep, Period> at_most, Count several, std::stop_token stop,
                                                     std::error_code& ec) & noexcept
    {
        return several_of(several).here().try_acquire_for(at_most, std::move(stop), ec);
    }

    /// Waits for so many permits until an instant, like try_acquire_until().
    template <class Clk, class Dur, std::integral Count>
    [[nodiscard]] several_guard_type try_acquire_until(std::chrono::time_point<Clk, Dur> until, Count several, std::stop_token stop = {}) &
    {
        return several_of(several).here().try_acquire_until(until, std::move(stop));
    }
    /// The same, reported in `ec`: does not throw. No error means that the time ran out.
    template <class Clk, class Dur, std::integral Count>
    [[nodiscard]] several_guard_type try_acquire_until(std::chrono::time_point<Clk, Dur> until, Count several,
                                                       std::error_code& ec) & noexcept
    {
        return several_of(several).here().try_acquire_until(until, ec);
    }
    /// The same. std::errc::operation_canceled means that `stop` was asked to stop.
    template <class Clk, class Dur, std::integral Count>
    [[nodiscard]] several_guard_type try_acquire_until(std::chrono::time_point<Clk, Dur> until, Count several, std::stop_token stop,
                                                       std::error_code& ec) & noexcept
    {
        return several_of(several).here().try_acquire_until(until, std::move(stop), ec);
    }

    /// Waits for so many permits without a limit: the guard is empty only if `stop` was asked to stop.
    template <std::integral Count>
    [[nodiscard]] several_guard_type acquire(Count several, std::stop_token stop = {}) &
    {
        return several_of(several).here().acquire(std::move(stop));
    }
    /// The same, reported in `ec`: does not throw.
    template <std::integral Count>
    [[nodiscard]] several_guard_type acquire(Count several, std::error_code& ec) & noexcept
    {
        return several_of(several).here().acquire(ec);
    }
    /// The same. std::errc::operation_canceled means that `stop` was asked to stop.
    template <std::integral Count>
    [[nodiscard]] several_guard_type acquire(Count several, std::stop_token stop, std::error_code& ec) & noexcept
    {
        return several_of(several).here().acquire(std::move(stop), ec);
    }

private:
    template <class Semaphore>
    friend class permit_guard;
    template <class Semaphore>
    friend class permits_guard;

    template <class Count, class... Options>
    lease_semaphore(const lease_terms& terms, Store& store, std::string_view name, Count count, const Options&... options)
        : forms_type{attempts_type{std::make_shared<pool_type>(
              store, detail::checked_permits(name, "/", "", count, "permits"),
              detail::pick<detail::role_of_owner_id, OwnerId>(options...).id(), terms,
              detail::pick<detail::role_of_clock, Clock>(options...), detail::pick<detail::role_of_renew_policy, RenewPolicy>(options...),
              detail::pick_last<semaphore_options>(options...).on_other_count == on_other_count::follow)}}
    {
    }

    template <class Count>
    [[nodiscard]] auto several_of(Count wanted) const noexcept
    {
        return detail::forms_of_call{this->attempts_.template at<several_guard_type>(detail::wanted_permits{wanted})};
    }

    [[nodiscard]] pool_type& pool() const noexcept { return this->attempts_.pool(); }
};

/// Takes the policies from the options, or the defaults.
template <lease_store Store, std::integral Count, class... Options>
lease_semaphore(Store&, std::string_view, Count, Options&&...)
    -> lease_semaphore<Store, detail::clock_in<Options...>, detail::owner_id_in<Options...>, detail::renew_policy_in<Options...>>;
/// The same, for terms in braces.
template <lease_store Store, std::integral Count, class... Options>
lease_semaphore(Store&, std::string_view, Count, lease_terms, Options&&...)
    -> lease_semaphore<Store, detail::clock_in<Options...>, detail::owner_id_in<Options...>, detail::renew_policy_in<Options...>>;

/// Other arguments: one line says what is wrong.
template <class First, class Second, class... Rest>
    requires(!detail::store_and_name<First, Second> || !(std::integral<std::remove_cvref_t<Rest>> || ...))
lease_semaphore(First&&, Second&&, Rest&&...) -> lease_semaphore<detail::no_store>;

}  // namespace leasehold::inline v0

#endif
