// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_POOL_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_POOL_HPP

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/odbc/detail/driver/configuration.hpp>
#include <leasehold/odbc/detail/flow/session_lock_key.hpp>
#include <leasehold/odbc/detail/session/bounded_session.hpp>
#include <leasehold/odbc/detail/session/job.hpp>
#include <leasehold/odbc/detail/session/steps.hpp>
#include <leasehold/odbc/detail/session/term_locks.hpp>
#include <leasehold/odbc/detail/session/token_hints.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// Most calls that may hang in their driver, beyond pool_size: all sessions of the pool may go dead at once, and must not keep new ones
// from being made. While there are so many, calls fail at once.
inline constexpr std::size_t abandoned_calls_max = 16;

// Most sessions of a store beyond pool_size: they wait for a lock, or have waited and have it for a term. Further
// waiters poll.
inline constexpr std::size_t max_waiting_sessions = 32;
// Most of them that are kept for later waits.
inline constexpr std::size_t max_idle_waiting_sessions = 4;
// A session that was idle for longer may have lost its connection without a word: a router forgets one on which nothing is sent.
inline constexpr std::chrono::seconds trusted_while_idle{30};
// A dialect's statement that waits for a session lock lasts no longer than this.
inline constexpr std::chrono::seconds longest_lock_statement{5};
// A session whose statement seems to have hung in a wait is given up this long after that was first seen: this process may have been
// frozen, and the session's thread not have read yet what the server has answered.
inline constexpr std::chrono::seconds patience_with_silence{1};
// How long a call waits for a session that does something nobody waits for, which is one statement, before it makes another one.
inline constexpr std::chrono::milliseconds patience_with_chores{20};
// How long a session that has just done a chore leaves the next one undone while calls wait for a session.
inline constexpr std::chrono::milliseconds chores_give_way{1};

// The sessions of a store, and the session locks of its terms, which belong to the sessions that took them. Shared with those sessions
// that were given up, which may outlive the store. Thread-safe.
//
// | | a session | its locks |
// |---|---|---|
// | check_out | is its caller's, for a call or to wait for a lock | stay; its chores wait until it is back |
// | check_in | does its most urgent chore, and is idle | the lock that it waited for is a term's, or is given back |
// | abandon | is left to its thread | are forgotten: they go with its connection |
// | came_late | ends, or is idle if it has done nothing but connect | |
// | release | stays | of the terms that are over: given back, at once where the session is idle |
class pool : public std::enable_shared_from_this<pool> {
public:
    using time_point = session::time_point;

    pool(std::shared_ptr<const configuration> config, bool in_process)
        : config_{std::move(config)}, runs_inline_{in_process}, locks_{config_->options().max_session_locks}
    {
    }

    // Returns a session that is prepared for the job: an idle one, or a new one, or, when there are enough, the next to come back.
    // Null: `refused` is timeout (none was free in time) or unavailable (too many were given up). A call that has waited for a session does
    // not begin what could not end in time if it meets a locked row: it would be taken for one that hangs.
    session_pointer check_out(const call_texts& texts, const job& wanted, time_point deadline, fault& refused)
    {
        std::unique_lock lock{mutex_};
        std::optional<time_point> patient_until, begin_by;
        for (;;) {
            abandon_the_overdue();
            if (abandoned_.size() >= most_calls()) {
                refused = fault::unavailable;
                return nullptr;
            }
            const time_point now = std::chrono::steady_clock::now();
            if (!begin_by) {
                patient_until = now + patience_with_chores;
                begin_by = deadline - now > 2 * config_->lock_timeout() ? deadline - config_->lock_timeout() : deadline;
            } else if (now >= *begin_by) {
                changed_.notify_one();  // it may have been woken for a session that another caller can use
                refused = fault::timeout;
                return nullptr;
            }
            const bool may_make = has_room() && for_calls() < config_->options().pool_size;
            session_pointer best = has_room() ? best_idle(texts.name, wanted.traits.ends_token) : nullptr;
            if (best && !(best->is_suspect && may_make)) return begin(std::move(best), texts, wanted, deadline);
            const bool waits_for_chores = may_make && !detached_.empty() && now < *patient_until;
            if (may_make && !waits_for_chores) return begin(make(), texts, wanted, deadline);
            if (now >= *begin_by) {
                refused = fault::timeout;
                return nullptr;
            }
            ++callers_;
            changed_.wait_until(lock, waits_for_chores ? std::min(*begin_by, *patient_until) : *begin_by);
            --callers_;
        }
    }

