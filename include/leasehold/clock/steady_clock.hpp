// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_CLOCK_STEADY_CLOCK_HPP
#define LEASEHOLD_CLOCK_STEADY_CLOCK_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/waker.hpp>

#include <algorithm>
#include <chrono>

#if defined(__linux__)
#include <ctime>
#endif

namespace leasehold::inline v0 {

/// The system's monotonic clock, the one that goes on while the host is suspended. The default.
///
/// On Linux that is CLOCK_BOOTTIME: std::chrono::steady_clock stands still in a suspend while the store's clock goes on,
/// so a holder that wakes up would go on believing. Elsewhere it is std::chrono::steady_clock.
class steady_clock {
public:
    /// See lease_clock.
    [[nodiscard]] time_point now() const noexcept
    {
#if defined(__linux__)
        std::timespec t{};
        ::clock_gettime(CLOCK_BOOTTIME, &t);
        return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
#else
        return time_point{std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch())};
#endif
    }

    /// See waitable_clock.
    bool wait_until(waker& w, time_point t) const
    {
        if (t == time_point::max()) {
            w.wait();
            return true;
        }
        // Sleeps stand still in a suspend even where now() does not, so that a long one is cut: the sleeper is late by
        // one slice at most after the host has woken.
        const time_point from = now();
        return w.wait_for(t > from ? std::min<duration>(t - from, longest_sleep) : duration::zero());
    }

    friend bool operator==(const steady_clock&, const steady_clock&) noexcept { return true; }

    /// Longest sleep in one piece.
    static constexpr duration longest_sleep = std::chrono::milliseconds{500};
};

}  // namespace leasehold::inline v0

#endif
