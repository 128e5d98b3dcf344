// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_PLACE_IN_LINE_HPP
#define LEASEHOLD_DETAIL_PLACE_IN_LINE_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/queue_ticket.hpp>
#include <leasehold/waiting/ticket_limit.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <optional>
#include <string_view>
#include <system_error>

namespace leasehold::inline v0::detail {

// A waiter's place in the line of a name, where all wait for a permit, to read or to write. It stands in the line of its own object first,
// then in that of the process, then in that of all processes, if the store has one. The first of all asks for what it wants.
//
// Not thread-safe, except for what wakes. Lifetime: the pool, the waker and the limit must outlive it.
template <class Pool>
class place_in_line {
    using store_type = typename Pool::counted_type;

public:
    place_in_line(Pool& pool, time_point deadline, waker& to_wake, waiting::ticket_limit* limit)
        : pool_{pool}, deadline_{deadline}, waker_{to_wake}, ticket_{pool.counted(), to_wake, limit}
    {
        in_object_.emplace(pool.waiters(), waiting::queue_key{.name = pool.name()}, to_wake);
    }

    // What to do now: `machine` decides, once it is the first of its process.
    [[nodiscard]] waiting::wait_step next(time_point now, bool cancelled)
    {
        if (!in_process_) {
            if (!in_object_->first()) return await_turn(now, cancelled);
            in_process_.emplace(waiting::queue_of(pool_.store()), waiting::key_of(pool_.store(), pool_.name()), waker_);
        }
        if (!machine_) {
            if (!in_process_->first()) return await_turn(now, cancelled);
            begin_again();
        }
        return machine_->next(now, cancelled);
    }

    void woken(time_point now) noexcept
    {
        if (machine_) machine_->woken(now);
    }

    // It waits for something else now: it asks at once, whatever pause was planned.
    void begin_again()
    {
        poll_pauses pauses = waiting::pauses_of(pool_.store());
        pauses.longest = std::max<duration>(std::min<duration>(pauses.longest, longest_pause), pauses.shortest);
        machine_.emplace(deadline_, pauses, pool_.random());
    }

    // Its turn among all processes. Does I/O. If the store can't order the waiters, each of them is first.
    [[nodiscard]] turn_answer turn([[maybe_unused]] std::error_code& ec)
    {
        if constexpr (ordered_store<store_type>)
            if (ticket_.take(pool_.name())) return ticket_.turn(ec);
        return {};
    }

    // Nothing was granted: when to ask again. See acquire_result. `gave_back`: a part was, and was given back.
    void busy(const acquire_result& answer, bool gave_back = false)
    {
        assert(machine_ && "next() asks for an attempt only when it is this waiter's turn");
        if (gave_back)
            machine_->gave_back(pool_.clock().now(), answer);
        else
            machine_->busy(pool_.clock().now(), answer);
    }

    // It was granted what it wanted, although it was not its turn.
    void passed() noexcept
    {
        if constexpr (ordered_store<store_type>)
            if (ticket_) ticket_.passed();
    }

    [[nodiscard]] bool end_takes_time() const noexcept { return ticket_.end_takes_time(); }

    // Leaves the queues of this process at once; only the destructor may follow.
    void leave_queues() noexcept
    {
        in_process_.reset();
        in_object_.reset();
    }

private:
    // A waiter that nobody can wake looks this often.
    static constexpr std::chrono::milliseconds longest_pause{250};

    [[nodiscard]] waiting::wait_step await_turn(time_point now, bool cancelled) const noexcept
    {
        if (cancelled || now >= deadline_) return {waiting::wait_action::give_up, now};
        return {waiting::wait_action::sleep, deadline_};
    }

    Pool& pool_;
    const time_point deadline_;
    waker& waker_;
    // Left in the reverse order: the next waiter of this process finds no other ticket of its own.
    std::optional<waiting::local_queue::place> in_object_;
    std::optional<waiting::local_queue::place> in_process_;
    waiting::limited_ticket<store_type> ticket_;
    std::optional<waiting::wait_machine> machine_;  // once it is the first of its process
};

// A ticket for a term that the first of a line does not want itself: a reader waits for the gate, a writer for the shares. The term's end
// wakes it. While nobody has the term's lock, this ticket is first. It then leaves at once, so that a holder can take the lock.
template <class Store>
class bell {
public:
    bell(Store& store, waker& to_wake, waiting::ticket_limit* limit) noexcept : ticket_{store, to_wake, limit} {}

    // Whether it waits there. A wake that comes for another reason doesn't end this.
    [[nodiscard]] bool waits() const noexcept { return static_cast<bool>(ticket_); }

    // Asked before each look: should the bell have rung by now, if that look finds the term over?
    [[nodiscard]] bool is_overdue([[maybe_unused]] time_point now, [[maybe_unused]] std::error_code& ec)
    {
        if constexpr (ordered_store<Store>)
            return ticket_ && now >= due_ && ticket_.turn(ec).status != turn_status::first;
        else
            return false;
    }

    // An overdue look found the term over.
    void missed() noexcept
    {
        if constexpr (ordered_store<Store>)
            if (ticket_) ticket_.passed();
    }

    // The term continues, for `remaining` at most (0: unknown). Returns how long to sleep, unless woken; 0: nobody will wake it, so it
    // polls.
    [[nodiscard]] duration wait([[maybe_unused]] std::string_view name, [[maybe_unused]] duration remaining,
                                [[maybe_unused]] time_point now, [[maybe_unused]] std::error_code& ec)
    {
        if constexpr (ordered_store<Store>) {
            if (!ticket_.take(name)) return duration::zero();
            if (const turn_answer turn = ticket_.turn(ec); turn.status != turn_status::first) {
                const duration sleep = remaining > duration::zero() ? std::min(turn.retry_after, remaining) : turn.retry_after;
                due_ = sleep < time_point::max() - now ? now + sleep : time_point::max();
                return sleep;
            }
        }
        leave();
        return duration::zero();
    }

    void leave() noexcept { ticket_.give_up(); }
    [[nodiscard]] bool end_takes_time() const noexcept { return ticket_.end_takes_time(); }

private:
    waiting::limited_ticket<Store> ticket_;
    time_point due_ = time_point::max();  // when it looks, unless woken
};

}  // namespace leasehold::inline v0::detail

#endif
