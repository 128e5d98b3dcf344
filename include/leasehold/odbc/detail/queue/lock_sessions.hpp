// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_QUEUE_LOCK_SESSIONS_HPP
#define LEASEHOLD_ODBC_DETAIL_QUEUE_LOCK_SESSIONS_HPP

#include <leasehold/odbc/detail/driver/configuration.hpp>
#include <leasehold/odbc/detail/flow/session_lock_key.hpp>
#include <leasehold/odbc/detail/session/bounded_session.hpp>
#include <leasehold/odbc/detail/session/pool.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// The sessions that have waited for a lock, and have it for a term. Thread-safe.
class held_locks {
public:
    struct entry {
        std::shared_ptr<bounded_session> session;
        std::uint64_t connection = 0;  // of that session; the lock is gone with it
        std::int64_t token = 0;
    };

    // It can only replace the lock of a connection that is gone.
    std::optional<entry> put(std::string_view name, entry what)
    {
        const std::lock_guard lock{mutex_};
        const auto [position, is_new] = entries_.try_emplace(std::string{name}, what);
        count_ = entries_.size();
        if (is_new) return std::nullopt;
        return std::exchange(position->second, std::move(what));
    }

    // The terms up to that token are over. The lock of one of them, to be given back by the caller.
    std::optional<entry> take(std::string_view name, std::int64_t last)
    {
        if (count_ == 0) return std::nullopt;
        const std::lock_guard lock{mutex_};
        const auto found = entries_.find(name);
        if (found == entries_.end() || found->second.token > last) return std::nullopt;
        entry taken = std::move(found->second);
        entries_.erase(found);
        count_ = entries_.size();
        return taken;
    }

    // All, at the end.
    std::map<std::string, entry, std::less<>> take_all()
    {
        const std::lock_guard lock{mutex_};
        count_ = 0;
        return std::exchange(entries_, {});
    }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
    mutable std::mutex mutex_;
    std::map<std::string, entry, std::less<>> entries_;
    // Changed under the mutex. Read without it: a term's put() has happened before its release, so that take() sees that there is one. A
    // take() because of a later term may miss one that another thread is just putting there; that costs its waiters a moment.
    std::atomic<std::size_t> count_{0};
};

// Most sessions of a store that wait for a lock, or hold a term they have waited for; beyond that waiters poll.
inline constexpr std::size_t max_waiting_sessions = 32;
// Most of them that are kept for later waits.
inline constexpr std::size_t max_idle_waiting_sessions = 4;

// The sessions that wait for a session lock: apart from the pool, because they are not free for anything else. Shared with
// those that were given up. Thread-safe.
class lock_sessions : public std::enable_shared_from_this<lock_sessions> {
public:
    lock_sessions(std::shared_ptr<const configuration> config, std::shared_ptr<pool> calls)
        : config_{std::move(config)}, calls_{std::move(calls)}
    {
    }

    // Whether the last wake-up for the name came that was due. Names share a few places: one may be asked for too often.
    [[nodiscard]] bool wakes_come(const session_lock_key& key) const noexcept { return !failed_wakes_[place_of(key)]; }
    void note_wake(const session_lock_key& key, bool came) noexcept { failed_wakes_[place_of(key)] = !came; }

    // Null: there are too many.
    session_pointer check_out()
    {
        const std::lock_guard lock{mutex_};
        if (!idle_.empty()) {
            session_pointer last = std::move(idle_.back());
            idle_.pop_back();
            return last;
        }
        if (closed_ || open_ >= max_waiting_sessions) return nullptr;
        const auto late = [self = shared_from_this()](bounded_session& session) {
            self->calls_->came_late(session);
            const std::lock_guard late_lock{self->mutex_};
            --self->open_;
        };
        auto made = std::make_shared<bounded_session>(config_, false, late, true);
        ++open_;
        return made;
    }

    // For a session that has no lock and is in no call.
    void put_back(session_pointer session)
    {
        const std::lock_guard lock{mutex_};
        if (!closed_ && idle_.size() < max_idle_waiting_sessions) return idle_.push_back(std::move(session));
        --open_;
        session->leave();
    }

    // For a session that has a lock, on that connection. The session's own thread gives it back, so that nobody waits for it.
    void unlock_and_put_back(session_pointer session, const session_lock_key& key, std::uint64_t connection)
    {
        session->inner().prepare({operation::unlock, {}, {}, 0, {}}, std::chrono::steady_clock::now() + config_->options().call_timeout);
        session->inner().lock().set(key, connection);
        session_pointer started = session;
        started->start([self = shared_from_this(), session = std::move(session)] {
            if (session->inner().result().failed == fault::none)
                self->put_back(session);
            else
                self->drop(session);
        });
    }

    // Ends a session, and its locks with its connection. Doesn't wait for that.
    void drop(const session_pointer& session)
    {
        const std::lock_guard lock{mutex_};
        if (session->leave()) --open_;
    }

    // Ends idle sessions; waits for them until the deadline.
    void close(bounded_session::time_point deadline)
    {
        std::vector<session_pointer> ending;
        {
            const std::lock_guard lock{mutex_};
            closed_ = true;
            ending.swap(idle_);
            open_ -= ending.size();
        }
        for (const session_pointer& each : ending) each->ask_to_stop();
        for (const session_pointer& each : ending) each->wait_stopped(deadline);
    }

private:
    [[nodiscard]] std::size_t place_of(const session_lock_key& key) const noexcept
    {
        return static_cast<std::uint64_t>(key.number()) % failed_wakes_.size();
    }

    std::array<std::atomic<bool>, 256> failed_wakes_{};
    std::shared_ptr<const configuration> config_;
    std::shared_ptr<pool> calls_;
    std::mutex mutex_;
    std::vector<session_pointer> idle_;
    std::size_t open_ = 0;
    bool closed_ = false;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
