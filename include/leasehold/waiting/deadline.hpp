// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_DEADLINE_HPP
#define LEASEHOLD_WAITING_DEADLINE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/time_point.hpp>

#include <chrono>
#include <cmath>
#include <concepts>
#include <type_traits>

namespace leasehold::inline v0::waiting {

/// Longer waits count as endless: the rest of the range keeps sums from overflowing.
inline constexpr duration longest_wait = std::chrono::hours{24 * 365 * 100};

/// In nanoseconds, rounded up. Values beyond 291 years become duration::max() or duration::min(); NaN becomes
/// duration::min().
template <class Rep, class Period>
duration saturated(std::chrono::duration<Rep, Period> d) noexcept
{
    // Compare as floating point, which does not overflow. The limit leaves room for its rounding.
    constexpr std::chrono::duration<double> limit{9.2e9};
    const std::chrono::duration<double> seconds{d};
    if (!(seconds > -limit)) return duration::min();
    if (seconds >= limit) return duration::max();
    if constexpr (std::is_convertible_v<std::chrono::duration<Rep, Period>, duration>)
        return d;
    else
        return duration{static_cast<duration::rep>(std::ceil(std::chrono::duration<double, duration::period>{d}.count()))};
}

/// The instant `at_most` from now, rounded up; now for zero, less, and NaN; time_point::max() for an endless wait.
template <lease_clock Clock, class Rep, class Period>
time_point deadline_after(const Clock& clock, std::chrono::duration<Rep, Period> at_most)
{
    const duration wait = saturated(at_most);
    const time_point now = clock.now();
    if (wait <= duration::zero()) return now;
    if (wait >= longest_wait || now > time_point::max() - wait) return time_point::max();
    return now + wait;
}

/// The same for an instant on the lease's own clock, which is taken as it is, or on any other clock, for which the distance
/// from that clock's now counts. An instant long past becomes now, no matter how far away its clock's epoch is.
template <lease_clock Clock, class Other, class Dur>
time_point deadline_at(const Clock& clock, std::chrono::time_point<Other, Dur> until)
{
    const duration then = saturated(until.time_since_epoch());
    if constexpr (std::same_as<Other, time_point::clock>) {
        return time_point{then};
    } else {
        const duration now = saturated(Other::now().time_since_epoch());
        if (then <= now) return clock.now();
        // `then` is positive here, so only a `now` before the epoch can make the difference too large.
        if (now < duration::zero() && then > duration::max() + now) return time_point::max();
        return deadline_after(clock, then - now);
    }
}

}  // namespace leasehold::inline v0::waiting

#endif
