// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_CHANGE_HPP
#define LEASEHOLD_LEASE_CHANGE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/lease_record.hpp>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>

namespace leasehold::inline v0 {

/// What has happened to a name between two looks of an observer.
enum class lease_change_kind : std::uint8_t {
    acquired,      ///< somebody holds it, and nobody did before
    released,      ///< its holder has released it, or an operator has ended the term
    expired,       ///< its time has run out, as far as the observer can tell
    taken_over,    ///< another term has followed the one before, and the observer has not seen the name free: mostly another holder's
    data_changed,  ///< its holder publishes something else
    hold_begun,    ///< it is held closed; see name_holding
    hold_ended     ///< it is no longer held closed
};

/// The enumerator's name; "invalid" for any other value.
[[nodiscard]] constexpr std::string_view to_string(lease_change_kind kind) noexcept
{
    switch (kind) {
    case lease_change_kind::acquired: return "acquired";
    case lease_change_kind::released: return "released";
    case lease_change_kind::expired: return "expired";
    case lease_change_kind::taken_over: return "taken_over";
    case lease_change_kind::data_changed: return "data_changed";
    case lease_change_kind::hold_begun: return "hold_begun";
    case lease_change_kind::hold_ended: return "hold_ended";
    }
    return "invalid";
}

/// Writes to_string(kind).
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, lease_change_kind kind)
{
    return out << to_string(kind);
}

/// One change of a name, as an observer sees it.
struct lease_change {
    lease_change_kind kind{};             ///< what has happened
    lease_record record;                  ///< the term that it has happened to: as it is now, or as it was seen last if it is over
    std::optional<lease_record> before{}; ///< what the look before found; empty: the name was free
    std::optional<lease_record> after{};  ///< what this look found; empty: the name is free

    friend bool operator==(const lease_change&, const lease_change&) = default;
};

}  // namespace leasehold::inline v0

#endif
