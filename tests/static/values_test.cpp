// SPDX-License-Identifier: BSL-1.0
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>

#include <chrono>
#include <compare>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

using token = lh::fencing_token;
static_assert(std::regular<token> && std::three_way_comparable<token, std::strong_ordering>);
static_assert(std::is_trivially_copyable_v<token> && sizeof(token) == sizeof(std::int64_t));
static_assert(std::is_same_v<decltype(token{}.value()), std::int64_t>);
static_assert(token{1} < token{2} && token{2} == token{2} && token{} == token{0});
// A number is not a token, and a token not a number, unless somebody says so.
static_assert(!std::is_convertible_v<std::int64_t, token> && !std::is_convertible_v<token, std::int64_t>);
static_assert(std::is_nothrow_constructible_v<token, std::int64_t>);

static_assert(lh::lease_terms{}.ttl == 30s && lh::lease_terms{}.margin() == 3s && lh::lease_terms{}.min_hold == 0s);
static_assert(lh::lease_terms{.ttl = 1s}.margin() == 100ms);
static_assert(lh::lease_terms{.ttl = 1s, .safety_margin = 0s}.valid());
static_assert(lh::lease_terms{}.valid() && lh::lease_terms{.ttl = lh::min_ttl}.valid() && lh::lease_terms{.ttl = lh::max_ttl}.valid());
static_assert(!lh::lease_terms{.ttl = 0s}.valid() && !lh::lease_terms{.ttl = lh::max_ttl + 1ns}.valid());
static_assert(!lh::lease_terms{.ttl = 1s, .safety_margin = 1s}.valid());
static_assert(lh::lease_terms{.ttl = 1s, .min_hold = 1h}.valid());
constexpr lh::lease_terms five_seconds{.ttl = 5s};
static_assert(lh::checked_terms(five_seconds) == five_seconds);
static_assert(lh::checked_terms({.ttl = 5s}) == five_seconds);
static_assert(std::is_aggregate_v<lh::lease_terms> && std::is_nothrow_copy_constructible_v<lh::lease_terms>);
static_assert(std::is_same_v<lh::duration, std::chrono::nanoseconds>);

static_assert(lh::max_name_bytes == 190 && lh::max_owner_bytes == 190);
static_assert(lh::detail::broken_text_rule("nightly", 190) == nullptr);
static_assert(lh::detail::broken_text_rule("", 190) != nullptr);
static_assert(lh::detail::utf8_sequence_length("\xE2\x82\xAC") == 3);

}  // namespace
