// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RELEASE_OUTCOME_HPP
#define LEASEHOLD_RELEASE_OUTCOME_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <cstdint>
#include <iosfwd>
#include <string_view>

namespace leasehold::inline v0 {

/// How a release ended its term.
enum class release_outcome : std::uint8_t {
    released,  ///< the term lasted until this release: nobody else can have held the lease meanwhile
    lost,      ///< the term was over before; somebody else may have held the lease since
    unknown    ///< the store could not be asked; it frees the lease at the latest when the term's time runs out
};

/// The enumerator's name, as in "released"; "invalid" for any other value.
[[nodiscard]] constexpr std::string_view to_string(release_outcome outcome) noexcept
{
    switch (outcome) {
    case release_outcome::released: return "released";
    case release_outcome::lost: return "lost";
    case release_outcome::unknown: return "unknown";
    }
    return "invalid";
}

/// Writes to_string(outcome).
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, release_outcome outcome)
{
    return out << to_string(outcome);
}

}  // namespace leasehold::inline v0

#endif
