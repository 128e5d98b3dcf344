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
#include <leasehold/detail/permit_pool.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/permit_guard.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/time_point.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

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
/// bare name is held by the owner "5 permits". For a process with another count, every attempt is an error, errc::invalid_terms,
/// which says both counts. To change the count, end all processes that use the old one, and wait until its record has run out.
/// While there are permits, nobody may release the bare name by force.
///
/// Several guards of one object may hold at once, each a permit of its own. The object's owner is the same for all of its
/// permits; as with a lease, two objects with one fixed_owner_id take each other's permits.
/// Movable, not copyable; a moved-from semaphore can only be destroyed or assigned to.
/// Thread safety: any thread may call any function, except moving. Lifetime: the store must outlive the semaphore and its guards.
template <lease_store Store, lease_clock Clock = steady_clock, owner_id OwnerId = random_owner_id,
          renew_policy RenewPolicy = renew_at_fraction>
class lease_semaphore : public detail::acquire_forms<lease_semaphore<Store, Clock, OwnerId, RenewPolicy>,
                                                     permit_guard<lease_semaphore<Store, Clock, OwnerId, RenewPolicy>>> {
    static_assert(renew_policy_on_clock<RenewPolicy, Clock>,
                  "without wait_until (waitable_clock) a clock allows no renewal in the background: "
                  "give the semaphore no_renewal{}, or a waitable clock");

public:
    using store_type = Store;  ///< where the permits live
    using clock_type = Clock;  ///< measures deadlines
    using owner_id_type = OwnerId;  ///< names the owner
    using renew_policy_type = RenewPolicy;  ///< decides when to renew
    using guard_type = permit_guard<lease_semaphore>;  ///< what an attempt returns

    /// The arguments after the count may come in any order, as for basic_lease. Does no I/O.
    ///
    /// Throws std::system_error, which says what is wrong and what is allowed: errc::invalid_terms for a count of 0 or more than
    /// max_permits (1,024), errc::invalid_name also for a name that leaves no room for the permits' numbers, and otherwise like
    /// basic_lease.
    template <std::integral Count, class... Options>
    lease_semaphore(std::type_identity_t<Store>& store, std::string_view name, Count count, Options&&... options)
        : lease_semaphore{detail::pick_terms(options...), store, name, count, options...}
    {
        check_options<Options...>();
    }

    /// The same, so that the terms can be given in braces.
    template <std::integral Count, class... Options>
    lease_semaphore(std::type_identity_t<Store>& store, std::string_view name, Count count, lease_terms terms, Options&&... options)
        : lease_semaphore{terms, store, name, count, options...}
    {
        check_options<lease_terms, Options...>();
    }

    /// Other arguments: one line says what is wrong.
    template <class First, class Second, class... Rest>
        requires std::same_as<Store, detail::no_store>
    lease_semaphore(First&&, Second&&, Rest&&...) : pool_{}
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

    [[nodiscard]] const std::string& name() const noexcept { return pool_->name(); }  ///< the name that all permits begin with
    [[nodiscard]] const std::string& owner() const noexcept { return pool_->owner(); }  ///< the owner of its permits
    [[nodiscard]] const lease_terms& terms() const noexcept { return pool_->terms(); }  ///< the durations of each permit
    [[nodiscard]] std::size_t count() const noexcept { return pool_->count(); }  ///< how many permits there are
    [[nodiscard]] Store& store() const noexcept { return pool_->store(); }  ///< where the permits live

private:
    template <class Semaphore>
    friend class permit_guard;
    friend detail::lease_access;
    friend detail::acquire_forms<lease_semaphore, guard_type>;
    using pool_type = detail::permit_pool<Store, Clock, RenewPolicy>;

    template <class... Options>
    static constexpr void check_options() noexcept
    {
        (detail::check_option<Options>(), ...);
        static_assert(detail::each_once<Options...>,
                      "two lease_terms or ttls, clocks, owner ids or renew policies are given: which one counts?");
    }

    template <class Count, class... Options>
    lease_semaphore(const lease_terms& terms, Store& store, std::string_view name, Count count, const Options&... options)
        : pool_{std::make_shared<pool_type>(store, detail::checked_permits(name, "/", "", count, "permits"),
                                            detail::pick<detail::role_of_owner_id, OwnerId>(options...).id(), terms,
                                            detail::pick<detail::role_of_clock, Clock>(options...),
                                            detail::pick<detail::role_of_renew_policy, RenewPolicy>(options...))}
    {
    }

    using attempt_result = typename pool_type::attempt_result;

    // See acquire_forms.
    lease_semaphore& forms() noexcept { return *this; }
    [[nodiscard]] const auto& clock() const noexcept { return pool_->clock(); }

    guard_type attempt_or_throw(std::string_view operation)
    {
        std::error_code ec;
        auto last = attempt(ec);
        return granted_or_throw(std::move(last), ec, operation);
    }

    guard_type attempt_or_report(std::error_code& ec) noexcept
    {
        guard_type guard;
        ec.clear();
        detail::catch_into(ec, [&] { guard = guard_of(attempt(ec)); });
        return guard;
    }

    guard_type wait_or_throw(time_point deadline, const std::stop_token& stop, std::string_view operation)
    {
        std::error_code ec;
        auto last = wait(deadline, stop, ec);
        return granted_or_throw(std::move(last), ec, operation);
    }

    guard_type wait_or_report(time_point deadline, const std::stop_token& stop, std::error_code& ec) noexcept
    {
        guard_type guard;
        ec.clear();
        detail::catch_into(ec, [&] { guard = guard_of(wait(deadline, stop, ec)); });
        detail::report_cancellation(guard, stop, ec);
        return guard;
    }

    attempt_result attempt(std::error_code& ec)
    {
        detail::any_permit any;
        return pool_->attempt_once(any, ec);
    }

    attempt_result wait(time_point deadline, const std::stop_token& stop, std::error_code& ec)
    {
        return pool_->wait(deadline, stop, ec, detail::any_permit{});
    }

    guard_type granted_or_throw(attempt_result last, std::error_code ec, std::string_view operation)
    {
        if (ec) pool_->raise_failure(ec, operation, last.too_late, last.of_another);
        return guard_of(std::move(last));
    }

    [[nodiscard]] guard_type guard_of(attempt_result last) const noexcept
    {
        return detail::lease_access::make_guard<guard_type>(pool_, std::move(last));
    }

    [[nodiscard]] const std::shared_ptr<pool_type>& parts() const noexcept { return pool_; }

    std::shared_ptr<pool_type> pool_;
};

