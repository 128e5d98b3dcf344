// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_PERMIT_WAIT_HPP
#define LEASEHOLD_DETAIL_PERMIT_WAIT_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/permit_search.hpp>
#include <leasehold/detail/place_in_line.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/ticket_limit.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0::detail {

// The attempts of the first in line at any of the permits. If the store can wake it, it queues for the permit that is to end first, and
// asks for the others.
template <class Pool>
class permit_waiter {
    using counted_type = typename Pool::counted_type;

public:
    // `limit`: how many costly tickets there may be. Without one of them, the waiter asks for all permits.
    permit_waiter(Pool& pool, waker& to_wake, waiting::ticket_limit* limit) noexcept
        : pool_{pool}, ticket_{pool.counted(), to_wake, limit}, bell_{pool.counted(), to_wake, limit}
    {
    }

    void woken() noexcept { due_ = time_point::min(); }

    // `behind`: others came earlier, so it asks for no more than what it queues for already.
    void is_behind(bool behind) noexcept { behind_ = behind; }

    auto try_any(permit_search& search, std::error_code& ec)
    {
        const bool has_come = bell_.waits();  // what it waited for before it asks
        bell_.leave();
        kept_out_ = false;
        if constexpr (notifying_store<counted_type>) {
            const bool only_one = pool_.count() == 1;
            if (ticket_ && permit_ >= pool_.count()) ticket_.give_up();
            if (ticket_ && (only_one || due_ <= pool_.clock().now())) {
                auto result = try_one(search, ec);
                if (ec || !result.guard.empty() || (only_one && !pool_.has_grown(ec))) return result;
            }
        }
        if (has_come) {  // with the term ended that kept all permits from being granted: then each is probably free
            auto result = pool_.try_likely(search, ec);
            if (ec || !result.guard.empty()) return result;
        } else if (behind_) {
            return typename Pool::attempt_result{};
        }
        auto result = pool_.try_any(search, ec);
        if constexpr (notifying_store<counted_type>) {
            if (ec || !result.guard.empty() || pool_.counted().wakes_together()) return result;
            if (const auto nearest = search.nearest(); !ticket_ && nearest && ticket_.take(pool_.lease(*nearest).name())) {
                permit_ = *nearest;
                return try_one(search, ec);
            }
        }
        return result;
    }

    // Several permits: a waiter for several queues for none of them.
    auto try_some(permit_search& search, std::size_t wanted, std::error_code& ec) { return pool_.try_some(search, wanted, ec); }

    // Waits until the term of `name`, which keeps all permits from being granted, is over; it lasts for `remaining`.
    auto wait_for(std::string_view name, duration remaining, std::error_code& ec)
    {
        kept_out_ = true;
        const duration sleep = bell_.wait(name, remaining, pool_.clock().now(), ec);
        return typename Pool::attempt_result{.busy_for = remaining, .sleep = sleep};
    }
    // Whether it waits for that term, and not for one of the permits.
    [[nodiscard]] bool is_kept_out() const noexcept { return kept_out_; }
    // Whether it has queued for a term already.
    [[nodiscard]] bool waits_for_term() const noexcept { return ticket_ || bell_.waits(); }
    // Returns how long it may sleep until it asks with its ticket for one.
    [[nodiscard]] duration sleeps(time_point now) const noexcept
    {
        if (!ticket_ || due_ == time_point::max()) return duration::max();
        return due_ > now ? due_ - now : duration{1};
    }
    [[nodiscard]] bool is_overdue(std::error_code& ec) { return bell_.is_overdue(pool_.clock().now(), ec); }
    void missed() noexcept { bell_.missed(); }
    // It waits for nothing but its turn.
    void leave() noexcept
    {
        ticket_.give_up();
        bell_.leave();
    }

    [[nodiscard]] bool end_takes_time() const noexcept { return ticket_.end_takes_time() || bell_.end_takes_time(); }

private:
    auto try_one(const permit_search& search, std::error_code& ec)
    {
        auto result = pool_.try_with(*ticket_.get(), permit_, search.waiting_since(), ec);
        const time_point now = pool_.clock().now();
        // Nobody wakes it: then it has no place in that queue, and the others are asked for in any case.
        due_ = result.sleep > duration::zero() && result.sleep < time_point::max() - now ? now + result.sleep : time_point::max();
        if (pool_.count() == 1) return result;
        result.sleep = {};  // the others may come free without anybody being woken
        result.busy_for = search.remaining(now);
        return result;
    }

    Pool& pool_;
    bool behind_ = false;
    bool kept_out_ = false;
    std::size_t permit_ = 0;
    time_point due_ = time_point::min();  // when to ask with the ticket
    waiting::limited_ticket<counted_type> ticket_;  // for that permit
    bell<counted_type> bell_;
};

