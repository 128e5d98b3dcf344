// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_QUEUE_WAITING_TICKET_HPP
#define LEASEHOLD_ODBC_DETAIL_QUEUE_WAITING_TICKET_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/odbc/detail/flow/session_lock_key.hpp>
#include <leasehold/odbc/detail/queue/queue_machine.hpp>
#include <leasehold/odbc/detail/session/pool.hpp>
#include <leasehold/odbc/detail/session/steps.hpp>
#include <leasehold/store/concept.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// A waiter's place in the queue for a name, among those of all processes: a session that is out to wait for the session lock.
//
// Used by one thread; only the session's own thread also calls it, to tell how the wait for the lock has ended.
class waiting_ticket : public std::enable_shared_from_this<waiting_ticket> {
public:
    waiting_ticket(std::shared_ptr<pool> sessions, std::string_view table, std::string_view name, waker& to_wake)
        : sessions_{std::move(sessions)}, name_{name}, key_{table, name}, waker_{&to_wake},
          machine_{sessions_->wakes_come(key_)}
    {
    }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    // The one that waits for the lock, or has it.
    [[nodiscard]] const session_pointer& session() const noexcept { return session_; }
    // Which of the session's connections has the lock.
    [[nodiscard]] std::uint64_t connection() const noexcept { return connection_; }

    [[nodiscard]] queue_action next()
    {
        const std::lock_guard lock{mutex_};
        notice_loss();
        return machine_.next(now());
    }

    // Waits for the lock in the background. Returns after how long to look at the row; nothing: there is no session or no thread
    // for it.
    std::optional<duration> queue_up()
    {
        const std::lock_guard lock{mutex_};
        if (machine_.next(now()) != queue_action::queue_up) return std::nullopt;
        session_ = sessions_->check_out_to_wait();
        if (!session_) return std::nullopt;
        session_->inner().prepare({.name = name_}, lock_job(lock_use::waits), bounded_session::time_point::max());
        session_->inner().lock().set(key_);
        machine_.queued(now());
        try {
            session_->start([self = shared_from_this()] { self->wait_ended(); });
        } catch (...) {  // no thread, or no memory for what it is to do
            machine_.wait_ended(false, now());
            sessions_->check_in_from_wait(std::exchange(session_, nullptr), name_, 0);
            return std::nullopt;
        }
        return machine_.look_after(now());
    }

    // The term that was granted has the session and the lock, or the session belongs to its thread.
    void hand_over_session()
    {
        const std::lock_guard lock{mutex_};
        session_ = nullptr;
        machine_.granted();
    }

    // It isn't known any more what its connection has.
    void drop()
    {
        const std::lock_guard lock{mutex_};
        sessions_->abandon_waiting(std::exchange(session_, nullptr));
        machine_.lost(now());
    }

    // Somebody has that term, which lasts for `remaining`. Returns when to look again.
    duration seen(fencing_token term, duration remaining)
    {
        const std::lock_guard lock{mutex_};
        machine_.seen(term, remaining, now());
        return machine_.after_term(remaining, now());
    }

    // At the head, but somebody else has that term, which lasts for `remaining`. Returns when to try again.
    [[nodiscard]] duration busy_at_head(fencing_token term, duration remaining)
    {
        const std::lock_guard lock{mutex_};
        const auto answer = machine_.busy_at_head(term, remaining, now());
        if (answer.unlocks) unlock_and_return();
        return answer.retry_after;
    }

    // See queue_machine.
    [[nodiscard]] std::optional<duration> wait_for_next(fencing_token token)
    {
        const std::lock_guard lock{mutex_};
        const auto delay = machine_.wait_for_next(token, now());
        if (!delay) sessions_->note_wake(key_, false);  // a delay finds out nothing, and others may know more
        return delay;
    }

    // See queue_machine.
    [[nodiscard]] bool is_to_confirm() const
    {
        const std::lock_guard lock{mutex_};
        return machine_.is_to_confirm(now());
    }
    void confirmed()
    {
        const std::lock_guard lock{mutex_};
        machine_.confirmed(now());
    }

    // Whether it is its turn. Begins to wait, if need be and a session is to be had.
    [[nodiscard]] turn_answer turn()
    {
        {
            const std::lock_guard lock{mutex_};
            notice_loss();
        }
        static_cast<void>(queue_up());
        const std::lock_guard lock{mutex_};
        return machine_.turn(now());
    }

    // See queue_machine.
    void passed() noexcept
    {
        const std::lock_guard lock{mutex_};
        machine_.passed();
        sessions_->note_wake(key_, false);
    }

    // The ticket is gone. True: its session is still in the wait, which is to be ended on the server.
    [[nodiscard]] bool leave()
    {
        const std::lock_guard lock{mutex_};
        waker_ = nullptr;
        const queue_position was = machine_.leave();
        if (was == queue_position::waiting) session_->inner().lock().cancel();
        if (was == queue_position::at_head) unlock_and_return();
        return was == queue_position::waiting;
    }

    // After leave(): by what number others can end the wait. 0: it has ended, or sees before it begins that it shall not.
    [[nodiscard]] std::int64_t waits_as() const
    {
        const std::lock_guard lock{mutex_};
        return session_ ? session_->inner().lock().backend() : 0;
    }

    // After leave(): whether the wait has ended by then.
    [[nodiscard]] bool has_ended(bounded_session::time_point until)
    {
        std::unique_lock lock{mutex_};
        return changed_.wait_until(lock, until, [this] { return session_ == nullptr; });
    }

private:
    static bounded_session::time_point now() { return std::chrono::steady_clock::now(); }

    // On the session's thread.
    void wait_ended()
    {
        const std::lock_guard lock{mutex_};
        const bool has_lock = has_taken_lock(session_->inner());
        connection_ = session_->inner().lock().connection_number();
        const bool has_left = machine_.position() == queue_position::left;
        if (!has_left) machine_.wait_ended(has_lock, now());
        if (has_lock && !has_left) sessions_->note_wake(key_, true);
        if (!has_lock)
            sessions_->check_in_from_wait(std::exchange(session_, nullptr), name_, 0);
        else if (has_left)  // it is for the next in the queue
            unlock_and_return();
        if (has_left) changed_.notify_all();
        if (waker_) waker_->wake();
    }

    // A session that was given up calls wait_ended() no more.
    void notice_loss()
    {
        if (machine_.position() != queue_position::waiting || !sessions_->is_lost(session_)) return;
        session_ = nullptr;
        machine_.lost(now());
    }

    void unlock_and_return() { sessions_->check_in_from_wait(std::exchange(session_, nullptr), name_, connection_); }

    const std::shared_ptr<pool> sessions_;
    const std::string name_;
    const session_lock_key key_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    waker* waker_;
    queue_machine machine_;
    session_pointer session_;
    std::uint64_t connection_ = 0;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