/// Takes the policies from the options, or the defaults.
template <lease_store Store, std::integral Count, class... Options>
lease_semaphore(Store&, std::string_view, Count, Options&&...)
    -> lease_semaphore<Store, detail::option_t<detail::role_of_clock, steady_clock, Options...>,
                       detail::option_t<detail::role_of_owner_id, random_owner_id, Options...>,
                       detail::option_t<detail::role_of_renew_policy, renew_at_fraction, Options...>>;
/// The same, for terms in braces.
template <lease_store Store, std::integral Count, class... Options>
lease_semaphore(Store&, std::string_view, Count, lease_terms, Options&&...)
    -> lease_semaphore<Store, detail::option_t<detail::role_of_clock, steady_clock, Options...>,
                       detail::option_t<detail::role_of_owner_id, random_owner_id, Options...>,
                       detail::option_t<detail::role_of_renew_policy, renew_at_fraction, Options...>>;

/// Other arguments: one line says what is wrong.
template <class First, class Second, class... Rest>
    requires(!detail::store_and_name<First, Second> || !(std::integral<std::remove_cvref_t<Rest>> || ...))
lease_semaphore(First&&, Second&&, Rest&&...) -> lease_semaphore<detail::no_store>;

}  // namespace leasehold::inline v0

#endif
