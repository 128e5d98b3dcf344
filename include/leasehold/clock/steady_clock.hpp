// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_CLOCK_STEADY_CLOCK_HPP
#define LEASEHOLD_CLOCK_STEADY_CLOCK_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/waker.hpp>

#include <algorithm>
#include <chrono>

#if defined(__linux__)
#include <ctime>
#endif

namespace leasehold::inline v0 {

/// The system's monotonic clock that keeps counting while the host is suspended. The default.
///
/// On Linux that is CLOCK_BOOTTIME. std::chrono::steady_clock would stop during a suspend while the store's clock keeps
/// counting, so a holder that wakes up would believe for too long. Elsewhere, and on a Linux that refuses CLOCK_BOOTTIME at
/// the first reading, it is std::chrono::steady_clock.
class steady_clock {
public:
    /// See lease_clock.
    [[nodiscard]] time_point now() const noexcept
    {
#if defined(__linux__)
        // Decide once: the two clocks may be hours apart, and a change between them would end terms or revive them.
        static const bool counts_suspends = read_boot_time().tv_sec >= 0;
        if (counts_suspends)
            if (const std::timespec t = read_boot_time(); t.tv_sec >= 0)
                return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
        // If the clock fails later, the time must still advance, or no term would ever end.
#endif
        return time_point{std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch())};
    }

    /// See waitable_clock.
    bool wait_until(waker& w, time_point t) const
    {
        if (t == time_point::max()) {
            w.wait();
            return true;
        }
        // A sleep stops during a suspend even if now() does not. So a long sleep is cut into slices: after the host has
        // woken, the sleeper is late by one slice at most.
        const time_point from = now();
        return w.wait_for(t > from ? std::min<duration>(t - from, longest_sleep) : duration::zero());
    }

    friend bool operator==(const steady_clock&, const steady_clock&) noexcept { return true; }

    /// The longest sleep in one piece.
    static constexpr duration longest_sleep = std::chrono::milliseconds{500};

#if defined(__linux__)
private:
    // Returns negative seconds if the kernel, a sandbox or an emulator refuses.
    static std::timespec read_boot_time() noexcept
    {
        std::timespec t{};
        if (::clock_gettime(CLOCK_BOOTTIME, &t) != 0) t.tv_sec = -1;
        return t;
    }
#endif
};

}  // namespace leasehold::inline v0

#endif
