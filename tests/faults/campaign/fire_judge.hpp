// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_FIRE_JUDGE_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_FIRE_JUDGE_HPP

#include "check.hpp"
#include "records.hpp"

#include <vector>

namespace campaign {

// Details of circumstances: how far the fires are apart, in nanoseconds; how often one is begun; and how many nanoseconds the wall clock of
// this host, which is the database's too, was ahead of the records' clock at most.
inline constexpr const char* between_fires_detail = "nanoseconds_between_fires";
inline constexpr const char* attempts_at_a_fire_detail = "attempts_at_a_fire";
inline constexpr const char* wall_clock_ahead_detail = "wall_clock_ahead_ns";

/// Judges what became of each fire, where there were fires. Of records in the order of `at`.
void judge_fires(const std::vector<record>& records, figures& found);

}  // namespace campaign

#endif
