// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_EXCLUSIVE_WAIT_HPP
#define LEASEHOLD_DETAIL_EXCLUSIVE_WAIT_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/guard_sets.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/new_stop_source.hpp>
#include <leasehold/detail/place_in_line.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_set_guard.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/lease_wait.hpp>
#include <leasehold/waiting/ticket_limit.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0::detail {

// Holds what a writer has taken: the gate, then the shares. The destructor gives it back, unless complete() has handed it out.
template <class Pool>
class exclusive_terms {
public:
    using set_type = lease_set_guard<typename Pool::lease_type>;
    struct result {
        set_type guard{};
        bool too_late = false;  // granted, but a term was over before all answers had come
        set_failure failure{};  // a call of the store's that failed
    };

    // May throw std::bad_alloc.
    explicit exclusive_terms(Pool& shares) : pool_{shares} {}
    exclusive_terms(const exclusive_terms&) = delete;
    exclusive_terms& operator=(const exclusive_terms&) = delete;
    ~exclusive_terms()
    {
        if (!empty()) back_out(guards_, order_);
    }

    [[nodiscard]] bool empty() const noexcept { return guards_.empty(); }
    // Whether one of its terms was lost: then it can't become complete.
    [[nodiscard]] bool lost() const noexcept { return lost_.stop_requested(); }
    // Asked to stop at the first loss.
    [[nodiscard]] std::stop_token stop_token() const noexcept { return lost_.get_token(); }

    // The result of an attempt or a wait for the gate. False: it was not granted.
    template <class Attempt>
    bool take_gate(Attempt attempt, const std::error_code& ec)
    {
        assert(empty());
        too_late_ = attempt.too_late;
        if (attempt.guard.empty() || ec) return false;
        order_.resize(pool_.count() + 1);
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        guards_.reserve(pool_.count() + 1);
        guards_.push_back(std::move(attempt.guard));
        guards_.resize(pool_.count() + 1);
        watched_.resize(pool_.count() + 1);
        return true;
    }

    // Attempts at all shares that it does not have; `all_at_once`: stops at the first busy one. Returns the time until the last of
    // the busy ones ends; 0: unknown. `waiting_since`: since when the writer has waited for them, if it has. Does I/O.
    duration take_shares(bool all_at_once, std::optional<time_point> waiting_since, std::error_code& ec)
    {
        const duration busy_for = pool_.try_all(guards_, 1, all_at_once, too_late_, waiting_since, ec);
        for (std::size_t i = 0; i < guards_.size(); ++i) {
            if (guards_[i].empty() || watched_[i]) continue;
            lease_access::share_stop(guards_[i], lost_);
            watched_[i] = true;
        }
        return busy_for;
    }

    [[nodiscard]] bool has_all_shares() const noexcept
    {
        return std::ranges::none_of(guards_, [](const auto& guard) { return guard.empty(); });
    }

    // Returns the right if it has all of it and nothing is over yet; otherwise sets an error.
    result complete(std::error_code& ec)
    {
        if (std::ranges::all_of(guards_, [](const auto& guard) { return guard.held(); }))
            return {set_access::make<set_type>(std::exchange(guards_, {}), std::move(order_), std::move(lost_))};
        ec = errc::store_timeout;
        return {.too_late = true};
    }

    // Returns no guard, and notes why before the destructor calls the store again.
    [[nodiscard]] result none(std::error_code ec) const noexcept
    {
        result nothing{.too_late = too_late_};
        if (ec && ec != errc::lost) nothing.failure.note(pool_.store(), ec, pool_.name());
        return nothing;
    }

private:
    Pool& pool_;
    std::vector<typename Pool::guard_type> guards_;  // the gate's, and those of the shares
    std::vector<std::size_t> order_;                 // in which they are taken
    std::vector<bool> watched_;                      // those whose loss is noticed
    std::stop_source lost_ = new_stop_source();
    bool too_late_ = false;
};

// One wait of a writer, and what to do next: it stands in the line of the name; as the first it waits for the gate, asks for all shares,
// and waits for the readers who have the rest. A waiter with a thread and a waiter without one take the same steps.
//
// The destructor gives back what was taken, which does I/O; see end_takes_time().
// Not thread-safe, except for what wakes. Lifetime: the pool, the gate and the waker must outlive it.
template <class Pool>
class exclusive_wait {
    using lease_type = typename Pool::lease_type;
    using gate_wait = waiting::lease_wait<keeper_of<lease_type>>;
    using terms_type = exclusive_terms<Pool>;

public:
    using result = typename terms_type::result;

    // The engine of the gate is attached. May throw std::bad_alloc.
    exclusive_wait(Pool& shares, lease_type& gate, time_point deadline, waker& to_wake, waiting::ticket_limit* limit = nullptr)
        : pool_{shares}, gate_{gate}, began_{shares.clock().now()}, deadline_{deadline}, waker_{to_wake}, limit_{limit},
          line_{shares, deadline, to_wake, limit},
          taken_{shares}, on_loss_{taken_.stop_token(), wake_it{to_wake}}, readers_{shares.counted(), to_wake, limit}
    {
    }
    exclusive_wait(const exclusive_wait&) = delete;
    exclusive_wait& operator=(const exclusive_wait&) = delete;
    ~exclusive_wait() = default;

