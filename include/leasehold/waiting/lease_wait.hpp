// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_LEASE_WAIT_HPP
#define LEASEHOLD_WAITING_LEASE_WAIT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/waker.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/own_queue.hpp>
#include <leasehold/waiting/queue_ticket.hpp>
#include <leasehold/waiting/ticket_limit.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <algorithm>
#include <cassert>
#include <optional>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0::waiting {

/// One wait for a lease: its places in the queues, and what to do next. A waiter with a thread and a waiter without one take the
/// same steps.
///
/// It waits first for the guards of the lease object, in the object's own queue; then, in the queue of the name, for everybody
/// else's. Not thread-safe, except for what wakes. Lifetime: the keeper and the waker must outlive it.
template <class Keeper>
class lease_wait {
    using store_type = std::remove_reference_t<decltype(std::declval<Keeper&>().store())>;

public:
    /// `limit`: how many costly tickets there may be. Without one of them, the waiter polls.
    lease_wait(Keeper& keeper, time_point deadline, waker& to_wake, ticket_limit* limit = nullptr)
        : keeper_{keeper}, began_{keeper.clock().now()}, deadline_{deadline}, waker_{to_wake},
          machine_{deadline, pauses_of(keeper.store()), random_seed(keeper.owner(), began_)}, ticket_{keeper.store(), to_wake, limit}
    {
        own_place_.emplace(keeper, to_wake);
    }
    lease_wait(const lease_wait&) = delete;
    lease_wait& operator=(const lease_wait&) = delete;
    ~lease_wait() = default;

    /// Returns when the wait began.
    [[nodiscard]] time_point began() const noexcept { return began_; }

    /// Returns what to do now. May throw what the store's enqueue() throws.
    [[nodiscard]] wait_step next(time_point now, bool cancelled)
    {
        if (!name_place_) {
            if (const auto look_at = own_place_->closed_until()) return sleep_until(*look_at, now, cancelled);
            name_place_.emplace(queue_of(keeper_.store()), key_of(keeper_.store(), keeper_.name()), waker_);
        }
        if (!is_first_) {
            if (!name_place_->first()) return sleep_until(time_point::max(), now, cancelled);
            is_first_ = true;
        }
        if (at_attempt_ && own_place_->look() == closed_by::attempt) return sleep_until(time_point::max(), now, cancelled);
        at_attempt_ = false;
        // The first waiter of this process queues at the store.
        if (!cancelled) ticket_.take(keeper_.name());
        return machine_.next(now, cancelled);
    }

    /// It was woken from the sleep that next() asked for.
    void woken(time_point now) noexcept
    {
        if (is_first_) machine_.woken(now);
    }

    /// The store granted nothing.
    void busy(time_point now, const acquire_result& answer) noexcept
    {
        assert(is_first_);
        machine_.busy(now, answer);
    }

    /// The attempt met a guard of the lease object: back to the object's own queue. Or it met another attempt through the object: that may
    /// bring nothing, so this waiter keeps its places until then.
    void closed() noexcept
    {
        const closed_by what = own_place_->look();
        at_attempt_ = what == closed_by::attempt;
        if (what != closed_by::guard) return;
        ticket_.give_up();
        name_place_.reset();
        is_first_ = false;
    }

    /// The ticket for an attempt; null if there is none.
    [[nodiscard]] auto* ticket() noexcept { return ticket_.get(); }

    /// Whether its destructor may wait for the store.
    [[nodiscard]] bool end_takes_time() const noexcept { return ticket_.end_takes_time(); }

    /// Leaves the queues of this process at once; the ticket, whose end may take a while, stays.
    void leave_queues() noexcept
    {
        name_place_.reset();
        own_place_.reset();
    }

private:
    [[nodiscard]] wait_step sleep_until(time_point look_at, time_point now, bool cancelled) const noexcept
    {
        if (cancelled || now >= deadline_) return {wait_action::give_up, now};
        return {wait_action::sleep, std::min(look_at, deadline_)};
    }

    Keeper& keeper_;
    const time_point began_;
    const time_point deadline_;
    waker& waker_;
    wait_machine machine_;
    bool is_first_ = false;
    bool at_attempt_ = false;  // it waits for the end of another attempt through the lease object
    // Left in the reverse order: the next waiter of this process finds no other ticket of its own.
    std::optional<typename Keeper::own_place> own_place_;
    std::optional<local_queue::place> name_place_;
    limited_ticket<store_type> ticket_;
};

}  // namespace leasehold::inline v0::waiting

#endif
