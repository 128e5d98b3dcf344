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

/// How long a waiter relies on being woken where the store has not said when the lease ends: a wake may get lost.
inline constexpr std::chrono::seconds longest_trust{5};

/// What a waiter does next: a pure function of what happened and what time it is, without I/O, threads or a clock.
///
/// It sleeps until the lease's end as the store told it, or until woken. Only where nobody can wake it, it asks again and
/// again, with pauses that double from the shortest to the longest, each cut by up to a half by chance, so that waiters spread.
class wait_machine {
public:
    /// `seed` makes the chance of the pauses: different for each waiter.
    wait_machine(time_point deadline, poll_pauses pauses, std::uint64_t seed) noexcept
        : deadline_{deadline}, pauses_{pauses.shortest, pauses.longest, seed}
    {
    }

    [[nodiscard]] wait_step next(time_point now, bool cancelled) const noexcept
    {
        if (cancelled) return {wait_action::give_up, now};
        // Before the deadline is looked at: a time-out of zero is one attempt, not none.
        if (!tried_) return {wait_action::attempt, now};
        if (now >= deadline_) return {wait_action::give_up, now};
        if (now >= attempt_at_) return {wait_action::attempt, now};
        return {wait_action::sleep, std::min(attempt_at_, deadline_)};
    }

    /// The store said busy, `now`, for `remaining` (0: it doesn't know; max: nobody needs to ask before a wake).
    /// `woken_on_release`: somebody will wake this waiter.
    void busy(time_point now, duration remaining, bool woken_on_release) noexcept
    {
        tried_ = true;
        if (remaining <= duration::zero()) remaining = woken_on_release ? duration{longest_trust} : duration::max();
        attempt_at_ = remaining < time_point::max() - now ? now + remaining : time_point::max();
        if (!woken_on_release) attempt_at_ = std::min(attempt_at_, now + pauses_.next());
    }

    /// The lease may have become free. A wake that is wrong costs one attempt.
    void woken(time_point now) noexcept { attempt_at_ = std::min(attempt_at_, now); }

private:
    time_point deadline_;
    time_point attempt_at_ = time_point::max();
    detail::backoff pauses_;
    bool tried_ = false;
};

}  // namespace leasehold::inline v0::waiting

#endif
