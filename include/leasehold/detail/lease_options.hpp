// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_LEASE_OPTIONS_HPP
#define LEASEHOLD_DETAIL_LEASE_OPTIONS_HPP

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/waiting/deadline.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>

// The constructor arguments of a lease after its name, in any order: the concepts tell them apart.
namespace leasehold::inline v0::detail {

template <class T>
inline constexpr bool is_chrono_duration = false;
template <class Rep, class Period>
inline constexpr bool is_chrono_duration<std::chrono::duration<Rep, Period>> = true;

// A bare duration is a ttl.
template <class T>
concept bare_ttl = is_chrono_duration<T> && std::convertible_to<T, duration>;

template <class T>
concept durations_of_lease = std::same_as<T, lease_terms> || bare_ttl<T>;

// How many roles in a lease `T` could have. More than one is ambiguous.
template <class T>
inline constexpr int roles_of = int{durations_of_lease<T>} + int{lease_clock<T>} + int{owner_id<T>} + int{renew_policy<T>};

// A type that can be an argument of a lease's constructor.
template <class T>
concept lease_option = roles_of<std::remove_cvref_t<T>> == 1;

// An argument that is no option, nor of the type that this right takes besides: says in one line what it should be.
template <class T, class Own>
constexpr void check_option() noexcept
{
    using type = std::remove_cvref_t<T>;
    constexpr bool option = lease_option<T> || std::same_as<type, Own>, number = std::is_arithmetic_v<type>;
    constexpr bool clock = !option && requires { &type::now; };
    constexpr bool owner = !option && requires { &type::id; };
    constexpr bool policy = !option && requires { &type::next; };
    static_assert(!number, "a number is no time: write 30s, not 30");
    static_assert(!clock, "this is no clock, which can be copied and has time_point now() const");
    static_assert(!owner, "this is no owner id, which can be copied and has std::string id() const");
    static_assert(!policy, "this is no renew policy, which can be copied and has optional<duration> next(renewal_state) const");
    static_assert(option || number || clock || owner || policy,
                  "what follows is, in any order: lease_terms or a ttl, a clock (now), an owner id (id), a renew policy (next)");
}

struct role_of_clock {
    template <class T>
    static constexpr bool has = lease_clock<T>;
};
struct role_of_owner_id {
    template <class T>
    static constexpr bool has = owner_id<T>;
};
struct role_of_renew_policy {
    template <class T>
    static constexpr bool has = renew_policy<T>;
};
struct role_of_durations {
    template <class T>
    static constexpr bool has = durations_of_lease<T>;
};

template <class Role, class... Options>
inline constexpr std::size_t count_of = (std::size_t{0} + ... + std::size_t{Role::template has<std::remove_cvref_t<Options>>});

template <class Role, class Default, class... Options>
struct option_type {
    using type = Default;
};
template <class Role, class Default, class First, class... Rest>
struct option_type<Role, Default, First, Rest...>
    : std::conditional<Role::template has<First>, First, typename option_type<Role, Default, Rest...>::type> {};

// The option type that has this role, or the default.
template <class Role, class Default, class... Options>
using option_t = typename option_type<Role, Default, std::remove_cvref_t<Options>...>::type;

// The policies of a right that is given these options, or the defaults.
template <class... Options>
using clock_in = option_t<role_of_clock, steady_clock, Options...>;
template <class... Options>
using owner_id_in = option_t<role_of_owner_id, random_owner_id, Options...>;
template <class... Options>
using renew_policy_in = option_t<role_of_renew_policy, renew_at_fraction, Options...>;

template <class... Options>
inline constexpr bool each_once = count_of<role_of_durations, Options...> <= 1 && count_of<role_of_clock, Options...> <= 1 &&
                                  count_of<role_of_owner_id, Options...> <= 1 && count_of<role_of_renew_policy, Options...> <= 1;

// `Own`: the type that the right takes beside the options of a lease; void if there is none.
template <class Own, class... Options>
constexpr void check_options() noexcept
{
    (check_option<Options, Own>(), ...);
    static_assert(each_once<Options...>, "two lease_terms or ttls, clocks, owner ids or renew policies are given: which one counts?");
}

// The option that has this role, or a default-constructed one.
template <class Role, class Wanted, class... Options>
Wanted pick(const Options&... options)
{
    if constexpr (count_of<Role, Options...> == 0) {
        static_assert(std::default_initializable<Wanted>, "give the lease an object of each policy that can't be default-constructed");
        return Wanted{};
    }
    else {
        const auto all = std::forward_as_tuple(options...);
        constexpr std::size_t at = [] {
            std::size_t i = 0;
            static_cast<void>(((Role::template has<std::remove_cvref_t<Options>> || (++i, false)) || ...));
            return i;
        }();
        static_assert(std::convertible_to<std::tuple_element_t<at, decltype(all)>, Wanted>,
                      "a policy is given that is not of the type that this lease is declared with");
        if constexpr (std::convertible_to<std::tuple_element_t<at, decltype(all)>, Wanted>) return std::get<at>(all);
    }
}

// The last option of this very type, or a default-constructed one.
template <class Wanted, class... Options>
Wanted pick_last(const Options&... options)
{
    Wanted picked;
    [[maybe_unused]] const auto take = [&picked](const auto& option) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(option)>, Wanted>) picked = option;
    };
    (take(options), ...);
    return picked;
}

template <class... Options>
lease_terms pick_terms(const Options&... options)
{
    lease_terms terms;
    [[maybe_unused]] const auto take = [&terms](const auto& option) {
        using option_type = std::remove_cvref_t<decltype(option)>;
        if constexpr (std::same_as<option_type, lease_terms>)
            terms = option;
        else if constexpr (bare_ttl<option_type>)
            terms = lease_terms{.ttl = waiting::saturated(option)};
    };
    (take(options), ...);
    return terms;
}

}  // namespace leasehold::inline v0::detail

#endif
