// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_HOLD_TEXT_HPP
#define LEASEHOLD_DETAIL_HOLD_TEXT_HPP

#include <cstddef>
#include <string>
#include <string_view>

// How a hold is recognised: by the owner of its term, as in "held closed 5f3a9c2b41d07e88: migration". The digits are random, so that two
// holds of one reason exclude each other. No lease takes an owner that begins so.
namespace leasehold::inline v0::detail {

inline constexpr std::string_view hold_prefix = "held closed ";
inline constexpr std::string_view before_hold_reason = ": ";
inline constexpr std::size_t hold_digits = 16;

// Without a function that may throw: a microcontroller has none.
constexpr bool is_hold(std::string_view owner) noexcept
{
    return owner.size() >= hold_prefix.size() && std::string_view{owner.data(), hold_prefix.size()} == hold_prefix;
}

// Empty, too, for an owner that is no hold.
constexpr std::string_view hold_reason(std::string_view owner) noexcept
{
    const std::size_t at = owner.find(before_hold_reason);
    return is_hold(owner) && at != std::string_view::npos ? owner.substr(at + before_hold_reason.size()) : std::string_view{};
}

// A database may compare texts without the blanks at their end, so an empty reason leaves none.
inline std::string owner_of_hold(std::string_view digits, std::string_view reason)
{
    std::string owner{hold_prefix};
    owner.append(digits.substr(0, hold_digits));
    if (!reason.empty()) owner.append(before_hold_reason).append(reason);
    return owner;
}

// What the holder is asked with. It never looks like a candidate's request, which is "priority 7".
inline std::string request_of_hold(std::string_view reason)
{
    std::string request{"hold"};
    if (!reason.empty()) request.append(before_hold_reason).append(reason);
    return request;
}

}  // namespace leasehold::inline v0::detail

#endif