// One wait for a permit: its place in the line of its name, and what to do next. A waiter with a thread and a waiter without one take the
// same steps. `Attempt` is called with a search, a waiter and an error code.
//
// Not thread-safe, except for what wakes. Lifetime: the pool and the waker must outlive it.
template <class Pool, class Attempt>
class permit_wait {
    using result = std::invoke_result_t<Attempt&, permit_search&, permit_waiter<Pool>&, std::error_code&>;

public:
    permit_wait(Pool& pool, Attempt attempt, time_point deadline, waker& to_wake, waiting::ticket_limit* limit = nullptr)
        : pool_{pool}, attempt_{std::move(attempt)}, search_{pool.new_search()}, line_{pool, deadline, to_wake, limit},
          asking_{pool, to_wake, limit}
    {
        search_.waits_since(pool.clock().now());
    }
    permit_wait(const permit_wait&) = delete;
    permit_wait& operator=(const permit_wait&) = delete;
    ~permit_wait() = default;

    // Returns what to do now.
    [[nodiscard]] waiting::wait_step next(time_point now, bool cancelled) { return line_.next(now, cancelled); }

    // It was woken from the sleep that next() asked for.
    void woken(time_point now) noexcept
    {
        line_.woken(now);
        asking_.woken();
    }

    // Makes the attempt that next() asked for. Does I/O.
    result attempt(waiting::wait_action how, std::error_code& ec)
    {
        ec.clear();
        result outcome = attempt_in_turn(how, ec);
        // A release would take another call's time during an outage, and would replace what the store says of the failure.
        if (is_outage(ec)) Pool::let_run_out(kept_);
        return outcome;
    }

    // Returns the error of a wait that gave up.
    [[nodiscard]] static std::error_code error_of_end() noexcept { return {}; }
    // Whether its destructor may wait for the store.
    [[nodiscard]] bool end_takes_time() const noexcept
    {
        return !kept_.empty() || line_.end_takes_time() || asking_.end_takes_time();
    }
    // Leaves the queues of this process at once; only the destructor may follow.
    void leave_queues() noexcept { line_.leave_queues(); }

private:
    static constexpr bool has_order = ordered_store<typename Pool::counted_type>;
    static constexpr duration between_tries = std::chrono::milliseconds{250};

    static bool is_outage(const std::error_code& ec) noexcept
    {
        return ec == errc::store_unavailable || ec == errc::store_timeout || ec == errc::store_failure;
    }

    result attempt_in_turn(waiting::wait_action how, std::error_code& ec)
    {
        const bool at_end = how == waiting::wait_action::last_attempt;
        const turn_answer turn = at_end ? turn_answer{.status = turn_status::overdue} : line_.turn(ec);
        if (ec) return {};
        if (turn.status == turn_status::behind && !asking_.waits_for_term()) {
            keep_permits(false);
            line_.busy({.status = acquire_status::queued, .retry_after = turn.retry_after});
            return {};
        }
        const bool first = turn.status == turn_status::first;
        const bool in_order = first && turn.retry_after > duration::zero();  // else nobody has ordered it
        if (!in_order && is_kept_for_another(ec)) {
            if (ec) return {};
            asking_.leave();
            line_.busy({.status = acquire_status::queued, .retry_after = turn.retry_after});
            return {};
        }
        asking_.is_behind(turn.status == turn_status::behind);
        result outcome = attempt_(search_, asking_, ec);
        if (ec || !outcome.guard.empty()) {
            if (!ec && !first && !at_end) line_.passed();
            return outcome;
        }
        keep_permits(in_order);
        duration sleep = outcome.sleep > duration::zero() || asking_.is_kept_out() ? outcome.sleep : turn.retry_after;
        if (!first) sleep = std::min({sleep, turn.retry_after, asking_.sleeps(pool_.clock().now())});
        if (outcome.busy_for > duration::zero()) sleep = std::min(sleep, outcome.busy_for);
        line_.busy({.remaining = outcome.busy_for, .retry_after = sleep}, outcome.gave_back);
        return outcome;
    }

    // A waiter that isn't the first passes earlier ones, unless the first waits for several permits. An error counts as that, too.
    bool is_kept_for_another([[maybe_unused]] std::error_code& ec)
    {
        if constexpr (has_order)
            return pool_.is_kept_for_another(ec) || ec;
        else
            return false;
    }

    // `first`: of all processes' waiters.
    void keep_permits([[maybe_unused]] bool first)
    {
        if constexpr (has_order && requires { attempt_.several(); }) {
            if (!attempt_.several() || kept_.held() == first) return;
            kept_ = {};
            const time_point now = pool_.clock().now();
            if (!first || now < tries_at_) return;
            tries_at_ = now + between_tries;
            std::error_code failed;  // the next attempt finds out, too
            kept_ = pool_.keep_for_first(failed);
        }
    }

    Pool& pool_;
    Attempt attempt_;
    permit_search search_;
    place_in_line<Pool> line_;  // left last: when the next waiter's turn comes, this one has left its other queue
    permit_waiter<Pool> asking_;
    typename Pool::guard_type kept_{};  // see Pool::keep_for_first()
    time_point tries_at_ = time_point::min();
};

}  // namespace leasehold::inline v0::detail

#endif
