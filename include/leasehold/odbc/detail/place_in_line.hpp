// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_PLACE_IN_LINE_HPP
#define LEASEHOLD_ODBC_DETAIL_PLACE_IN_LINE_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/odbc/detail/flow.hpp>
#include <leasehold/odbc/detail/lock_order.hpp>
#include <leasehold/odbc/detail/waiting_sessions.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// How much later than the first in line the others try a term that ran out: so that it is the first who gets it, and yet
// somebody does where the lock is still with a holder that hangs.
inline constexpr std::chrono::milliseconds line_grace{5};
// How long one who waits in line relies on being woken: a holder may have its term without the lock, or a lock be stuck.
inline constexpr std::chrono::seconds line_recheck{5};
// Before a session that was lost in line is replaced.
inline constexpr std::chrono::milliseconds line_retry_pause{1000};

// A waiter's place among those who wait for a name in all processes: a session of its own that waits for the session lock.
// Thread-safe.
class place_in_line : public std::enable_shared_from_this<place_in_line> {
public:
    place_in_line(std::shared_ptr<waiting_sessions> sessions, const session_lock_key& key, waker& to_wake)
        : sessions_{std::move(sessions)}, key_{key}, waker_{&to_wake}
    {
    }

    // Whether the release will wake. Not for the first in line: the lock it has won't come again, and if the name is still
    // held then, its holder has crashed or holds without the lock, and frees it without a word.
    [[nodiscard]] bool live() const
    {
        const std::lock_guard lock{mutex_};
        return state_ == state::asking;
    }

    // Queues, unless it does already. Without I/O on this thread. `token`: of the term that keeps it waiting.
    void ask(std::string_view name, std::int64_t token)
    {
        const std::lock_guard lock{mutex_};
        if (state_ == state::outside) seen_token_ = token;
        if (state_ != state::outside || std::chrono::steady_clock::now() < retry_at_) return;
        session_ = sessions_->take();
        if (!session_) return;
        session_->inner().prepare({operation::lock, name, {}, 0, {}}, bounded_session::time_point::max());
        session_->inner().set_lock_order({lock_use::none, key_});
        try {
            session_->start([self = shared_from_this()] { self->lock_ended(); });
            state_ = state::asking;
        } catch (const std::system_error&) {  // no thread to be had: then this waiter polls
            sessions_->put(std::exchange(session_, nullptr));
        }
    }

    // The session that has the lock, for one attempt, to be followed by spent(), kept() or lost(); or null. `turns`: how many
    // others are guessed to have had theirs meanwhile.
    session_pointer borrow(lock_order& order, std::int64_t turns)
    {
        const std::lock_guard lock{mutex_};
        if (state_ != state::first) return nullptr;
        state_ = state::lent;
        order = {std::exchange(handed_, false) ? lock_use::handed : lock_use::have, key_, connection_, seen_token_ + turns};
        return session_;
    }

    // Session and lock go with the term. Returns how many others have had their turn.
    std::int64_t spent(fencing_token token)
    {
        const std::lock_guard lock{mutex_};
        session_ = nullptr;
        if (state_ == state::lent) state_ = state::outside;
        return token.value() - 1 - seen_token_;
    }

    // Still the first in line, which nobody will wake: returns when to look again. Soon at first, since whoever has come in
    // between, with a single attempt, may not stay.
    duration kept()
    {
        const std::lock_guard lock{mutex_};
        if (state_ == state::lent)
            state_ = state::first;
        else
            give_lock_back();
        return std::exchange(next_look_, std::min<duration>(next_look_ * 2, longest_look));
    }

    // The lock was lost with its connection.
    void lost()
    {
        const std::lock_guard lock{mutex_};
        sessions_->drop(std::exchange(session_, nullptr));
        if (state_ == state::lent) step_out();
    }

