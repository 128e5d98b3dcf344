// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_EXCLUSIVE_WAIT_HPP
#define LEASEHOLD_DETAIL_EXCLUSIVE_WAIT_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/guard_sets.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/new_stop_source.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_set_guard.hpp>
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

// What a writer has taken: the gate, then the shares. The destructor gives it back, unless complete() has handed it out.
template <class Pool>
class exclusive_terms {
public:
    using set_type = lease_set_guard<typename Pool::lease_type>;
    struct result {
        set_type guard{};
        bool too_late = false;  // granted, but a term was over before all answers had come
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
    template <class Tried>
    bool take_gate(Tried tried, const std::error_code& ec)
    {
        assert(empty());
        too_late_ = tried.too_late;
        if (tried.guard.empty() || ec) return false;
        order_.resize(pool_.count() + 1);
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        guards_.reserve(pool_.count() + 1);
        guards_.push_back(std::move(tried.guard));
        guards_.resize(pool_.count() + 1);
        return true;
    }

    // Attempts at all shares; `all_at_once`: stops at the first that is busy. Does I/O.
    void take_shares(bool all_at_once, std::error_code& ec)
    {
        pool_.try_all(guards_, 1, all_at_once, too_late_, ec);
        for (const auto& each : guards_)
            if (!each.empty()) lease_access::share_stop(each, lost_);
    }

    // The first share that it does not have; nothing: it has all.
    [[nodiscard]] std::optional<std::size_t> missing() const noexcept
    {
        const auto found = std::ranges::find_if(guards_, [](const auto& each) { return each.empty(); });
        if (found == guards_.end()) return std::nullopt;
        return static_cast<std::size_t>(found - guards_.begin()) - 1;
    }

    // The result of an attempt or a wait for a missing share.
    template <class Tried>
    void take_share(std::size_t share, Tried tried)
    {
        too_late_ = too_late_ || tried.too_late;
        auto& guard = guards_[share + 1];
        guard = std::move(tried.guard);
        if (!guard.empty()) lease_access::share_stop(guard, lost_);
    }

    // The right, if it has all of it and nothing is over yet; otherwise an error.
    result complete(std::error_code& ec)
    {
        if (std::ranges::all_of(guards_, [](const auto& each) { return each.held(); }))
            return {set_access::make<set_type>(std::exchange(guards_, {}), std::move(order_), std::move(lost_))};
        ec = errc::store_timeout;
        return {.too_late = true};
    }

    // Nothing, and why.
    [[nodiscard]] result none() const noexcept { return {.too_late = too_late_}; }

private:
    Pool& pool_;
    std::vector<typename Pool::guard_type> guards_;  // the gate's, and those of the shares
    std::vector<std::size_t> order_;                 // in which they are taken
    std::stop_source lost_ = new_stop_source();
    bool too_late_ = false;
};

// One wait of a writer, and what to do next: it waits for the gate, asks for all shares, and waits for each that it did not get.
// A waiter with a thread and a waiter without one take the same steps.
//
// The destructor gives back what was taken, which does I/O; see end_takes_time().
// Not thread-safe, except for what wakes. Lifetime: the pool, the gate and the waker must outlive it.
template <class Pool>
class exclusive_wait {
    using lease_type = typename Pool::lease_type;
    using wait_type = waiting::lease_wait<keeper_of<lease_type>>;
    using terms_type = exclusive_terms<Pool>;

public:
    using result = typename terms_type::result;

    // The engine of the gate is attached. May throw std::bad_alloc.
    exclusive_wait(Pool& shares, lease_type& gate, time_point deadline, waker& to_wake, waiting::ticket_limit* limit = nullptr)
        : pool_{shares}, deadline_{deadline}, waker_{to_wake}, limit_{limit}, taken_{shares},
          on_loss_{taken_.stop_token(), wake_it{to_wake}}, asked_for_{&gate}
    {
        waits_.emplace(lease_access::keeper(gate), deadline, to_wake, limit);
    }
    exclusive_wait(const exclusive_wait&) = delete;
    exclusive_wait& operator=(const exclusive_wait&) = delete;
    ~exclusive_wait() = default;

