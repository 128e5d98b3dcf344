// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_MEMBER_CHANGE_HPP
#define LEASEHOLD_MEMBER_CHANGE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/member_record.hpp>

#include <cstdint>
#include <iosfwd>
#include <string_view>

namespace leasehold::inline v0 {

/// What has happened to a member.
enum class member_change_kind : std::uint8_t {
    joined,       ///< it is there, and was not before, or has left and come back
    left,         ///< it has left, or its ttl is over
    data_changed  ///< it publishes something else
};

/// The enumerator's name; "invalid" for any other value.
[[nodiscard]] constexpr std::string_view to_string(member_change_kind kind) noexcept
{
    switch (kind) {
    case member_change_kind::joined: return "joined";
    case member_change_kind::left: return "left";
    case member_change_kind::data_changed: return "data_changed";
    }
    return "invalid";
}

/// Writes to_string(kind).
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, member_change_kind kind)
{
    return out << to_string(kind);
}

/// One change of a group, as an observer sees it.
struct member_change {
    member_change_kind kind{};  ///< what has happened
    member_record member;       ///< the member, as it is now; one that has left, as it was seen last
};


}  // namespace leasehold::inline v0

#endif