    // Begins a call on a session that is out to wait, and has the lock. False: too many calls hang.
    bool check_out(const session_pointer& waiting, const call_texts& texts, const job& wanted, time_point deadline)
    {
        const std::lock_guard lock{mutex_};
        abandon_the_overdue();
        if (!has_room()) return false;
        begin(waiting, texts, wanted, deadline);
        return true;
    }

    // Takes out a session to wait for a lock. Null: there are too many. One session stays for calls: to end the wait takes one.
    session_pointer check_out_to_wait()
    {
        const std::lock_guard lock{mutex_};
        if (closed_) return nullptr;
        const auto idle = std::find_if(idle_.rbegin(), idle_.rend(), [this](const auto& candidate) { return is_unburdened(*candidate); });
        const bool makes = idle == idle_.rend() || for_calls() == 1;
        const bool grows = makes || for_calls() <= config_->options().pool_size;
        if (grows && beyond_calls() >= max_waiting_sessions) {
            give_up_silent_waits();  // for the next waiter
            return nullptr;
        }
        waiting_.reserve(waiting_.size() + 1);
        session_pointer session = makes ? make() : *idle;
        std::erase(idle_, session);
        session->waits = true;
        session->silent_since.reset();
        waiting_.push_back(session);
        return session;
    }

    // Whether a session that was checked out to wait, and has not come back, is not to be expected back: its server is silent. Then it is
    // given up. Nothing is sent on a connection that waits, so the system does not notice that it is dead.
    bool is_lost(const session_pointer& waiting)
    {
        const std::lock_guard lock{mutex_};
        give_up_silent_waits();
        return std::ranges::find(waiting_, waiting) == waiting_.end();
    }

    // Ends a call, before its caller gets the result, which `done` has already. A session that is checked out to wait stays checked out.
    // The caller of a call that throws gets no result, and so would never give back the locks of terms that it was granted.
    void check_in(session_pointer session, const call_texts& texts, const job& done)
    {
        session->become_direct_if_in_process();
        const std::lock_guard lock{mutex_};
        runs_inline_ = runs_inline_ || session->runs_inline();
        if (done.traits.ends_token != 0) locks_.ended(texts.name, done.traits.ends_token);
        const bool notes_granted = !session->waits && !session->inner().thrown();
        for (item_number i = 0; notes_granted && i < done.attempts_made(); ++i) note_granted(*session, done.attempt(i, texts));
        end_call(session);
        if (session->waits) {
            session->last_return = ++uses_;
            changed_.notify_one();
        } else {
            settle(std::move(session));
        }
        release_where_idle();
    }

    // Ends a wait. `connection`: the connection that has the lock of that name, which no term needs; 0: none has it.
    void check_in_from_wait(session_pointer session, std::string_view name, std::uint64_t connection)
    {
        const std::lock_guard lock{mutex_};
        end_wait(*session);
        try {
            if (connection != 0) locks_.give_back(name, session.get(), connection);
        } catch (const std::bad_alloc&) {
            return end(*session);
        }
        settle(std::move(session));
    }

    // Ends a wait for the term of that name. The lock belongs to the term from now on.
    void check_in_from_wait(session_pointer session, std::string_view name, std::int64_t token, std::uint64_t connection)
    {
        const std::lock_guard lock{mutex_};
        end_wait(*session);
        try {
            locks_.granted_with_lock(name, token, name, session.get(), connection);
        } catch (const std::bad_alloc&) {
            return end(*session);  // nobody will give the lock back
        }
        settle(std::move(session));
        release_where_idle();
    }

    // Leaves a session whose call hangs to its thread, and makes room for another. False: it has just come back, and is still the caller's.
    bool abandon(const session_pointer& session)
    {
        const std::lock_guard lock{mutex_};
        return abandon_locked(session);
    }