    // What to do now.
    [[nodiscard]] waiting::wait_step next(time_point now, bool cancelled)
    {
        const bool ends = phase_ == phase::over || (phase_ == phase::share && (cancelled || taken_.lost()));
        if (ends) return {waiting::wait_action::give_up, now};
        if (waits_) return waits_->next(now, cancelled);
        return {waiting::wait_action::attempt, now};
    }

    // It was woken from the sleep that next() asked for.
    void woken(time_point now) noexcept
    {
        if (waits_) waits_->woken(now);
    }

    // The attempt that next() asked for. Does I/O.
    result attempt(waiting::wait_action how, std::error_code& ec)
    {
        switch (phase_) {
        case phase::gate: return attempt_gate(how, ec);
        case phase::all_shares:
            taken_.take_shares(false, ec);
            return ec ? taken_.none() : go_on_to_next_share(ec);
        case phase::share: return attempt_share(how, ec);
        case phase::over: break;
        }
        return taken_.none();
    }

    // What a wait that gave up reports.
    [[nodiscard]] std::error_code error_of_end() const noexcept
    {
        return phase_ == phase::share && taken_.lost() ? make_error_code(errc::lost) : std::error_code{};
    }

    // Whether its destructor may wait for the store.
    [[nodiscard]] bool end_takes_time() const noexcept
    {
        return !taken_.empty() || (wait_type::costly_tickets && waits_ && waits_->has_ticket());
    }

    // Leaves the queues of this process at once; only the destructor may follow.
    void leave_queues() noexcept
    {
        if (waits_) waits_->leave_queues();
    }

private:
    enum class phase : std::uint8_t { gate, all_shares, share, over };
    struct wake_it {
        waker& of;
        void operator()() const noexcept { of.wake(); }
    };

    result attempt_gate(waiting::wait_action how, std::error_code& ec)
    {
        auto tried = lease_access::attempt(*asked_for_, *waits_, how, ec);
        if (!tried.ends_wait(ec)) {
            lease_access::go_on(*asked_for_, *waits_, tried);
            return {};
        }
        waits_.reset();
        phase_ = taken_.take_gate(std::move(tried), ec) ? phase::all_shares : phase::over;
        return taken_.none();
    }

    result attempt_share(waiting::wait_action how, std::error_code& ec)
    {
        if (waits_) {
            auto tried = lease_access::attempt(*asked_for_, *waits_, how, ec);
            if (!tried.ends_wait(ec)) {
                lease_access::go_on(*asked_for_, *waits_, tried);
                return {};
            }
            waits_.reset();
            return take_share(std::move(tried), ec);
        }
        return take_share(lease_access::attempt(*asked_for_, ec), ec);
    }

    template <class Tried>
    result take_share(Tried tried, std::error_code& ec)
    {
        const bool granted = !tried.guard.empty();
        const auto share = taken_.missing();
        assert(phase_ == phase::share && share);
        taken_.take_share(*share, std::move(tried));
        if (taken_.lost() && !ec) ec = errc::lost;
        if (granted && !ec) return go_on_to_next_share(ec);
        phase_ = phase::over;
        return taken_.none();
    }

    result go_on_to_next_share(std::error_code& ec)
    {
        const auto share = taken_.missing();
        if (!share) {
            phase_ = phase::over;
            return taken_.complete(ec);
        }
        phase_ = phase::share;
        asked_for_ = &pool_.lease(*share);
        auto& keeper = lease_access::keeper(*asked_for_);
        keeper.attach_engine();
        // Past the deadline: one attempt at each share, without a place in a queue.
        if (deadline_ > pool_.clock().now()) waits_.emplace(keeper, deadline_, waker_, limit_);
        return {};
    }

    Pool& pool_;
    const time_point deadline_;
    waker& waker_;
    waiting::ticket_limit* const limit_;
    terms_type taken_;
    const std::stop_callback<wake_it> on_loss_;
    phase phase_ = phase::gate;
    lease_type* asked_for_;
    std::optional<wait_type> waits_;
};

}  // namespace leasehold::inline v0::detail

#endif
