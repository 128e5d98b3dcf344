// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_SET_HPP
#define LEASEHOLD_LEASE_SET_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/basic_lease.hpp>
#include <leasehold/detail/batch_attempt.hpp>
#include <leasehold/detail/guard_sets.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/new_stop_source.hpp>
#include <leasehold/detail/set_order.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/lease_set_guard.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <ranges>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

namespace detail {

template <class T>
inline constexpr bool is_basic_lease = false;
template <class Store, class Clock, class OwnerId, class RenewPolicy>
inline constexpr bool is_basic_lease<basic_lease<Store, Clock, OwnerId, RenewPolicy>> = true;

template <class Range>
concept range_of_leases = std::ranges::input_range<Range> && std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>> &&
                          is_basic_lease<std::ranges::range_value_t<Range>>;

template <class Lease>
set_member member_of(const Lease& lease) noexcept
{
    return {std::addressof(lease.store()), lease.name()};
}

// Attempts at leases of one type.
template <class Lease>
class uniform_set {
public:
    using guard_type = lease_set_guard<Lease>;

    // Throws std::system_error for a set that can't work.
    explicit uniform_set(std::vector<Lease*> leases) : leases_{std::move(leases)}
    {
        std::vector<set_member> members;
        members.reserve(leases_.size());
        for (const Lease* lease : leases_) members.push_back(member_of(*lease));
        order_ = order_of(members);
        guards_.resize(leases_.size());
    }
    uniform_set(const uniform_set&) = delete;
    uniform_set& operator=(const uniform_set&) = delete;
    // Gives back what was acquired before memory ran out.
    ~uniform_set()
    {
        if (!guards_.empty()) back_out(guards_, order_);
    }

    [[nodiscard]] bool empty() const noexcept { return leases_.empty(); }

    // Takes what is free; `all`: stops where one is busy. False: one was busy, or there is an error.
    bool acquire(bool all, std::error_code& ec)
    {
        bool granted = true;
        for (std::size_t begin = 0; begin < order_.size() && !ec && (granted || !all);) {
            const std::size_t most = attempts_together(leases_[order_[begin]]->store());
            std::size_t end = begin + 1;
            while (end < order_.size() && end - begin < most && same_store(order_[begin], order_[end])) ++end;
            granted = acquire_some(begin, end, all, ec) && granted;
            begin = end;
        }
        if (ec) failure_.note(leases_[failed_]->store(), ec, leases_[failed_]->name());
        return granted && !ec;
    }

    [[nodiscard]] std::vector<lease_guard<Lease>>& guards() noexcept { return guards_; }
    // The order in which they are asked for.
    [[nodiscard]] std::vector<std::size_t>& order() noexcept { return order_; }

    [[noreturn]] void raise(std::error_code ec, std::string_view operation) const
    {
        if (!too_late_) failure_.raise(operation);
        lease_access::attempts(*leases_[failed_]).raise_failure(ec, operation, true);
    }

    void failed_at(std::size_t i, bool too_late) noexcept
    {
        failed_ = i;
        too_late_ = too_late;
    }

private:
    [[nodiscard]] bool same_store(std::size_t a, std::size_t b) const noexcept
    {
        return std::addressof(leases_[a]->store()) == std::addressof(leases_[b]->store());
    }

    bool acquire_some(std::size_t begin, std::size_t end, bool all, std::error_code& ec)
    {
        failed_at(order_[begin], false);
        if constexpr (batch_acquiring_store<typename Lease::store_type>)
            if (end - begin > 1) return acquire_together(begin, end, all, ec);
        const std::size_t i = order_[begin];
        auto result = lease_access::attempts(*leases_[i]).attempt_once(ec);
        guards_[i] = std::move(result.guard);
        too_late_ = result.too_late;
        return !guards_[i].empty();
    }

    bool acquire_together(std::size_t begin, std::size_t end, bool all, std::error_code& ec)
    {
        batch_attempt<Lease> together{end - begin};
        std::vector<std::size_t> sent;
        sent.reserve(end - begin);
        for (std::size_t k = begin; k < end; ++k) {
            if (together.add(*leases_[order_[k]], {}, ec)) sent.push_back(order_[k]);
            if (ec) failed_at(order_[k], false);
            if (ec || (all && sent.size() != k + 1 - begin)) return false;
        }
        bool granted = sent.size() == end - begin;
        std::vector<bool> answered(sent.size());
        std::optional<std::size_t> came_too_late;
        together.send(sent.size(), {}, ec, [&](std::size_t at, auto result) {
            answered[at] = true;
            guards_[sent[at]] = std::move(result.guard);
            granted = granted && !guards_[sent[at]].empty();
            if (result.too_late && !came_too_late) came_too_late = sent[at];
        });
        const auto first = std::ranges::find(answered, false);
        if (first != answered.end())
            failed_at(sent[static_cast<std::size_t>(first - answered.begin())], false);
        else if (came_too_late && ec == errc::store_timeout)
            failed_at(*came_too_late, true);
        return granted;
    }

