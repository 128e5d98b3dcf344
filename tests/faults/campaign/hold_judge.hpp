// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_HOLD_JUDGE_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_HOLD_JUDGE_HPP

#include "check.hpp"
#include "records.hpp"
#include "spans.hpp"
#include "term.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace campaign {

/// A time for which the name was held closed, as its operator's records tell it.
struct closed_time {
    std::string process;
    std::int64_t token = 0;
    instant sent = 0;   ///< the attempt that was granted the hold
    instant from = 0;   ///< hold() returned: it is closed for certain
    instant until = 0;  ///< no longer for certain: its time may be over by the store's clock, or it may have been opened
    instant open = 0;   ///< it is open for certain
};

struct recorded_holds {
    std::vector<closed_time> closed{};
    spans possible{};  ///< all times in which the name may have been held closed
};

/// Of records in the order of `at`.
[[nodiscard]] recorded_holds holds_in(const std::vector<record>& records);

/// Judges them and what their operators were told. `terms`: the contenders', in the order of their beginnings.
void judge_holds(const recorded_holds& holds, const std::vector<record>& records, const std::vector<term>& terms, figures& found);

}  // namespace campaign

#endif
