// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_LEASE_JUDGE_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_LEASE_JUDGE_HPP

#include "check.hpp"
#include "records.hpp"

#include <vector>

namespace campaign {

/// Judges the records of one lease and those of all, in the order of `at`; what its history says is left to judge().
[[nodiscard]] figures judge_lease(const std::vector<record>& records);

}  // namespace campaign

#endif
