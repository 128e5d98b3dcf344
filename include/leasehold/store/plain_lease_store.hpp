// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_PLAIN_LEASE_STORE_HPP
#define LEASEHOLD_STORE_PLAIN_LEASE_STORE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/plain_error.hpp>
#include <leasehold/store/concept.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>

namespace leasehold::inline v0 {

/// A store for leases without a heap: three of the operations of lease_store, with the same rules, but with a plain_error.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.try_acquire(name, owner, ttl, ec), s.renew(name, owner, token, ttl, ec), s.release(name, owner, token, min_hold_left, ec) | as in lease_store | as in lease_store, with `ec` a plain_error&; must not throw |
/// | S::max_name_bytes, S::max_owner_bytes | std::size_t | the longest texts that it accepts |
template <class S>
concept plain_lease_store = requires(S& s, std::string_view text, fencing_token token, duration time, plain_error& ec) {
    { s.try_acquire(text, text, time, ec) } noexcept -> std::same_as<acquire_result>;
    { s.renew(text, text, token, time, ec) } noexcept -> std::same_as<bool>;
    { s.release(text, text, token, time, ec) } noexcept -> std::same_as<bool>;
    { S::max_name_bytes } -> std::convertible_to<std::size_t>;
    { S::max_owner_bytes } -> std::convertible_to<std::size_t>;
};

}  // namespace leasehold::inline v0

#endif
