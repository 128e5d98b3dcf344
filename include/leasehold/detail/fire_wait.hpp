// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_FIRE_WAIT_HPP
#define LEASEHOLD_DETAIL_FIRE_WAIT_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/recurring_machine.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/ticket_limit.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// recurring::try_begin_for() in steps, for a waiter without a thread. `LeaseRight` is how such a waiter acquires the lease.
//
// It looks whether a fire is due, then waits for the lease, then begins the fire under it. While a fire is due that is not completed, it
// looks again. Lifetime: what the constructor takes must outlive it.
template <class Recurring, class LeaseRight>
class fire_wait {
    using run_type = typename Recurring::run_type;
    using manner = typename Recurring::manner;
    using failure = typename Recurring::failure;

public:
    fire_wait(Recurring& recurring, const LeaseRight& lease, time_point deadline, waker& to_wake, waiting::ticket_limit* limit) noexcept
        : recurring_{recurring}, lease_{lease}, deadline_{deadline}, waker_{to_wake}, limit_{limit}
    {
    }
    fire_wait(const fire_wait&) = delete;
    fire_wait& operator=(const fire_wait&) = delete;

    static const typename Recurring::lease_type& lease_of(const Recurring& recurring) noexcept { return recurring.lease_; }

    // Returns what to do now. May throw what the store's enqueue() throws.
    [[nodiscard]] waiting::wait_step next(time_point now, bool cancelled)
    {
        if (for_lease_) return for_lease_->next(now, cancelled);
        // The first look comes before the check of the deadline, which may have passed before a thread was free for it.
        const bool has_looked = looks_at_ != time_point::min();
        if (!looks_at_ || cancelled || (has_looked && now >= deadline_)) return {waiting::wait_action::give_up, now};
        if (now < *looks_at_) return {waiting::wait_action::sleep, std::min(*looks_at_, deadline_)};
        return {waiting::wait_action::attempt, now};
    }

    void woken(time_point now) noexcept
    {
        if (for_lease_) for_lease_->woken(now);
    }

    // Does I/O. May throw what a hook throws. Empty and no error: call next().
    [[nodiscard]] run_type attempt(waiting::wait_action how, std::error_code& ec)
    {
        failure failed;
        run_type run = for_lease_ ? begin(how, failed) : look(failed);
        ec = failed.ec;
        return run;
    }

    [[nodiscard]] static std::error_code error_of_end() noexcept { return {}; }
    [[nodiscard]] bool end_takes_time() const noexcept { return for_lease_ && for_lease_->end_takes_time(); }

    // Only the destructor may follow.
    void leave_queues() noexcept
    {
        if (for_lease_) for_lease_->leave_queues();
    }

private:
    run_type look(failure& failed)
    {
        std::optional<fire_step> rest;
        if (recurring_.is_due(manner{.acquire = {}, .rest = &rest}, failed))
            for_lease_.emplace(lease_, deadline_, waker_, limit_);
        else
            looks_at_ = recurring_.worth_a_look(rest);
        return {};
    }

    run_type begin(waiting::wait_action how, failure& failed)
    {
        auto guard = for_lease_->attempt(how, failed.ec);
        if (failed.ec || guard.empty()) return {};
        for_lease_.reset();  // if nothing is begun, it looks again at once
        return recurring_.begin_with(std::move(guard), manner{.acquire = {}}, failed);
    }

    Recurring& recurring_;
    const LeaseRight& lease_;
    const time_point deadline_;
    waker& waker_;
    waiting::ticket_limit* const limit_;
    std::optional<time_point> looks_at_ = time_point::min();  // empty: no fire is due that is not completed
    std::optional<typename LeaseRight::wait> for_lease_;
};

}  // namespace leasehold::inline v0::detail

#endif
