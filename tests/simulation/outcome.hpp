// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_OUTCOME_HPP
#define LEASEHOLD_TESTS_SIMULATION_OUTCOME_HPP

#include "tally.hpp"

#include <cstdint>
#include <string>

namespace sim {

// What came of one run.
struct outcome {
    const char* broken_rule = nullptr;  // none: all was well
    std::string details;
    std::uint64_t hash = 0;
    std::uint64_t events = 0;
    tally faults;
};

}  // namespace sim

#endif