    // Abandons a session that is checked out to wait and makes no call: nobody knows what its connection has. Does not wait for its end.
    void abandon_waiting(const session_pointer& session)
    {
        const std::lock_guard lock{mutex_};
        end_wait(*session);
        end(*session);
    }

    // The terms of that name up to that token are over.
    void release(std::string_view name, std::int64_t last)
    {
        const std::lock_guard lock{mutex_};
        locks_.ended(name, last);
        release_where_idle();
    }

    // Releases all locks if the store no longer uses them: the server has no room for more, or they don't work.
    void release_all_if_disabled()
    {
        if (!config_->session_locks_disabled()) return;
        const std::lock_guard lock{mutex_};
        locks_.release_all_locks();
        release_where_idle();
    }

    // Whether the last due wake-up for the name came. Names share a few places: one may be asked for too often.
    [[nodiscard]] bool wakes_come(const session_lock_key& key) const noexcept { return !failed_wakes_[place_of(key)]; }
    void note_wake(const session_lock_key& key, bool came) noexcept { failed_wakes_[place_of(key)] = !came; }

    // Carries out what a session from check_out() was prepared for, while nobody waits for it. The session checks itself in. If it
    // hangs for longer than calls may last, the next caller that needs a session abandons it.
    void run_detached(const session_pointer& session)
    {
        {
            const std::lock_guard lock{mutex_};
            detached_.push_back({session, std::chrono::steady_clock::now() + config_->options().call_timeout});
        }
        session->start([self = shared_from_this(), session] { self->check_in(session, {}, session->inner().done()); });
    }

    // Whether such a call has not come back.
    [[nodiscard]] bool runs_detached(const session_pointer& session) const
    {
        const std::lock_guard lock{mutex_};
        return std::ranges::any_of(detached_, [&](const detached_call& call) { return call.session == session; });
    }

    // On the thread of a session that was given up; does nothing unless that was in a call. Its caller was told of a time-out, so nobody
    // knows of the terms that it was granted, and they are ended. But a term that took over its own owner's unexpired one runs out: the
    // holder of the older term may still believe in it, and the next holder would be a second one. A session that has just connected goes
    // to the next call: otherwise a server that takes longer to connect to than a call may take would never be connected to.
    void came_late(bounded_session& back)
    {
        const auto is_it = [&back](const session_pointer& abandoned) { return abandoned.get() == &back; };
        {
            const std::lock_guard lock{mutex_};
            if (std::ranges::none_of(abandoned_, is_it)) return;
        }
        const bool only_connected = back.inner().only_connected();  // perhaps again, after it has lost a connection
        std::error_code without;  // memory: then they run out, too
        leasehold::detail::catch_into(without, [&back] { undo_grants(back.inner()); });
        const std::lock_guard lock{mutex_};
        std::erase_if(abandoned_, is_it);
        if (only_connected) take_back(back);
        changed_.notify_all();
    }

    // See token_hints.
    void put_hint(std::string_view name, std::int64_t hint)
    {
        const std::lock_guard lock{mutex_};
        hints_.put(name, hint);
    }
    std::int64_t take_hint(std::string_view name)
    {
        const std::lock_guard lock{mutex_};
        return hints_.take(name);
    }

    // Undoes check_out() if the call could not start. Ends the session, which may have a thread and locks from earlier calls, unless it is
    // checked out to wait.
    void drop(const session_pointer& session)
    {
        const std::lock_guard lock{mutex_};
        end_call(session);
        if (!session->waits) return end(*session);
        changed_.notify_one();
    }

    // Ends idle sessions. Waits until the deadline for them, and for detached calls, but for no session that was given up.
    void close(time_point deadline)
    {
        std::vector<session_pointer> ending;
        {
            std::unique_lock lock{mutex_};
            closing_ = true;  // locks go with their sessions
            changed_.wait_until(lock, deadline, [this] { return detached_.empty(); });
            closed_ = true;
            ending.swap(idle_);
            open_ -= ending.size();
        }
        for (const session_pointer& session : ending) session->ask_to_stop();
        for (const session_pointer& session : ending) session->wait_stopped(deadline);
    }