    // The answer was that nobody holds the name, but that it is somebody else's turn. Nothing: take it all the same, since
    // whoever has the lock makes no use of it. Otherwise how long to leave it to them.
    std::optional<duration> leave_to_others(const acquire_result& answer, duration patience)
    {
        const auto over_for = -answer.remaining;
        if (over_for < std::chrono::hours{1} && answer.token.value() != 0) {  // it ran out
            // A millisecond less, for what the two clocks differ by.
            if (over_for >= line_grace - std::chrono::milliseconds{1}) return std::nullopt;
            return line_grace - over_for;
        }
        const std::lock_guard lock{mutex_};
        const auto now = std::chrono::steady_clock::now();
        if (free_since_ == bounded_session::time_point{} || free_token_ != answer.token.value()) {
            free_token_ = answer.token.value();
            free_since_ = now;
        }
        const auto waited = now - free_since_;
        if (waited >= patience) return std::nullopt;
        return std::chrono::duration_cast<duration>(patience - waited);
    }

    // Nobody waits any more. True: its session is still in the wait, which is to be ended on the server.
    [[nodiscard]] bool end()
    {
        const std::lock_guard lock{mutex_};
        waker_ = nullptr;
        const state was = std::exchange(state_, state::ended);
        if (was == state::asking) session_->inner().cancel_lock();
        if (was == state::first) give_lock_back();
        return was == state::asking;
    }

    // After end(): by what number others can end the wait. 0: it has ended, or sees before it begins that it shall not.
    [[nodiscard]] std::int64_t waits_as() const
    {
        const std::lock_guard lock{mutex_};
        return session_ ? session_->inner().backend() : 0;
    }

    // After end(): whether the wait has ended by then.
    [[nodiscard]] bool has_ended(bounded_session::time_point until)
    {
        std::unique_lock lock{mutex_};
        return changed_.wait_until(lock, until, [this] { return session_ == nullptr; });
    }

private:
    static constexpr std::chrono::milliseconds first_look{1};
    static constexpr std::chrono::milliseconds longest_look{500};

    enum class state : std::uint8_t { outside, asking, first, lent, ended };

    [[nodiscard]] bool has_lock() const
    {
        const answer& result = session_->inner().result();
        return result.failed == fault::none && result.yes;
    }

    // On the session's thread.
    void lock_ended()
    {
        const std::lock_guard lock{mutex_};
        if (state_ == state::ended) return leave();
        if (has_lock()) {
            state_ = state::first;
            handed_ = true;
            next_look_ = first_look;
            connection_ = session_->inner().connection_number();
        } else {
            sessions_->put(std::exchange(session_, nullptr));
            step_out();
        }
        if (waker_) waker_->wake();
    }

    // With nobody who waits: the lock, if it came after all, is for the next in line.
    void leave()
    {
        if (has_lock()) {
            connection_ = session_->inner().connection_number();
            give_lock_back();
        } else {
            sessions_->put(std::exchange(session_, nullptr));
        }
        changed_.notify_all();
    }

    void step_out()
    {
        state_ = state::outside;
        retry_at_ = std::chrono::steady_clock::now() + line_retry_pause;
    }

    // On the session's own thread, for nobody is to wait for it.
    void give_lock_back()
    {
        session_pointer session = std::exchange(session_, nullptr);
        session->inner().prepare({operation::unlock, {}, {}, 0, {}}, std::chrono::steady_clock::now() + session->patience());
        session->inner().set_lock_order({lock_use::have, key_, connection_, 0});
        session->start([sessions = sessions_, session] {
            if (session->inner().result().failed == fault::none)
                sessions->put(session);
            else
                sessions->drop(session);
        });
    }

    const std::shared_ptr<waiting_sessions> sessions_;
    const session_lock_key key_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    waker* waker_;
    state state_ = state::outside;
    session_pointer session_;
    std::uint64_t connection_ = 0;
    std::int64_t seen_token_ = 0;  // of the term that held the name when this one got in line
    bool handed_ = false;
    duration next_look_ = first_look;
    bounded_session::time_point retry_at_{};
    bounded_session::time_point free_since_{};
    std::int64_t free_token_ = 0;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
