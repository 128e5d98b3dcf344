// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_WAIT_MACHINE_HPP
#define LEASEHOLD_WAITING_WAIT_MACHINE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/backoff.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdint>

namespace leasehold::inline v0::waiting {

enum class wait_action : std::uint8_t {
    attempt,       ///< try to acquire now, with the ticket
    last_attempt,  ///< the same without it: no answer has been about the row
    sleep,         ///< until `at`, or until woken
    give_up        ///< the time is over, or the wait was cancelled
};

struct wait_step {
    wait_action action = wait_action::sleep;
    time_point at{};
};

/// Decides what a waiter does next: a pure function of past events and the time, without I/O, threads or a clock.
///
/// The waiter sleeps as long as the store tells it to, or until woken. Only if nobody can wake it, it polls until the end of the
/// term, with pauses that double from the shortest to the longest. Each pause is shortened by up to a half at random, so that
/// waiters spread.
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
        if (now >= deadline_) return {looked_ ? wait_action::give_up : wait_action::last_attempt, now};
        if (now >= attempt_at_) return {wait_action::attempt, now};
        return {wait_action::sleep, std::min(attempt_at_, deadline_)};
    }

    /// The store answered at `now`, and granted nothing; see acquire_result.
    void busy(time_point now, const acquire_result& answer) noexcept
    {
        assert(!answer.granted());
        // The answer to a last attempt counts, whatever it is: there is no other.
        looked_ = looked_ || answer.status != acquire_status::queued || (tried_ && now >= deadline_);
        tried_ = true;
        not_before_ = time_point::min();
        if (answer.retry_after > duration::zero()) {
            attempt_at_ = after(now, answer.retry_after);
            return;
        }
        const duration pause = pauses_.next();
        attempt_at_ = after(now, answer.remaining > duration::zero() ? std::min(answer.remaining, pause) : pause);
    }

    /// Like busy(), of an attempt that was granted a part of what it wants, and gave that back. Its own releases wake waiters, among them
    /// this one. So a wake counts only after a pause.
    void gave_back(time_point now, const acquire_result& answer) noexcept
    {
        busy(now, answer);
        not_before_ = std::min(attempt_at_, after(now, pauses_.next()));
    }

    /// The lease may have become free. A wrong wake costs one attempt.
    void woken(time_point now) noexcept { attempt_at_ = std::min(attempt_at_, std::max(now, not_before_)); }

private:
    static time_point after(time_point now, duration pause) noexcept
    {
        return pause < time_point::max() - now ? now + pause : time_point::max();
    }

    time_point deadline_;
    time_point attempt_at_ = time_point::max();
    time_point not_before_ = time_point::min();  // see gave_back()
    detail::backoff pauses_;
    bool tried_ = false;
    bool looked_ = false;  // an answer was about the row, not only about the queue
};

}  // namespace leasehold::inline v0::waiting

#endif