    std::vector<Lease*> leases_;
    std::vector<std::size_t> order_;
    std::vector<lease_guard<Lease>> guards_;
    std::size_t failed_ = 0;
    bool too_late_ = false;
    set_failure failure_;  // of the attempt: the back-out calls the store, too
};

// Attempts at leases of several types.
template <class... Leases>
class mixed_set {
public:
    using guard_type = lease_set_guard<Leases...>;

    explicit mixed_set(Leases&... leases) : leases_{leases...}
    {
        const std::array members{member_of(leases)...};
        order_ = order_of(members);
    }

    [[nodiscard]] static constexpr bool empty() noexcept { return false; }

    bool acquire(bool, std::error_code& ec)
    {
        return std::ranges::all_of(order_, [&](std::size_t i) {
            failed_at(i, false);
            return visit<bool>(i, [&](auto& lease, auto& guard) {
                auto result = lease_access::attempts(lease).attempt_once(ec);
                guard = std::move(result.guard);
                too_late_ = result.too_late;
                if (ec) failure_.note(lease.store(), ec, lease.name());
                return !guard.empty() && !ec;
            });
        });
    }

    [[nodiscard]] std::tuple<lease_guard<Leases>...>& guards() noexcept { return guards_; }
    [[nodiscard]] std::vector<std::size_t>& order() noexcept { return order_; }

    [[noreturn]] void raise(std::error_code ec, std::string_view operation)
    {
        if (!too_late_) failure_.raise(operation);
        visit<bool>(failed_, [&](auto& lease, auto&) {
            lease_access::attempts(lease).raise_failure(ec, operation, true);
            return true;
        });
        std::terminate();
    }

    void failed_at(std::size_t i, bool too_late) noexcept
    {
        failed_ = i;
        too_late_ = too_late;
    }

private:
    template <class Result, class Function>
    Result visit(std::size_t wanted, Function f)
    {
        Result result{};
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            ((I == wanted ? static_cast<void>(result = f(std::get<I>(leases_), std::get<I>(guards_))) : static_cast<void>(0)), ...);
        }(std::index_sequence_for<Leases...>{});
        return result;
    }

    std::tuple<Leases&...> leases_;
    std::tuple<lease_guard<Leases>...> guards_;
    std::vector<std::size_t> order_;
    std::size_t failed_ = 0;
    bool too_late_ = false;
    set_failure failure_;  // as in uniform_set
};

// All or none.
template <class Set>
typename Set::guard_type acquire_set(Set& set, std::error_code& ec)
{
    if (set.empty()) raise_invalid(errc::invalid_terms, "the set is empty: it needs at least one lease");
    std::stop_source stop = new_stop_source();
    bool all = set.acquire(true, ec);
    if (all) {
        // The first deadline may have passed while the last were acquired.
        std::size_t at = 0;
        each_of_set(set.guards(), [&](const auto& guard) {
            if (all && !guard.held()) {
                all = false;
                ec = errc::store_timeout;
                set.failed_at(at, true);
            }
            ++at;
        });
    }
    if (all) each_of_set(set.guards(), [&](const auto& guard) { lease_access::share_stop(guard, stop); });
    if (all) return set_access::make<typename Set::guard_type>(std::move(set.guards()), std::move(set.order()), std::move(stop));
    back_out(set.guards(), set.order());
    return {};
}

// Acquires each lease that is free.
template <class Lease>
std::vector<lease_guard<Lease>> acquire_each(uniform_set<Lease>& set, std::error_code& ec)
{
    set.acquire(false, ec);
    if (ec) {
        back_out(set.guards(), set.order());
        return {};
    }
    std::erase_if(set.guards(), [](const auto& guard) { return guard.empty(); });
    return std::move(set.guards());
}

template <class Set>
typename Set::guard_type acquire_set_or_throw(Set set)
{
    std::error_code ec;
    auto guard = acquire_set(set, ec);
    if (ec) set.raise(ec, "try_acquire_all");
    return guard;
}

// A set of what the leases have in common.
template <class First, class... Rest>
auto set_of(First& first, Rest&... rest)
{
    if constexpr ((std::same_as<First, Rest> && ...))
        return uniform_set<First>{std::vector<First*>{std::addressof(first), std::addressof(rest)...}};
    else
        return mixed_set<First, Rest...>{first, rest...};
}

