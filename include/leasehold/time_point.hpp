// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TIME_POINT_HPP
#define LEASEHOLD_TIME_POINT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>

#include <chrono>

namespace leasehold::inline v0 {

class steady_clock;

/// An instant on a holder's monotonic clock, for any model of lease_clock.
///
/// It is a type of its own, so that it can't be confused with a std::chrono::steady_clock::time_point. That clock can stop
/// while the host is suspended.
using time_point = std::chrono::time_point<steady_clock, duration>;

}  // namespace leasehold::inline v0

#endif
