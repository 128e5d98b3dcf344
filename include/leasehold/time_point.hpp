// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TIME_POINT_HPP
#define LEASEHOLD_TIME_POINT_HPP

#include <leasehold/duration.hpp>

#include <chrono>

namespace leasehold::inline v0 {

class steady_clock;

/// An instant on a holder's monotonic clock, whichever model of lease_clock that is.
///
/// Its own type, so that it can't be mixed up with std::chrono::steady_clock's, which stands still while a host sleeps.
using time_point = std::chrono::time_point<steady_clock, duration>;

}  // namespace leasehold::inline v0

#endif