    // Returns what to do now.
    [[nodiscard]] waiting::wait_step next(time_point now, bool cancelled)
    {
        if (phase_ == phase::over || has_lost()) return {waiting::wait_action::give_up, now};
        return at_gate_ ? at_gate_->next(now, cancelled) : line_.next(now, cancelled);
    }

    // It was woken from the sleep that next() asked for.
    void woken(time_point now) noexcept
    {
        line_.woken(now);
        if (at_gate_) at_gate_->woken(now);
    }

    // The attempt that next() asked for. Does I/O.
    result attempt(waiting::wait_action how, std::error_code& ec)
    {
        ec.clear();
        switch (phase_) {
        case phase::line: attempt_in_turn(how, ec); break;
        case phase::gate: attempt_gate(how, ec); break;
        case phase::shares: return attempt_shares(ec);
        case phase::over: break;
        }
        if (ec) phase_ = phase::over;
        return taken_.none(ec);
    }

    // Returns the error of a wait that gave up.
    [[nodiscard]] std::error_code error_of_end() const noexcept { return has_lost() ? make_error_code(errc::lost) : std::error_code{}; }

    // Whether its destructor may wait for the store.
    [[nodiscard]] bool end_takes_time() const noexcept
    {
        return !taken_.empty() || (at_gate_ && at_gate_->end_takes_time()) || readers_.end_takes_time() || line_.end_takes_time();
    }

    // Leaves the queues of this process at once; only the destructor may follow.
    void leave_queues() noexcept
    {
        if (at_gate_) at_gate_->leave_queues();
        line_.leave_queues();
    }

private:
    enum class phase : std::uint8_t { line, gate, shares, over };
    struct wake_it {
        waker& to_wake;
        void operator()() const noexcept { to_wake.wake(); }
    };

    [[nodiscard]] bool has_lost() const noexcept { return phase_ == phase::shares && taken_.lost(); }

    // The first of the line waits at the gate, and so do writers who have waited for too long: the gate's holder goes before all waiters.
    void attempt_in_turn(waiting::wait_action how, std::error_code& ec)
    {
        const bool at_end = how == waiting::wait_action::last_attempt;
        const turn_answer turn = at_end ? turn_answer{} : line_.turn(ec);
        if (ec) return;
        if (turn.status == turn_status::behind) {
            line_.busy({.status = acquire_status::queued, .retry_after = turn.retry_after});
        } else {
            passes_ = turn.status == turn_status::overdue;
            at_gate_.emplace(lease_access::keeper(gate_), deadline_, waker_, limit_);
            phase_ = phase::gate;
        }
    }

    void attempt_gate(waiting::wait_action how, std::error_code& ec)
    {
        auto attempt = lease_access::attempts(gate_).attempt(*at_gate_, how, ec);
        if (!attempt.ends_wait(ec)) return lease_access::attempts(gate_).go_on(*at_gate_, attempt);
        at_gate_.reset();
        if (passes_ && !ec) line_.passed();
        phase_ = taken_.take_gate(std::move(attempt), ec) ? phase::shares : phase::over;
        if (phase_ == phase::shares) line_.begin_again();
    }

    result attempt_shares(std::error_code& ec)
    {
        const bool overdue = readers_.is_overdue(pool_.clock().now(), ec);
        std::optional<time_point> waiting_since;
        if (waits_for_readers_) waiting_since = began_;
        const duration busy_for = ec ? duration{} : taken_.take_shares(false, waiting_since, ec);
        if (taken_.lost() && !ec) ec = errc::lost;
        if (!ec && !taken_.has_all_shares()) {
            const duration sleep = readers_.wait(pool_.counted().woken_together(), busy_for, pool_.clock().now(), ec);
            line_.busy({.remaining = busy_for, .retry_after = sleep});
            waits_for_readers_ = true;
            if (!ec) return {};
        }
        phase_ = phase::over;
        if (ec) return taken_.none(ec);
        if (overdue) readers_.missed();
        return taken_.complete(ec);
    }

    Pool& pool_;
    lease_type& gate_;
    const time_point began_;
    const time_point deadline_;
    waker& waker_;
    waiting::ticket_limit* const limit_;
    place_in_line<Pool> line_;  // left last: the next waiter finds the gate open
    terms_type taken_;
    const std::stop_callback<wake_it> on_loss_;
    bell<typename Pool::counted_type> readers_;  // where it waits until they leave
    std::optional<gate_wait> at_gate_;
    phase phase_ = phase::line;
    bool passes_ = false;  // earlier waiters
    bool waits_for_readers_ = false;
};

}  // namespace leasehold::inline v0::detail

#endif