    struct counts {
        std::size_t sessions, hanging, locks;
        std::uint64_t abandoned_calls;  // so far
    };
    [[nodiscard]] counts count() const
    {
        const std::lock_guard lock{mutex_};
        return {std::min(for_calls(), config_->options().pool_size), abandoned_.size(), locks_.size(), abandoned_calls_};
    }

private:
    struct detached_call {
        session_pointer session;
        time_point until;
    };

    // Allocates nothing, see begin(): a session that hangs must not be taken for one that never started.
    bool abandon_locked(const session_pointer& session)
    {
        if (!session->give_up()) return false;
        end_call(session);
        abandoned_.push_back(session);
        if (session->waits) end_wait(*session);
        --open_;
        locks_.forget(session.get());
        ++abandoned_calls_;
        drop_idle_since(session->last_use);
        changed_.notify_all();
        return true;
    }

    // Does nothing if there is no use for the session any longer, or no memory.
    void take_back(bounded_session& back)
    {
        if (closed_) return;
        try {
            idle_.reserve(open_ + 1);  // as in make()
        } catch (const std::bad_alloc&) {
            return;
        }
        back.take_back();
        ++open_;
        back.may_be_extra = true;
        for (const session_pointer& active : active_) active->may_be_extra = active->may_be_extra || connects(*active);
        settle(back.shared_from_this());
    }

    void end_call(const session_pointer& session)
    {
        std::erase(active_, session);
        std::erase_if(detached_, [&](const detached_call& call) { return call.session == session; });
    }

    // One session hung, perhaps because a router forgot its connections. The same may have happened to all that have not answered
    // since. A new connection is cheap, another call that hangs is not. Locks would be lost, so that sessions that have some are only used
    // last.
    void drop_idle_since(std::uint64_t use)
    {
        open_ -= std::erase_if(idle_, [use, this](const session_pointer& idle) {
            if (idle->last_return >= use) return false;
            idle->is_suspect = locks_.has_any(idle.get());
            return !idle->is_suspect && idle->leave();
        });
    }

    // A call that has just returned checks its session in by itself.
    void abandon_the_overdue()
    {
        if (detached_.empty()) return;
        const auto now = std::chrono::steady_clock::now();
        for (std::size_t i = detached_.size(); i-- > 0;)
            if (detached_[i].until <= now) abandon_locked(session_pointer{detached_[i].session});
    }

    [[nodiscard]] std::size_t most_calls() const noexcept { return abandoned_calls_max + config_->options().pool_size; }
    [[nodiscard]] bool has_room() const noexcept { return active_.size() + abandoned_.size() < most_calls(); }

    // How many sessions make calls or are idle.
    [[nodiscard]] std::size_t for_calls() const noexcept { return open_ - waiting_.size(); }
    // How many of these are connected. A session that is still connecting does not count.
    [[nodiscard]] std::size_t connected() const noexcept
    {
        const auto does = [](const session_pointer& active) { return connects(*active); };
        return for_calls() - static_cast<std::size_t>(std::ranges::count_if(active_, does));
    }
    static bool connects(bounded_session& active) noexcept { return !active.waits && active.inner().is_connecting(); }
    // Whether there are more than that which are connected, a new one included.
    [[nodiscard]] bool has_more_than(std::size_t most) const noexcept { return for_calls() > most && connected() > most; }
    [[nodiscard]] std::size_t beyond_calls() const noexcept
    {
        return waiting_.size() + (for_calls() > config_->options().pool_size ? for_calls() - config_->options().pool_size : 0);
    }

    [[nodiscard]] bool is_unburdened(const bounded_session& idle) const noexcept { return !idle.is_suspect && !locks_.has_any(&idle); }

    static bool is_trusted(const bounded_session& idle) noexcept
    {
        return std::chrono::steady_clock::now() - idle.idle_since < trusted_while_idle;
    }

