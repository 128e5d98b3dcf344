// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_LISTING_STORE_HPP
#define LEASEHOLD_STORE_LISTING_STORE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/lease_record.hpp>
#include <leasehold/store/concept.hpp>

#include <concepts>
#include <string_view>
#include <system_error>
#include <vector>

namespace leasehold::inline v0 {

/// A store that tells of many names at once.
///
/// `prefix` is a std::string_view, which may be empty.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.list(prefix, ec) | std::vector<lease_record> | the records of all names that begin with `prefix` and are not free, as inspect() would return them |
///
/// Everything else is as for lease_store.
template <class S>
concept listing_store = lease_store<S> && requires(S& s, std::string_view prefix, std::error_code& ec) {
    { s.list(prefix, ec) } -> std::same_as<std::vector<lease_record>>;
};

}  // namespace leasehold::inline v0

#endif
