// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_WAIT_MACHINE_HPP
#define LEASEHOLD_WAITING_WAIT_MACHINE_HPP

#include <leasehold/detail/backoff.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace leasehold::inline v0::waiting {

enum class wait_action : std::uint8_t {
    attempt,  ///< try to acquire now
    sleep,    ///< until `at`, or until woken
    give_up   ///< the time is over, or the wait was cancelled
};

struct wait_step {
    wait_action action = wait_action::sleep;
    time_point at{};
};

/// How long a waiter relies on being woken if the store has not said when the lease ends: a wake may get lost.
inline constexpr std::chrono::seconds longest_trust{5};

/// Decides what a waiter does next: a pure function of past events and the time, without I/O, threads or a clock.
///
/// The waiter sleeps until the end of the lease that the store reported, or until woken. Only if nobody can wake it, it
/// polls, with pauses that double from the shortest to the longest. Each pause is shortened by up to a half at random, so
/// that waiters spread.
class wait_machine {
public:
    /// `seed` makes the pauses random: use a different one for each waiter.
    wait_machine(time_point deadline, poll_pauses pauses, std::uint64_t seed) noexcept
        : deadline_{deadline}, pauses_{pauses.shortest, pauses.longest, seed}
    {
    }

    [[nodiscard]] wait_step next(time_point now, bool cancelled) const noexcept
    {
        if (cancelled) return {wait_action::give_up, now};
        // This comes before the check of the deadline: a time-out of zero means one attempt, not none.
        if (!tried_) return {wait_action::attempt, now};
        if (now >= deadline_) return {wait_action::give_up, now};
        if (now >= attempt_at_) return {wait_action::attempt, now};
        return {wait_action::sleep, std::min(attempt_at_, deadline_)};
    }

    /// The store answered busy at `now`, for `remaining` (0: unknown; max: there is no need to ask before a wake).
    /// `woken_on_release`: somebody will wake this waiter.
    void busy(time_point now, duration remaining, bool woken_on_release) noexcept
    {
        tried_ = true;
        if (remaining <= duration::zero()) remaining = woken_on_release ? duration{longest_trust} : duration::max();
        attempt_at_ = remaining < time_point::max() - now ? now + remaining : time_point::max();
        if (!woken_on_release) attempt_at_ = std::min(attempt_at_, now + pauses_.next());
    }

    /// The lease may have become free. A wrong wake costs one attempt.
    void woken(time_point now) noexcept { attempt_at_ = std::min(attempt_at_, now); }

private:
    time_point deadline_;
    time_point attempt_at_ = time_point::max();
    detail::backoff pauses_;
    bool tried_ = false;
};

}  // namespace leasehold::inline v0::waiting

#endif
