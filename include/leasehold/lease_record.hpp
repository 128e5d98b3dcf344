// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_RECORD_HPP
#define LEASEHOLD_LEASE_RECORD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/hold_text.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace leasehold::inline v0 {

namespace detail {

// As in "5 permits", "64 readers" and "12 shards", and as in "4 permits, was 8, change 1", of a count that was changed.
inline bool is_count(std::string_view owner) noexcept
{
    const auto take_number = [&owner] {
        const std::size_t digits = std::min(owner.find_first_not_of("0123456789"), owner.size());
        owner.remove_prefix(digits);
        return digits > 0;
    };
    const auto take = [&owner](std::string_view words) {
        const bool there = owner.starts_with(words);
        if (there) owner.remove_prefix(words.size());
        return there;
    };
    if (!take_number()) return false;
    if (owner == " readers" || owner == " shards") return true;
    if (!take(" permits")) return false;
    if (take(", was ") && !take_number()) return false;
    if (take(", change ") && !take_number()) return false;
    return owner.empty();
}

}  // namespace detail

/// What the store knows about a name that is not free.
///
/// An empty `owner` means that the holder has released it and `lease_terms::min_hold` still keeps it closed. "5 permits", "64 readers" and
/// "12 shards" are no holders: see is_count(). Nor is "0 permits", which keeps a permit closed that is no more since a resize(). Neither is
/// a hold: see is_hold().
struct lease_record {
    std::string name;      ///< the name of the lease
    std::string owner;     ///< who holds it; may be empty, see above
    fencing_token token;   ///< the token of the term
    duration remaining{};  ///< time until the store lets somebody else in, by the store's clock; > 0
    std::string data{};    ///< what the holder has published in this term; empty if it has published nothing
    /// The reason of the request that the holder hand over, if there is one; it may be empty.
    std::optional<std::string> handover_request{};

    /// Whether this is no lease, but the record of a lease_semaphore's, shared_lease's or shard_group's count, on which all agree.
    [[nodiscard]] bool is_count() const noexcept { return detail::is_count(owner); }

    /// Whether this is no lease: the name is held closed by a store's hold(), so that nobody is granted it until `remaining` is over.
    [[nodiscard]] bool is_hold() const noexcept { return detail::is_hold(owner); }

    /// Why the name is held closed; empty, too, if it is not. May throw std::bad_alloc.
    [[nodiscard]] std::string hold_reason() const { return std::string{detail::hold_reason(owner)}; }

    friend bool operator==(const lease_record&, const lease_record&) = default;
};

namespace detail {

// For messages, as in "held closed (migration)".
inline std::string words_of_hold(const lease_record& hold)
{
    const std::string_view reason = hold_reason(hold.owner);
    return reason.empty() ? "held closed" : "held closed (" + printable(reason) + ")";
}

}  // namespace detail

}  // namespace leasehold::inline v0

#endif
