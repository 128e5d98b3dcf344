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
/// so a holder that wakes up would go on believing. Elsewhere, and on a Linux that refuses CLOCK_BOOTTIME when it is read
/// first, it is std::chrono::steady_clock.
class steady_clock {
public:
    /// See lease_clock.
    [[nodiscard]] time_point now() const noexcept
    {
#if defined(__linux__)
        // Decided once: the two clocks may be hours apart, and a change between them would end terms or revive them.
        static const bool counts_suspends = read_boot_time().tv_sec >= 0;
        if (counts_suspends)
            if (const std::timespec t = read_boot_time(); t.tv_sec >= 0)
                return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
        // A clock that fails later must not stand still either: nothing would ever end.
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
        // Sleeps stand still in a suspend even where now() does not, so that a long one is cut: the sleeper is late by
        // one slice at most after the host has woken.
        const time_point from = now();
        return w.wait_for(t > from ? std::min<duration>(t - from, longest_sleep) : duration::zero());
    }

    friend bool operator==(const steady_clock&, const steady_clock&) noexcept { return true; }

    /// Longest sleep in one piece.
    static constexpr duration longest_sleep = std::chrono::milliseconds{500};

#if defined(__linux__)
private:
    // Negative seconds where the kernel, a sandbox or an emulator refuses.
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
