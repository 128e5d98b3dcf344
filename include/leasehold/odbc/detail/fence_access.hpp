// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FENCE_ACCESS_HPP
#define LEASEHOLD_ODBC_DETAIL_FENCE_ACCESS_HPP

#include <leasehold/odbc/detail/store_impl.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <type_traits>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

template <class Store>
inline constexpr bool is_odbc_store = false;
template <class... Policies>
inline constexpr bool is_odbc_store<basic_odbc_store<Policies...>> = true;

// The store itself, or what a decorator decorates.
template <class Store>
auto& innermost(Store& store) noexcept
{
    if constexpr (requires { store.underlying(); })
        return innermost(store.underlying());
    else
        return store;
}

template <class Guard>
using innermost_store_of =
    std::remove_reference_t<decltype(innermost(std::declval<typename Guard::lease_type::store_type&>()))>;

// What a fence must know of a store: the SQL of its table.
struct fence_access {
    template <class Store>
    static store_impl& impl_of(Store& store) noexcept
    {
        return *store.impl_;
    }
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
