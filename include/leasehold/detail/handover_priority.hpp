// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_HANDOVER_PRIORITY_HPP
#define LEASEHOLD_DETAIL_HANDOVER_PRIORITY_HPP

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

// How a candidate's priority travels in a request to hand over: as its reason, "priority 7". The holder compares it with its own.
namespace leasehold::inline v0::detail {

inline constexpr std::string_view priority_prefix = "priority ";

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

// Whether a holder of that priority leaves the request alone. Nothing: it weighs none.
inline bool is_declined(std::string_view reason, std::optional<int> own) noexcept
{
    const std::optional<int> asked = priority_in(reason);
    return own && asked && *asked <= *own;
}

}  // namespace leasehold::inline v0::detail

#endif
