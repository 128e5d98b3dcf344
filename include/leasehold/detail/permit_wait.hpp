// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_PERMIT_WAIT_HPP
#define LEASEHOLD_DETAIL_PERMIT_WAIT_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/permit_search.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/queue_ticket.hpp>
#include <leasehold/waiting/ticket_limit.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// A waiter's attempts at any of the permits. Where the store can wake it, it queues for one permit, the one that was to end first; for
// the others it asks.
template <class Pool>
class permit_waiter {
    using counted_type = typename Pool::counted_type;
    using ticket_type = decltype(waiting::enqueue(std::declval<counted_type&>(), std::string_view{}, std::declval<waker&>()));

public:
    // Whether a ticket costs a thread, and its end may take a while.
    static constexpr bool costly_tickets = waiting::ticket_takes_thread<ticket_type>;

    // `limit`: how many costly tickets there may be. Without one of them, the waiter asks for all permits.
    permit_waiter(Pool& of, waker& to_wake, waiting::ticket_limit* limit) noexcept
        : pool_{of}, waker_{to_wake}, limit_{costly_tickets ? limit : nullptr}
    {
    }

    auto try_any(permit_search& search, std::error_code& ec)
    {
        auto tried = pool_.try_any(search, ec);
        if constexpr (notifying_store<counted_type>) {
            if (ec || !tried.guard.empty()) return tried;
            if (!place_)
                if (const auto nearest = search.nearest(); nearest && (!limit_ || limit_->take())) place_.emplace(*this, *nearest);
            if (place_) return pool_.try_with(place_->ticket, place_->permit, tried.busy_for, search.asked(), ec);
        }
        return tried;
    }

    // Lets others have the permit that it queues for. It queues again when it finds all permits taken.
    void leave_queue() noexcept { place_.reset(); }

    [[nodiscard]] bool has_costly_ticket() const noexcept { return costly_tickets && place_; }

private:
    // A ticket for one permit.
    struct place_in_queue {
        place_in_queue(permit_waiter& of, std::size_t one)
            : limit{of.limit_}, permit{one}, ticket{waiting::enqueue(of.pool_.counted(), of.pool_.lease(one).name(), of.waker_)}
        {
        }

        waiting::ticket_place limit;
        const std::size_t permit;
        ticket_type ticket;
    };

    Pool& pool_;
    waker& waker_;
    waiting::ticket_limit* const limit_;
    std::optional<place_in_queue> place_;
};

// One wait for a permit: its places in the queues, and what to do next. A waiter with a thread and a waiter without one take the same
// steps.
//
// The waiters that share a pool queue there; the first of them queues with the first of other pools in the process, and the first of
// those asks the store. counted_store wakes that one. `Attempt` is called with a search, a waiter and an error code.
// Not thread-safe, except for what wakes. Lifetime: the pool and the waker must outlive it.
template <class Pool, class Attempt>
class permit_wait {
public:
    permit_wait(Pool& pool, Attempt attempt, time_point deadline, waker& to_wake, waiting::ticket_limit* limit = nullptr)
        : pool_{pool}, attempt_{std::move(attempt)}, deadline_{deadline}, waker_{to_wake}, search_{pool.new_search()},
          asking_{pool, to_wake, limit}
    {
        search_.waits_since(pool.clock().now());
        in_object_.emplace(pool.waiters_, pool.own_key(), to_wake);
    }
    permit_wait(const permit_wait&) = delete;
    permit_wait& operator=(const permit_wait&) = delete;
    ~permit_wait() = default;

    // What to do now.
    [[nodiscard]] waiting::wait_step next(time_point now, bool cancelled)
    {
        if (!in_process_) {
            if (!in_object_->first()) return await_turn(now, cancelled);
            in_process_.emplace(waiting::queue_of(pool_.store()), waiting::key_of(pool_.store(), pool_.name()), waker_);
        }
        if (!machine_) {
            if (!in_process_->first()) return await_turn(now, cancelled);
            machine_.emplace(deadline_, waiting::pauses_of(pool_.store()), pool_.random());
        }
        return machine_->next(now, cancelled);
    }

    // It was woken from the sleep that next() asked for.
    void woken(time_point now) noexcept
    {
        if (machine_) machine_->woken(now);
    }

    // The attempt that next() asked for. Does I/O.
    auto attempt(waiting::wait_action, std::error_code& ec)
    {
        assert(machine_ && "next() asks for an attempt only when it is this waiter's turn");
        auto tried = attempt_(search_, asking_, ec);
        if (!ec && tried.guard.empty()) machine_->busy(pool_.clock().now(), acquire_result{.remaining = tried.busy_for});
        return tried;
    }

    // What a wait that gave up reports.
    [[nodiscard]] static std::error_code error_of_end() noexcept { return {}; }
    // Whether its destructor may wait for the store.
    [[nodiscard]] bool end_takes_time() const noexcept { return asking_.has_costly_ticket(); }

    // Leaves the queues of this process at once; only the destructor may follow.
    void leave_queues() noexcept
    {
        in_process_.reset();
        in_object_.reset();
    }

private:
    [[nodiscard]] waiting::wait_step await_turn(time_point now, bool cancelled) const noexcept
    {
        if (cancelled || now >= deadline_) return {waiting::wait_action::give_up, now};
        return {waiting::wait_action::sleep, deadline_};
    }

    Pool& pool_;
    Attempt attempt_;
    const time_point deadline_;
    waker& waker_;
    permit_search search_;
    // Left in the reverse order: the next waiter of this process finds no other ticket of its own.
    std::optional<waiting::local_queue::place> in_object_;
    std::optional<waiting::local_queue::place> in_process_;
    permit_waiter<Pool> asking_;
    std::optional<waiting::wait_machine> machine_;  // once it is its turn to ask
};

}  // namespace leasehold::inline v0::detail

#endif
