// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_DETAIL_GUARDS_HPP
#define LEASEHOLD_ASIO_DETAIL_GUARDS_HPP

#include <leasehold/detail/guard_sets.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/exclusive_guard.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/lease_set_guard.hpp>
#include <leasehold/permit_guard.hpp>
#include <leasehold/release_all.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

// What the asynchronous operations need of each kind of guard.
namespace leasehold::inline v0::detail {

template <class T>
inline constexpr bool has_one_ttl = false;
template <class Lease>
inline constexpr bool has_one_ttl<lease_guard<Lease>> = true;
template <class Semaphore>
inline constexpr bool has_one_ttl<permit_guard<Semaphore>> = true;

template <class T>
inline constexpr bool has_several_ttls = false;
template <class SharedLease>
inline constexpr bool has_several_ttls<exclusive_guard<SharedLease>> = true;
template <class... Leases>
inline constexpr bool has_several_ttls<lease_set_guard<Leases...>> = true;

/// A guard of a single term, which can be renewed by another ttl.
template <class T>
concept single_guard = has_one_ttl<T>;
/// A guard of one right, of one term or more.
template <class T>
concept any_guard = single_guard<T> || has_several_ttls<T>;

/// The threads of the leases; null if the guard is empty.
template <class Lease>
auto engine_of(const lease_guard<Lease>& guard)
{
    return lease_access::engine(guard);
}
template <class... Leases>
auto engine_of(const lease_set_guard<Leases...>& guard)
{
    if constexpr (sizeof...(Leases) == 1) {
        const auto& guards = guard.guards();
        return guards.empty() ? nullptr : engine_of(guards.front());
    } else {
        return engine_of(std::get<0>(guard.guards()));
    }
}
template <any_guard Guard>
auto engine_of(const Guard& guard)
{
    return engine_of(lease_access::inner(guard));
}

/// The work under the guard's terms has thrown, and the release comes on another thread, which does not see the exception.
template <class Lease>
void forget_min_hold(const lease_guard<Lease>& guard) noexcept
{
    lease_access::forget_min_hold(guard);
}
template <class... Leases>
void forget_min_hold(const lease_set_guard<Leases...>& guard) noexcept
{
    each_of_set(guard.guards(), [](const auto& each) { lease_access::forget_min_hold(each); });
}
template <any_guard Guard>
void forget_min_hold(const Guard& guard) noexcept
{
    forget_min_hold(lease_access::inner(guard));
}

template <class Lease>
auto kept_terms(const std::vector<lease_guard<Lease>>& guards)
{
    return std::vector<kept_term<Lease>>(guards.begin(), guards.end());
}
template <class... Leases>
auto kept_terms(const std::tuple<lease_guard<Leases>...>& guards)
{
    return std::apply([](const auto&... each) { return std::tuple{kept_term<Leases>{each}...}; }, guards);
}

/// Extends the guard's terms, also after the guard has gone: a function of the ttl, or nothing, and an error code. The guard isn't empty.
template <class Lease>
auto extension_of(const lease_guard<Lease>& guard)
{
    return lease_access::extension(guard);
}
template <class... Leases>
auto extension_of(const lease_set_guard<Leases...>& guard)
{
    return [terms = kept_terms(guard.guards())](std::optional<duration>, std::error_code& ec) mutable {
        set_failure failure;
        const bool extended = renew_set(terms, &failure);
        ec = failure.error();
        return extended && !ec;
    };
}
template <any_guard Guard>
auto extension_of(const Guard& guard)
{
    return extension_of(lease_access::inner(guard));
}

/// What a lease_lost says, like that of ensure_held(): the name of the lease, or of the first lease of several that is lost.
template <single_guard Guard>
std::string name_of_loss(const Guard& guard)
{
    return std::string{guard.name()};
}
template <class... Leases>
std::string name_of_loss(const lease_set_guard<Leases...>& guard)
{
    std::string name;
    each_of_set(guard.guards(), [&name](const auto& each) {
        if (name.empty() && !each.held()) name = each.name();
    });
    return name;
}
template <class SharedLease>
std::string name_of_loss(const exclusive_guard<SharedLease>& guard)
{
    return name_of_loss(lease_access::inner(guard));
}

/// Releases what nobody takes; several guards in few calls, and in none after a call that fails.
template <class Result>
void drop(Result& result) noexcept
{
    if constexpr (range_of_guards<Result>) static_cast<void>(release_range(result));
    result = Result{};
}

}  // namespace leasehold::inline v0::detail

#endif
