// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_WRONG_ARGUMENTS_HPP
#define LEASEHOLD_DETAIL_WRONG_ARGUMENTS_HPP

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/store/concept.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <vector>

// Without this, arguments that no constructor takes cost a page of candidates. Each right has a deduction guide and a constructor for
// them, which say in one line what is wrong.
namespace leasehold::inline v0::detail {

template <class T>
concept store_with_a_name = std::is_lvalue_reference_v<T> && lease_store<std::remove_reference_t<T>>;

template <class Store, class Name>
concept store_and_name = store_with_a_name<Store> && std::convertible_to<Name, std::string_view>;

// The store of a right that can't be made. It has the operations, optional ones too, so that the right is a type whose members can be
// named.
struct no_store {
    acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl, std::error_code& ec);
    bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, std::error_code& ec);
    bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left, std::error_code& ec);
    std::optional<lease_record> inspect(std::string_view name, std::error_code& ec);
    std::vector<lease_record> list(std::string_view prefix, std::error_code& ec);
    bool publish(std::string_view name, std::string_view owner, fencing_token token, std::string_view data, std::error_code& ec);
    bool request_handover(std::string_view name, std::string_view reason, std::error_code& ec);
    std::optional<std::string> handover_requested(std::string_view name, std::string_view owner, fencing_token token, std::error_code& ec);
    bool save_checkpoint(std::string_view name, std::string_view owner, fencing_token token, std::string_view text, std::error_code& ec);
    std::optional<checkpoint_record> checkpoint(std::string_view name, std::error_code& ec);
    store_time now(std::error_code& ec);
};

// The same for what contains leases, which are then of a store like any other.
struct no_store_of_leases : no_store {};

// Never called: what names it does not compile.
no_store_of_leases& nowhere() noexcept;

template <class T, class... Rest>
struct first_of {
    using type = T;
};

// What comes after the store and the name; void: nothing.
template <class... Rest>
using third_t = typename first_of<Rest..., void>::type;

template <class T>
concept number_of_things = std::integral<std::remove_cvref_t<T>>;

template <class Store, class Name, class... Rest>
constexpr void explain_wrong_arguments() noexcept
{
    using store = std::remove_reference_t<Store>;
    constexpr bool address = lease_store<std::remove_pointer_t<std::remove_cv_t<store>>> && std::is_pointer_v<std::remove_cv_t<store>>;
    constexpr bool temporary = lease_store<store> && !std::is_lvalue_reference_v<Store>;
    constexpr bool swapped = !lease_store<store> && !address && (store_with_a_name<Name> || ... || store_with_a_name<Rest>);
    constexpr bool acquires = store_can_try_acquire<store>, renews = store_can_renew<store>, releases = store_can_release<store>,
                   inspects = store_can_inspect<store>;
    constexpr bool none = !acquires && !renews && !releases && !inspects, told = address || temporary || swapped || none;
    constexpr bool first_two = acquires && renews;
    static_assert(!address, "give the store itself, not its address");
    static_assert(!temporary, "a temporary store would be gone before its leases: give it a name");
    static_assert(!swapped, "the store comes first, then the name");
    static_assert(address || temporary || swapped || !none, "the first argument is a lease_store, which is not const");
    static_assert(told || acquires, "the store lacks acquire_result try_acquire(name, owner, ttl, ec)");
    static_assert(told || !acquires || renews, "the store lacks bool renew(name, owner, token, ttl, ec)");
    static_assert(told || !first_two || releases, "the store lacks bool release(name, owner, token, min_hold_left, ec)");
    static_assert(told || !first_two || !releases || inspects, "the store lacks optional<lease_record> inspect(name, ec)");
    static_assert(!lease_store<store> || told || std::convertible_to<Name, std::string_view>, "after the store comes the name, a text");
}

}  // namespace leasehold::inline v0::detail

#endif
