// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_QUEUE_WAITING_TICKET_HPP
#define LEASEHOLD_ODBC_DETAIL_QUEUE_WAITING_TICKET_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/odbc/detail/queue/lock_sessions.hpp>
#include <leasehold/odbc/detail/queue/session_lock_key.hpp>

#include <algorithm>
#include <cassert>
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

// How much later than the first in the queue the others try a term that is over: so that it is the first who gets it, and yet
// somebody does where the lock is stuck, with a frozen process or behind a pooler.
inline constexpr std::chrono::milliseconds overtake_delay{25};
// When a waiter looks at the row for the first time, to know when the term ends that keeps it waiting.
inline constexpr std::chrono::milliseconds first_look{250};
// How long a waiter leaves the lock to a holder that has none yet, for the first time, and how often, each time for twice as long:
// the holder's store may have to connect first.
inline constexpr std::chrono::milliseconds yield_pause{50};
inline constexpr int max_yields = 4;
// How long a waiter relies on being woken: a holder may have its term without the lock, or a lock be stuck.
inline constexpr std::chrono::seconds longest_trust{5};
// Before a session that was lost in the queue is replaced.
inline constexpr std::chrono::milliseconds requeue_pause{1000};

// A waiter's place in the queue for a name, among those of all processes: a session of its own that waits for the session lock.
//
// Used by one thread, beside which the session's own tells how the wait for the lock has ended.
class waiting_ticket : public std::enable_shared_from_this<waiting_ticket> {
public:
    enum class position : std::uint8_t {
        outside,  // no session
        waiting,  // it waits for the lock
        at_head,  // it has the lock
        left      // the ticket is gone
    };

    waiting_ticket(std::shared_ptr<lock_sessions> sessions, std::string_view table, std::string_view name, waker& to_wake)
        : sessions_{std::move(sessions)}, name_{name}, key_{table, name}, waker_{&to_wake}
    {
    }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const session_lock_key& key() const noexcept { return key_; }
    [[nodiscard]] const session_pointer& session() const noexcept { return session_; }
    // Which of the session's connections has the lock.
    [[nodiscard]] std::uint64_t connection() const noexcept { return connection_; }

    [[nodiscard]] position where() const
    {
        const std::lock_guard lock{mutex_};
        return position_;
    }

    // From outside: waits for the lock in the background. False: not now, for there is no session or no thread for it.
    bool queue_up()
    {
        const std::lock_guard lock{mutex_};
        assert(position_ == position::outside);
        if (std::chrono::steady_clock::now() < retry_at_) return false;
        session_ = sessions_->check_out();
        if (!session_) return false;
        session_->inner().prepare({operation::lock, name_, {}, 0, {}}, bounded_session::time_point::max());
        session_->inner().set_lock(key_);
        position_ = position::waiting;
        try {
            session_->start([self = shared_from_this()] { self->wait_ended(); });
        } catch (const std::system_error&) {
            step_out();
            return false;
        }
        return true;
    }

    // Session and lock went with the term, or the session to its thread.
    void give_session_away()
    {
        const std::lock_guard lock{mutex_};
        session_ = nullptr;
        position_ = position::outside;
    }

    // It isn't known any more what its connection has.
    void drop()
    {
        const std::lock_guard lock{mutex_};
        sessions_->drop(std::exchange(session_, nullptr));
        position_ = position::outside;
        retry_at_ = std::chrono::steady_clock::now() + requeue_pause;
    }

    // At the head, but somebody else has a term that goes on for `remaining`: a single attempt takes its lock a little later. Leaves
    // the lock to it and queues again after the pause that is returned. Nothing: it has done so often enough.
    [[nodiscard]] std::optional<duration> yield(duration remaining)
    {
        const duration pause = yield_pause * (1 << yields_);
        if (remaining <= pause || yields_ >= max_yields) return std::nullopt;
        ++yields_;
        const std::lock_guard lock{mutex_};
        unlock_and_return();
        position_ = position::outside;
        const auto now = std::chrono::steady_clock::now();
        retry_at_ = now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(pause);
        term_ends_ = now + std::min<duration>(remaining, longest_trust);
        return pause;
    }

