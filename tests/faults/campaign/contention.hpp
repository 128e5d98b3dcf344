// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_CONTENTION_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_CONTENTION_HPP

#include <leasehold/lease_terms.hpp>

#include <chrono>

namespace campaign {

/// Short, so that faults can outlast it many times.
inline constexpr leasehold::lease_terms terms{.ttl = std::chrono::milliseconds{1500}};
static_assert(terms.valid());

inline constexpr leasehold::duration call_timeout = std::chrono::milliseconds{1000};

/// The longest that a waiter sleeps between two attempts beside the time the store told it: a poll's longest pause, and
/// what our contenders and the election add after an error.
inline constexpr leasehold::duration longest_pause = std::chrono::milliseconds{700};

}  // namespace campaign

#endif