    // Picks the session with the lock of the term that ends, unless it was idle for long: renewals go to others meanwhile. Else picks
    // the last one used that has no lock, so that the others can do their chores. A suspect comes last. Null: none is idle.
    session_pointer best_idle(std::string_view name, std::int64_t ends_token) const
    {
        if (idle_.empty()) return nullptr;
        if (!locks_.empty() && ends_token != 0)
            if (const auto holder = locks_.holder_of(name, ends_token))
                for (const session_pointer& idle : idle_)
                    if (idle.get() == holder && !idle->is_suspect && is_trusted(*idle)) return idle;
        const auto worth = [this](const session_pointer& idle) { return is_unburdened(*idle) ? 2 : idle->is_suspect ? 0 : 1; };
        return *std::ranges::max_element(idle_.rbegin(), idle_.rend(), {}, worth);
    }

    session_pointer begin(session_pointer session, const call_texts& texts, const job& wanted, time_point deadline)
    {
        session->inner().prepare(texts, wanted, deadline);
        abandoned_.reserve(abandoned_.size() + active_.size() + 1);  // giving up any active one allocates nothing
        active_.push_back(session);
        std::erase(idle_, session);  // last: what comes before may throw, and then the session stays idle
        session->last_use = ++uses_;
        return session;
    }

    // Makes an idle session.
    session_pointer make()
    {
        idle_.reserve(open_ + 1);  // so that to check in allocates nothing
        active_.reserve(open_ + 1);
        const auto on_return = [self = shared_from_this()](bounded_session& session) { self->came_late(session); };
        const auto on_due = [self = shared_from_this()](bounded_session& session) { self->do_chore(session); };
        idle_.push_back(std::make_shared<bounded_session>(config_, runs_inline_, bounded_session::handlers{on_return, on_due}));
        ++open_;
        return idle_.back();
    }

    // Notes a term that was granted to an attempt. It gets its lock a little later.
    void note_granted(const bounded_session& by, const job_attempt& made) noexcept
    {
        if (!made.answer || !made.answer->result.granted()) return;
        const std::int64_t token = made.answer->result.token.value();
        if (made.wakes.empty()) locks_.ended(made.name, token);
        if (made.wakes.empty() || !config_->session_locks()) return;
        try {
            locks_.granted(made.name, token, made.wakes, &by, std::chrono::steady_clock::now());
        } catch (const std::bad_alloc&) {
            // A term without a lock.
        }
    }

    void end_wait(bounded_session& session) noexcept
    {
        session.waits = false;
        std::erase_if(waiting_, [&session](const session_pointer& waiting) { return waiting.get() == &session; });
    }

    // Their threads end when the driver comes back. They don't count as calls that hang, which would keep others from being made.
    void give_up_silent_waits()
    {
        const auto now = std::chrono::steady_clock::now();
        for (std::size_t i = waiting_.size(); i-- > 0;) {
            const session_pointer session = waiting_[i];
            const auto asked_at = session->inner().lock().asked_at();
            if (!asked_at || now - *asked_at <= longest_lock_statement + config_->options().call_timeout)
                session->silent_since.reset();
            else if (!session->silent_since)
                session->silent_since = now;
            else if (now - *session->silent_since >= patience_with_silence && session->give_up())
                forget_wait(*session);
        }
    }
    void forget_wait(bounded_session& given_up)
    {
        end_wait(given_up);
        locks_.forget(&given_up);
        --open_;
        ++abandoned_calls_;
        changed_.notify_one();
    }

    // Ends a session that is in no call.
    void end(bounded_session& session)
    {
        locks_.forget(&session);
        --open_;
        session.leave();
        changed_.notify_one();
    }

    // Makes a session idle that is in no call and no caller's, or has it give a lock back. Calls that wait for a session wait for one
    // statement at most.
    void settle(session_pointer session, bool after_chore = false)
    {
        session->last_return = ++uses_;
        session->idle_since = std::chrono::steady_clock::now();
        session->is_suspect = false;
        if (!locks_.empty()) locks_.keep_only(session.get(), session->inner().connection_number());
        const bool is_burdened = locks_.has_any(session.get());
        const std::size_t pool_size = config_->options().pool_size;
        session->may_be_extra = session->may_be_extra && has_more_than(pool_size);
        const bool too_many = session->may_be_extra || has_more_than(pool_size + max_idle_waiting_sessions);
        if (closed_ || (too_many && !is_burdened)) return end(*session);
        idle_.push_back(session);
        if (is_burdened && after_chore && callers_ > 0)
            session->set_due(std::chrono::steady_clock::now());
        else if (is_burdened)
            begin_chore(session);
        changed_.notify_one();
    }

