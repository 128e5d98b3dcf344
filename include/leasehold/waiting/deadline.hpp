// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_DEADLINE_HPP
#define LEASEHOLD_WAITING_DEADLINE_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/time_point.hpp>

#include <chrono>
#include <concepts>

namespace leasehold::inline v0::waiting {

// Times beyond this are for ever: what is left of the range keeps sums from overflowing.
inline constexpr duration longest_wait = std::chrono::hours{24 * 365 * 100};

/// The instant `at_most` from now, rounded up; time_point::max() for anything that is as good as for ever.
template <lease_clock Clock, class Rep, class Period>
time_point deadline_after(const Clock& clock, std::chrono::duration<Rep, Period> at_most)
{
    // Compared as floating point, in which hours::max() does not overflow; written so that NaN is no wait.
    const std::chrono::duration<double> seconds{at_most};
    if (!(seconds > std::chrono::duration<double>::zero())) return clock.now();
    if (seconds >= longest_wait) return time_point::max();
    return clock.now() + std::chrono::ceil<duration>(at_most);
}

/// The same for an instant on the lease's own clock or on one of std::chrono's.
template <lease_clock Clock, class Other, class Dur>
time_point deadline_at(const Clock& clock, std::chrono::time_point<Other, Dur> until)
{
    if constexpr (std::same_as<Other, time_point::clock>)
        return until;
    else
        return deadline_after(clock, until - Other::now());
}

}  // namespace leasehold::inline v0::waiting

#endif
