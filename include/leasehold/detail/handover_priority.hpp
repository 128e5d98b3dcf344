// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_HANDOVER_PRIORITY_HPP
#define LEASEHOLD_DETAIL_HANDOVER_PRIORITY_HPP

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

// How a candidate's priority travels in a request to hand over: as its reason, "priority 7". The holder compares it with its own. A member
// of a shard_group says "as shard 3 of its id"; see group_texts.hpp.
namespace leasehold::inline v0::detail {

inline constexpr std::string_view priority_prefix = "priority ";
inline constexpr std::string_view shard_prefix = "as shard ";

inline std::string reason_of_priority(int priority) { return std::string{priority_prefix} + std::to_string(priority); }

// The priority in a reason, if it consists of one.
inline std::optional<int> priority_in(std::string_view reason) noexcept
{
    if (!reason.starts_with(priority_prefix)) return std::nullopt;
    reason.remove_prefix(priority_prefix.size());
    int priority = 0;
    const auto [end, failed] = std::from_chars(reason.data(), reason.data() + reason.size(), priority);
    return failed == std::errc{} && end == reason.data() + reason.size() ? std::optional{priority} : std::nullopt;
}

// Whether it is the request of a candidate or of a member of a shard_group, who ask again by themselves.
inline bool is_repeated(std::string_view reason) noexcept
{
    if (!reason.starts_with(shard_prefix)) return priority_in(reason).has_value();
    reason.remove_prefix(shard_prefix.size());
    const std::size_t digits = std::min(reason.find_first_not_of("0123456789"), reason.size());
    return digits > 0 && reason.substr(digits).starts_with(" of ");
}

// Returns whether a holder of priority `own` declines the request. Empty: it declines none.
inline bool is_declined(std::string_view reason, std::optional<int> own) noexcept
{
    const std::optional<int> requested = priority_in(reason);
    return own && requested && *requested <= *own;
}

}  // namespace leasehold::inline v0::detail

#endif