    // Begins what an idle session has to give back, or else tells its thread when its next chore is due.
    void begin_chore(const session_pointer& idle)
    {
        if (closing_) return;
        if (locks_.has_to_release(idle.get()))
            start_chore(idle, *locks_.begin(idle.get(), time_point::min()));
        else if (const auto due = locks_.next_due(idle.get()))
            idle->set_due(*due);
    }

    void release_where_idle()
    {
        if (closing_) return;
        const auto has_some = [this](const session_pointer& idle) { return locks_.has_to_release(idle.get()); };
        while (locks_.has_to_release()) {
            const auto next = std::ranges::find_if(idle_, has_some);
            if (next == idle_.end()) return;  // the others do it when they are back
            begin_chore(session_pointer{*next});
        }
    }

    // On the session's thread, some time after set_due().
    void do_chore(bounded_session& session)
    {
        const std::lock_guard lock{mutex_};
        const auto found = std::ranges::find(idle_, &session, &session_pointer::get);
        if (found == idle_.end() || closing_) return;  // not idle: told again when it is
        const session_pointer idle = *found;
        const auto now = std::chrono::steady_clock::now();
        if (callers_ > 0) return idle->set_due(now + chores_give_way);
        try {
            if (const auto chore = locks_.begin(idle.get(), now)) return start_chore(idle, *chore);
        } catch (const std::bad_alloc&) {
            return idle->set_due(now + longest_lock_pause);
        }
        begin_chore(idle);
    }

    void start_chore(const session_pointer& idle, const term_locks::chore& what)
    {
        const auto until = std::chrono::steady_clock::now() + config_->options().call_timeout;
        try {
            detached_.push_back({idle, until});
            begin(idle, {.name = what.name}, lock_job(what.takes() ? lock_use::takes : lock_use::gives_back), until);
            idle->inner().lock().set({config_->options().table, what.name}, what.connection);
            idle->start([self = shared_from_this(), idle, what] { self->chore_done(idle, what); });
        } catch (...) {  // no memory: its locks go with it
            end_call(idle);
            std::erase(idle_, idle);
            end(*idle);
        }
    }

    // On the session's thread.
    void chore_done(session_pointer session, const term_locks::chore& what)
    {
        const bool has_it = has_taken_lock(session->inner());
        if (!what.takes() && session->inner().failed().kind != fault::none) session->inner().disconnect();
        const std::lock_guard lock{mutex_};
        end_call(session);
        if (closing_) changed_.notify_all();
        try {
            const auto now = std::chrono::steady_clock::now();
            if (what.takes()) locks_.tried(what.name, session.get(), has_it ? session->inner().connection_number() : 0, now);
        } catch (const std::bad_alloc&) {
            return end(*session);
        }
        settle(std::move(session), true);
        if (!config_->session_locks_disabled()) return;
        locks_.release_all_locks();
        release_where_idle();
    }

    [[nodiscard]] std::size_t place_of(const session_lock_key& key) const noexcept
    {
        return static_cast<std::uint64_t>(key.number()) % failed_wakes_.size();
    }

    std::shared_ptr<const configuration> config_;
    bool runs_inline_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<session_pointer> idle_;
    std::vector<session_pointer> active_;
    std::vector<session_pointer> abandoned_;
    token_hints hints_;
    term_locks locks_;
    std::vector<detached_call> detached_;  // chores, and what run_detached() began
    std::size_t open_ = 0;                 // but for those that were given up
    std::vector<session_pointer> waiting_;  // of these, those that are out to wait
    std::size_t callers_ = 0;              // who wait for a session
    bool closing_ = false;                 // no chores are begun
    bool closed_ = false;
    std::uint64_t abandoned_calls_ = 0;
    std::uint64_t uses_ = 0;  // begun and ended
    std::array<std::atomic<bool>, 256> failed_wakes_{};
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
