// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_TERM_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_TERM_HPP

#include "records.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace campaign {

// Beyond what is promised, for a machine that has other things to do.
inline constexpr instant patience = 2 * second;
// The median: a look of a waiter that nobody wakes, and as much for the machine.
inline constexpr instant longest_hand_over = 500 * millisecond;
inline constexpr std::size_t enough_hand_overs = 10;

/// One tenure, as its holder's records tell it: seen from `first` to `last`; what it could have believed ends at end().
struct term {
    std::string process;
    std::int64_t token = 0;
    instant first = 0;
    instant last = 0;
    instant promised = 0;
    std::int64_t places = 1;  // of those that may hold at once
    std::optional<instant> ended{};  // seen to be over, or about to be released

    // Also of one that was killed: had it lived, it would have believed.
    [[nodiscard]] instant end() const { return std::max(last, ended ? std::min(*ended, promised) : promised); }
};

inline std::string at_second(instant at, instant began)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.6f s", static_cast<double>(at - began) / static_cast<double>(second));
    return text;
}

/// As an objection names it.
inline std::string text_of(const term& t, instant began)
{
    return t.process + " (token " + std::to_string(t.token) + ", " + at_second(t.first, began) + " to " + at_second(t.end(), began) + ")";
}

}  // namespace campaign

#endif
