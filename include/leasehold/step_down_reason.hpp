// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STEP_DOWN_REASON_HPP
#define LEASEHOLD_STEP_DOWN_REASON_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <cstdint>
#include <iosfwd>
#include <string_view>

namespace leasehold::inline v0 {

/// Why a term of leadership ended.
enum class step_down_reason : std::uint8_t {
    returned,     ///< the function that leads returned of its own accord
    lost,         ///< the lease ran out, was taken over or removed
    store_error,  ///< the lease ran out because it could not be renewed: the store failed
    stopped,      ///< run()'s stop token was asked to stop
    resigned,     ///< resign() was called
    threw,        ///< the function that leads threw
    asked         ///< somebody asked for the lease: see leader_election_options::step_down_if_asked
};

/// The enumerator's name, as in "resigned"; "invalid" for any other value.
[[nodiscard]] constexpr std::string_view to_string(step_down_reason reason) noexcept
{
    switch (reason) {
    case step_down_reason::returned: return "returned";
    case step_down_reason::lost: return "lost";
    case step_down_reason::store_error: return "store_error";
    case step_down_reason::stopped: return "stopped";
    case step_down_reason::resigned: return "resigned";
    case step_down_reason::threw: return "threw";
    case step_down_reason::asked: return "asked";
    }
    return "invalid";
}

/// Writes to_string(reason).
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, step_down_reason reason)
{
    return out << to_string(reason);
}

}  // namespace leasehold::inline v0

#endif
