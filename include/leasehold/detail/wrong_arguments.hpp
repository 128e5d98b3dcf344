// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_WRONG_ARGUMENTS_HPP
#define LEASEHOLD_DETAIL_WRONG_ARGUMENTS_HPP

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/store/concept.hpp>

#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>

// Without this, arguments that no constructor takes cost a page of candidates. Each right has a deduction guide and a constructor for
// them, which say in one line what is wrong.
namespace leasehold::inline v0::detail {

template <class T>
concept store_with_a_name = std::is_lvalue_reference_v<T> && lease_store<std::remove_reference_t<T>>;

template <class Store, class Name>
concept store_and_name = store_with_a_name<Store> && std::convertible_to<Name, std::string_view>;

// The store of a right that can't be made. It has the operations so that the right is a type.
struct no_store {
    acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl, std::error_code& ec);
    bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, std::error_code& ec);
    bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left, std::error_code& ec);
    std::optional<lease_record> inspect(std::string_view name, std::error_code& ec);
};

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
    static_assert(!store_and_name<Store, Name>, "after the name comes the number of permits");
}

}  // namespace leasehold::inline v0::detail

#endif
