// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_SET_ORDER_HPP
#define LEASEHOLD_DETAIL_SET_ORDER_HPP

#include <leasehold/detail/printable.hpp>
#include <leasehold/error.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::inline v0::detail {

// A lease of a set.
struct set_member {
    const void* store = nullptr;
    std::string_view name;
};

// The order in which a set is acquired: store by store, the store with the smallest name first, and by name within a store.
// Processes that ask for the same names in another order meet at the first name, if the store takes one attempt in a call.
// Throws std::system_error with errc::invalid_name if a store has one name twice.
inline std::vector<std::size_t> order_of(std::span<const set_member> members)
{
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return members[i].name; });

    std::vector<const void*> stores;  // in the order of their smallest names
    for (const std::size_t i : order)
        if (std::ranges::find(stores, members[i].store) == stores.end()) stores.push_back(members[i].store);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::ranges::find(stores, members[i].store); });

    const auto same = [&](std::size_t a, std::size_t b) {
        return members[a].store == members[b].store && members[a].name == members[b].name;
    };
    if (const auto twice = std::ranges::adjacent_find(order, same); twice != order.end())
        raise_invalid(errc::invalid_name, "the name '" + printable(members[*twice].name) +
                                              "' is in the set twice: each name can be there once for each store");
    return order;
}

}  // namespace leasehold::inline v0::detail

#endif