template <range_of_leases Range>
auto set_of_range(Range& leases)
{
    using lease_type = std::ranges::range_value_t<Range>;
    std::vector<lease_type*> all;
    for (lease_type& lease : leases) all.push_back(std::addressof(lease));
    return uniform_set<lease_type>{std::move(all)};
}

template <class... Leases>
using set_guard_of = typename decltype(set_of(std::declval<Leases&>()...))::guard_type;

}  // namespace detail

/// Acquires all leases, or none: one attempt, without waiting. An empty guard means that one of them was busy.
///
///     if (auto all = lh::try_acquire_all(from, to, journal)) { ... }
///
/// They are asked for in an order that is the same for everybody, by name, whatever the order of the arguments. If one is busy, those
/// that were granted are released, the newest first, so nobody ever waits while it holds. Few calls if the store is a
/// batch_acquiring_store: two sets that are asked for at once can then refuse each other, so that neither gets all.
/// A back-out does not keep names closed for min_hold.
///
/// Throws like basic_lease::try_acquire(), also if the set took so long that a term would already be over
/// (errc::store_timeout); and std::system_error, before any I/O, with errc::invalid_name if a store's name is there twice.
/// Nothing is held then.
template <class First, class... Rest>
    requires(detail::is_basic_lease<First> && (detail::is_basic_lease<Rest> && ...))
[[nodiscard]] auto try_acquire_all(First& first, Rest&... rest)
{
    return detail::acquire_set_or_throw(detail::set_of(first, rest...));
}

/// The same for a range of leases of one type. Also throws std::system_error with errc::invalid_terms if the range is empty.
template <detail::range_of_leases Range>
[[nodiscard]] auto try_acquire_all(Range&& leases)
{
    return detail::acquire_set_or_throw(detail::set_of_range(leases));
}

/// The same, reported in `ec`: does not throw.
template <detail::range_of_leases Range>
[[nodiscard]] auto try_acquire_all(Range&& leases, std::error_code& ec) noexcept
{
    lease_set_guard<std::ranges::range_value_t<Range>> guard;
    ec.clear();
    detail::catch_into(ec, [&] {
        auto set = detail::set_of_range(leases);
        guard = detail::acquire_set(set, ec);
    });
    return guard;
}

/// The same for single leases, with the error code as the last argument.
template <class... Arguments>
    requires(sizeof...(Arguments) > 1 &&
             std::same_as<std::tuple_element_t<sizeof...(Arguments) - 1, std::tuple<Arguments...>>, std::error_code> &&
             detail::is_basic_lease<std::tuple_element_t<0, std::tuple<Arguments...>>>)
[[nodiscard]] auto try_acquire_all(Arguments&... leases_and_ec) noexcept
{
    const auto all = std::tie(leases_and_ec...);
    return [&all]<std::size_t... I>(std::index_sequence<I...>) {
        std::error_code& ec = std::get<sizeof...(Arguments) - 1>(all);
        detail::set_guard_of<std::tuple_element_t<I, std::tuple<Arguments...>>...> guard;
        ec.clear();
        detail::catch_into(ec, [&] {
            auto set = detail::set_of(std::get<I>(all)...);
            guard = detail::acquire_set(set, ec);
        });
        return guard;
    }(std::make_index_sequence<sizeof...(Arguments) - 1>{});
}

/// Acquires those of the leases that are free: one attempt at each, in few calls if the store is a batch_acquiring_store.
///
/// Returns the guards of those that were granted, in the order of the range; each is a right of its own. Throws like
/// try_acquire_all(), and holds nothing then; an empty range gives an empty vector.
template <detail::range_of_leases Range>
[[nodiscard]] auto try_acquire_each(Range&& leases)
{
    auto set = detail::set_of_range(leases);
    std::error_code ec;
    auto guards = detail::acquire_each(set, ec);
    if (ec) set.raise(ec, "try_acquire_each");
    return guards;
}

/// The same, reported in `ec`: does not throw.
template <detail::range_of_leases Range>
[[nodiscard]] auto try_acquire_each(Range&& leases, std::error_code& ec) noexcept
{
    std::vector<lease_guard<std::ranges::range_value_t<Range>>> guards;
    ec.clear();
    detail::catch_into(ec, [&] {
        auto set = detail::set_of_range(leases);
        guards = detail::acquire_each(set, ec);
    });
    return guards;
}

}  // namespace leasehold::inline v0

#endif
