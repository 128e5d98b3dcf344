// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_HISTORY_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_HISTORY_HPP

#include "records.hpp"

#include <history/call.hpp>

#include <cstddef>
#include <vector>

namespace campaign {

/// The calls for the contenders' lease, as a history to be decided on.
struct recorded_history {
    std::vector<history::call> calls{};
    std::size_t answered = 0;
    std::size_t without_answer = 0;  ///< an error, or the process was killed: carried out or not
    /// Answered in a fault: the store may have sent it more than once, so there is one of unknown outcome besides.
    std::size_t repeated = 0;
    std::size_t not_judged = 0;  ///< busy without a token; on a cluster each busy and no, for which a node may look at its past
    /// The crowd's grants. Its renewals are written down by batches, so of its terms only the tokens can be judged.
    std::vector<history::call> grants_to_the_crowd{};
    instant clock_error = 0;  ///< of the store's clock, as it was measured
};

[[nodiscard]] recorded_history history_in(const std::vector<record>& records);

/// So far off that every term may be over, and none need be.
inline constexpr instant no_clock = history::never / 4;

/// Detail of the circumstance that is the clock's error in nanoseconds, as it was measured.
inline constexpr const char* clock_error_detail = "clock_error_ns";

}  // namespace campaign

#endif
