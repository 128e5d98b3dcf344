// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_SESSION_LOCK_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_SESSION_LOCK_HPP

#include <leasehold/odbc/detail/driver/connection.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/session_lock_key.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace leasehold::inline v0::odbc::detail {

// The session lock of a name, as one session takes it, waits for it and gives it back. For the thread that is in the session's call,
// unless a comment says otherwise.
class session_lock {
public:
    explicit session_lock(connection& on) noexcept : db_{on} {}

    // Called for a new job.
    void reset() noexcept
    {
        held_by_ = 0;
        cancelled_ = false;
        note_asked(never_asked);  // after an exception in a wait
    }
    // Sets the lock that the job is about. `held_by`: the connection that has it, if it is to be given back.
    void set(const session_lock_key& key, std::uint64_t held_by = 0) noexcept
    {
        held_by_ = held_by;
        db_.in().lock_number = key.number();
        const auto text = key.text();
        db_.in().lock_name.assign({text.data(), text.size()});
    }

    // Any thread may call it. A wait that hasn't begun doesn't begin.
    void cancel() noexcept { cancelled_ = true; }
    [[nodiscard]] bool cancelled() const noexcept { return cancelled_; }
    // The number by which others can end the wait; 0: not known yet. Any thread may call it.
    [[nodiscard]] std::int64_t backend() const noexcept { return backend_; }

    // When the server was last asked in a wait that goes on, or the session began to connect for it; nothing: neither is under way. Any
    // thread may call it.
    [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> asked_at() const noexcept
    {
        const auto at = std::chrono::steady_clock::time_point{std::chrono::steady_clock::duration{asked_at_.load()}};
        return at == never_asked ? std::nullopt : std::optional{at};
    }

    // The number of the session's connection: the first, the second, ... Called between calls.
    [[nodiscard]] std::uint64_t connection_number() const noexcept { return connection_number_; }
    void begin_connection() noexcept
    {
        ++connection_number_;
        backend_ = 0;
    }
    // The connection is for a wait.
    void note_connecting() noexcept { note_asked(std::chrono::steady_clock::now()); }

    // `id`: lock or try_lock. False: somebody else has it, or there are no such locks.
    outcome<bool> take(statement id)
    {
        return db_.locks() ? run(id) : false;
    }

    // Without a limit, but in statements of a few seconds: a waiter that leaves cancels it. A session that has come back without the lock
    // is as it was before, or has no connection.
    outcome<bool> wait()
    {
        const auto* const locks = db_.locks();
        if (!locks) return false;
        const outcome<bool> has_it = wait_in_server(*locks);
        note_asked(never_asked);
        return has_it;
    }

    // PostgreSQL warns of a lock that isn't this session's: then a pooler has handed it to another one in between. Such locks stay
    // behind, and are in everybody's way.
    fault give_back()
    {
        if (held_by_ == 0 || held_by_ != connection_number_) return fault::none;
        const fault failed = db_.run(statement::unlock);
        if (failed == fault::none && db_.warned()) db_.disable_locks();
        return failed;
    }

    // Ends the wait of another session.
    fault end_wait_of(std::int64_t backend)
    {
        if (!db_.locks()) return fault::none;
        const fault failed = db_.end_wait(backend);
        return failed == fault::failure ? fault::none : failed;  // no such session any longer
    }

private:
    static constexpr std::int64_t lock_time_ran_out = 0;  // see dialect::session_lock_sql::lock
    static constexpr std::chrono::steady_clock::time_point never_asked{};

    outcome<bool> run(statement id)
    {
        return unless(db_.run(id), [this] { return db_.number(column::locked) == 1; });
    }

    void note_asked(std::chrono::steady_clock::time_point at) noexcept { asked_at_ = at.time_since_epoch().count(); }

    outcome<bool> wait_in_server(const dialect::session_lock_sql& locks)
    {
        note_asked(std::chrono::steady_clock::now());
        if (backend_ == 0) {
            if (const fault failed = db_.run(statement::backend); failed != fault::none) return failed;
            backend_ = db_.number(column::token);
        }
        for (;;) {
            note_asked(std::chrono::steady_clock::now());
            if (!locks.before_wait.empty())
                if (const fault failed = db_.run_text(locks.before_wait); failed != fault::none) return failed;
            if (cancelled_ || !db_.locks()) {
                release_all(locks);
                return false;
            }
            const outcome<bool> has_it = run(statement::lock);  // also if locks are disabled now: it changes back what before_wait has
            if (has_it.ok() && db_.locks() && db_.number(column::locked) == lock_time_ran_out) continue;
            const bool timed_out = has_it.failed() == fault::lock_timeout;
            const bool was_ended = timed_out || (cancelled_ && !has_it.ok() && has_it.failed() != fault::connection_lost);
            if (!was_ended) return has_it;
            // The lock may have come at that moment: on PostgreSQL the session keeps it, though the statement has failed.
            release_all(locks);
            if (!timed_out || !db_.connected()) return has_it;
        }
    }

    // Releases all locks, or drops the connection and the locks with it.
    void release_all(const dialect::session_lock_sql& locks)
    {
        const fault failed = locks.unlock_all.empty() ? db_.run(statement::unlock) : db_.run_text(locks.unlock_all);
        if (failed != fault::none) db_.disconnect();
    }

    connection& db_;
    std::uint64_t held_by_ = 0;
    std::uint64_t connection_number_ = 0;
    // Sequentially consistent: wait() tells its number and then looks whether it is cancelled; the thread that cancels sets its flag
    // and then looks for the number. So one of the two sees the other, and there is no wait that nobody can end.
    std::atomic<std::int64_t> backend_{0};
    std::atomic<bool> cancelled_{false};
    std::atomic<std::chrono::steady_clock::rep> asked_at_{never_asked.time_since_epoch().count()};
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