    // When one who waits for the lock looks at the row: a little after the term that it knows of.
    [[nodiscard]] duration look_after() const
    {
        const duration known = term_ends_ - std::chrono::steady_clock::now();
        return known > duration::zero() ? known + overtake_delay : duration{first_look};
    }

    // At the head, where nobody will wake it: when to look again. Soon at first, for who came in between with a single attempt may
    // not stay.
    [[nodiscard]] duration next_look() { return std::exchange(look_, std::min<duration>(look_ * 2, longest_look)); }

    // Nobody holds the name, after that token, but somebody else has the lock: how long to leave it to them; nothing: they make no
    // use of it.
    [[nodiscard]] std::optional<duration> leave_to_next(fencing_token token)
    {
        const auto now = std::chrono::steady_clock::now();
        if (free_since_ == bounded_session::time_point{} || free_after_ != token) {
            free_after_ = token;
            free_since_ = now;
        }
        const auto waited = now - free_since_;
        if (waited >= overtake_delay) return std::nullopt;
        return std::chrono::duration_cast<duration>(overtake_delay - waited);
    }

    // The ticket is gone. True: its session is still in the wait, which is to be ended on the server.
    [[nodiscard]] bool leave()
    {
        const std::lock_guard lock{mutex_};
        waker_ = nullptr;
        const position was = std::exchange(position_, position::left);
        if (was == position::waiting) session_->inner().cancel_lock();
        if (was == position::at_head) unlock_and_return();
        return was == position::waiting;
    }

    // After leave(): by what number others can end the wait. 0: it has ended, or sees before it begins that it shall not.
    [[nodiscard]] std::int64_t waits_as() const
    {
        const std::lock_guard lock{mutex_};
        return session_ ? session_->inner().backend() : 0;
    }

    // After leave(): whether the wait has ended by then.
    [[nodiscard]] bool has_ended(bounded_session::time_point until)
    {
        std::unique_lock lock{mutex_};
        return changed_.wait_until(lock, until, [this] { return session_ == nullptr; });
    }

private:
    static constexpr std::chrono::milliseconds shortest_look{1};
    static constexpr std::chrono::milliseconds longest_look{500};

    [[nodiscard]] bool got_lock() const
    {
        const answer& result = session_->inner().result();
        return result.failed == fault::none && result.yes;
    }

    // On the session's thread.
    void wait_ended()
    {
        const std::lock_guard lock{mutex_};
        if (position_ == position::left) {
            if (got_lock()) {  // it is for the next in the queue
                connection_ = session_->inner().connection_number();
                unlock_and_return();
            } else {
                sessions_->put_back(std::exchange(session_, nullptr));
            }
            changed_.notify_all();
            return;
        }
        if (got_lock()) {
            position_ = position::at_head;
            connection_ = session_->inner().connection_number();
            look_ = shortest_look;
        } else {
            step_out();
        }
        if (waker_) waker_->wake();
    }

    void step_out()
    {
        sessions_->put_back(std::exchange(session_, nullptr));
        position_ = position::outside;
        retry_at_ = std::chrono::steady_clock::now() + requeue_pause;
    }

    void unlock_and_return() { sessions_->unlock_and_put_back(std::exchange(session_, nullptr), key_, connection_); }

    const std::shared_ptr<lock_sessions> sessions_;
    const std::string name_;
    const session_lock_key key_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    waker* waker_;
    position position_ = position::outside;
    session_pointer session_;
    std::uint64_t connection_ = 0;
    duration look_ = shortest_look;
    bounded_session::time_point retry_at_{};
    bounded_session::time_point free_since_{};
    fencing_token free_after_{};
    int yields_ = 0;
    bounded_session::time_point term_ends_{};
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
