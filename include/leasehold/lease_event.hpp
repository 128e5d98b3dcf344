// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_EVENT_HPP
#define LEASEHOLD_LEASE_EVENT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>

#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <system_error>

namespace leasehold::inline v0 {

/// What becomes of a term, as its lease sees it.
enum class lease_event_kind : std::uint8_t {
    acquired,  ///< a term begins
    released,  ///< its holder has ended it
    lost       ///< it is over although its holder did not release it
};

/// The enumerator's name; "invalid" for any other value.
[[nodiscard]] constexpr std::string_view to_string(lease_event_kind kind) noexcept
{
    switch (kind) {
    case lease_event_kind::acquired: return "acquired";
    case lease_event_kind::released: return "released";
    case lease_event_kind::lost: return "lost";
    }
    return "invalid";
}

/// Writes to_string(kind).
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, lease_event_kind kind)
{
    return out << to_string(kind);
}

/// The beginning or the end of a term. Each term that begins has exactly one end, which is told when
/// the call about the beginning has returned. The texts live as long as the call.
///
/// A store sees attempts, renewals and releases, not this: how long a caller waited, and that a term ran out while nobody
/// asked the store. Times are measured on the lease's own clock.
struct lease_event {
    lease_event_kind kind{};       ///< what happened
    std::string_view name{};       ///< the name of the lease
    std::string_view owner{};      ///< who held it
    fencing_token token{};         ///< of the term
    duration waited{};             ///< acquired: since the caller asked for the lease, its waiting included
    duration held{};               ///< released and lost: since the attempt that began the term was sent
    duration late{};               ///< lost: how long after the deadline the loss was signalled; 0 if it was signalled before
    /// released: why the store could not be asked, so that the term runs out there. lost: the error of the last renewal, for
    /// an outage; none if the store said that the term is over, or if it was not renewed.
    std::error_code error{};
};

}  // namespace leasehold::inline v0

#endif
