// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_POOL_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_POOL_HPP

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/odbc/detail/driver/configuration.hpp>
#include <leasehold/odbc/detail/session/bounded_session.hpp>
#include <leasehold/odbc/detail/session/remembered_terms.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// Most calls that may hang in their driver, beside as many as the pool has sessions: those may all go dead at the same time, and
// must not keep new ones from being made. While there are so many, calls fail at once.
inline constexpr std::size_t abandoned_calls_max = 16;

// The sessions of a store. Shared with those that were given up, which may outlive the store. Thread-safe.
class pool : public std::enable_shared_from_this<pool> {
public:
    using time_point = session::time_point;

    pool(std::shared_ptr<const configuration> config, bool in_process) : config_{std::move(config)}, runs_inline_{in_process} {}

    // A session, prepared for the request; the one that was used last, or a new one, or, when there are enough, the next to
    // be given back. Null: `why` is timeout (none was free in time) or unavailable (too many were given up).
    session_pointer take(const request& asked, time_point deadline, fault& why)
    {
        std::unique_lock lock{mutex_};
        for (;;) {
            give_up_the_overdue();
            if (abandoned_.size() >= most_calls()) {
                why = fault::unavailable;
                return nullptr;
            }
            if (has_room() && (!idle_.empty() || open_ < config_->options().pool_size)) break;
            if (std::chrono::steady_clock::now() >= deadline) {
                why = fault::timeout;
                return nullptr;
            }
            changed_.wait_until(lock, deadline);
        }
        if (idle_.empty()) make();
        return begin(session_pointer{idle_.back()}, asked, deadline);
    }

    // Begins a call of a session that is not the pool's, but may hang like those that are. False: too many do.
    bool take_dedicated(const session_pointer& session, const request& asked, time_point deadline)
    {
        const std::lock_guard lock{mutex_};
        give_up_the_overdue();
        if (!has_room()) return false;
        begin(session, asked, deadline);
        return true;
    }

    // Its caller is about to learn what came out of it.
    void give_back(session_pointer session)
    {
        session->become_direct_if_in_process();
        const std::lock_guard lock{mutex_};
        runs_inline_ = runs_inline_ || session->runs_inline();
        if (terms_.late() != 0)
            each_answered(session->inner(), [&](std::string_view name, std::string_view owner, std::int64_t token, bool) {
                if (token != 0) terms_.told(name, owner, token);
            });
        end_call(session);
        session->last_return = ++uses_;
        changed_.notify_one();
        if (session->dedicated()) return;
        if (!closed_) return idle_.push_back(std::move(session));
        --open_;  // nobody waited for this call
        session->leave();
    }

    // Carries out what a session from take() was prepared for, with nobody who waits for it. It gives itself back; should it
    // hang for longer than calls may last, the next caller that needs a session gives it up.
    void run_detached(const session_pointer& session)
    {
        {
            const std::lock_guard lock{mutex_};
            detached_.push_back({session, std::chrono::steady_clock::now() + config_->options().call_timeout});
        }
        session->start([self = shared_from_this(), session] { self->give_back(session); });
    }

    // Whether such a call has not come back.
    [[nodiscard]] bool runs_detached(const session_pointer& session) const
    {
        const std::lock_guard lock{mutex_};
        return std::ranges::any_of(detached_, [&](const detached_call& each) { return each.session == session; });
    }

    // Leaves it to its thread and makes room for another. False: it has just come back, and is the caller's still.
    bool give_up(const session_pointer& session)
    {
        const std::lock_guard lock{mutex_};
        return give_up_locked(session);
    }

    // On the thread of a session that was given up; does nothing unless that was in a call.
    void came_late(bounded_session& back)
    {
        const auto entry = [&] {
            return std::find_if(abandoned_.begin(), abandoned_.end(), [&](const auto& each) { return each.get() == &back; });
        };
        std::unique_lock lock{mutex_};
        if (entry() == abandoned_.end()) return;
        each_answered(back.inner(), [&](std::string_view name, std::string_view owner, std::int64_t token, bool fresh) {
            terms_.arrived(name, owner, token, fresh);
            std::error_code without;  // memory: then the late terms run out by themselves
            leasehold::detail::catch_into(without,
                                          [&] { end_late_terms(lock, back.inner(), std::string{name}, std::string{owner}); });
        });
        abandoned_.erase(entry());
        changed_.notify_all();
    }

    // See remembered_terms.
    void put_hint(std::string_view name, std::int64_t hint)
    {
        const std::lock_guard lock{mutex_};
        terms_.put_hint(name, hint);
    }
    std::int64_t take_hint(std::string_view name)
    {
        const std::lock_guard lock{mutex_};
        return terms_.take_hint(name);
    }

    // After the release of a term: its owner believes in it no longer. `released`: the row shows that. Returns the token of a late term
    // that is to be released next, or 0.
    std::int64_t given_back(const request& term, bool released)
    {
        const std::lock_guard lock{mutex_};
        terms_.given_back(term.name, term.owner, term.token);
        if (released && term.time <= duration::zero()) terms_.put_hint(term.name, term.token);
        return terms_.next_to_end(term.name, term.owner);
    }

    // No session that could be made: undoes take().
    void drop(const session_pointer& session)
    {
        const std::lock_guard lock{mutex_};
        end_call(session);
        if (!session->dedicated()) --open_;
        changed_.notify_one();
    }

    // Ends idle sessions. Waits until the deadline for them, and for detached calls, but for no session that was given up.
    void close(time_point deadline)
    {
        std::vector<session_pointer> ending;
        {
            std::unique_lock lock{mutex_};
            changed_.wait_until(lock, deadline, [this] { return detached_.empty(); });
            closed_ = true;
            ending.swap(idle_);
            open_ -= ending.size();
        }
        for (const session_pointer& each : ending) each->ask_to_stop();
        for (const session_pointer& each : ending) each->wait_stopped(deadline);
    }

    struct counts {
        std::size_t sessions, hanging;
        std::uint64_t abandoned_calls;  // so far
    };
    [[nodiscard]] counts count() const
    {
        const std::lock_guard lock{mutex_};
        return {open_, abandoned_.size(), abandoned_calls_};
    }

private:
    struct detached_call {
        session_pointer session;
        time_point until;
    };

    bool give_up_locked(const session_pointer& session)
    {
        abandoned_.reserve(abandoned_.size() + 1);
        each_attempt(session->inner(), [&](std::string_view name, std::string_view owner) { terms_.expect(name, owner); });
        if (!session->give_up()) {
            each_attempt(session->inner(), [&](std::string_view name, std::string_view owner) { terms_.arrived(name, owner, 0, false); });
            return false;
        }
        std::erase(active_, session);
        abandoned_.push_back(session);
        if (!session->dedicated()) --open_;
        ++abandoned_calls_;
        drop_idle_since(session->last_use);
        changed_.notify_all();
        return true;
    }

    // What its request is for; names and owners are not written while it is carried out.
    template <class Each>
    static void each_attempt(const session& of, Each each)
    {
        if (of.what() == operation::acquire) each(of.name(), of.owner());
        if (of.what() == operation::acquire_many)
            for (item_number i = 0; i < of.attempted()->size(); ++i) each(of.attempted()->name(i), of.attempted()->owner(i));
    }

    // What has come back, with the tokens of the terms that were granted, or 0, and whether nobody held the name then.
    template <class Each>
    static void each_answered(session& of, Each each)
    {
        if (of.what() == operation::acquire) return each(of.name(), of.owner(), of.granted_token(), of.result().grant.fresh);
        const auto many = of.attempted();
        for (item_number i = 0; many && i < many->size(); ++i) {
            const auto& said = many->answer(i);
            const bool granted = said && said->result.granted();
            each(many->name(i), many->owner(i), granted ? said->result.token.value() : 0, granted && said->fresh);
        }
    }

    void end_call(const session_pointer& session)
    {
        std::erase(active_, session);
        std::erase_if(detached_, [&](const detached_call& each) { return each.session == session; });
    }

    void end_late_terms(std::unique_lock<std::mutex>& lock, session& by, std::string_view name, std::string_view owner)
    {
        while (const std::int64_t token = terms_.next_to_end(name, owner)) {
            lock.unlock();
            by.undo(name, owner, token);
            lock.lock();
        }
    }

    // One session hung, perhaps because a router forgot its connections. The same may have happened to all that have not answered
    // since. A new connection is cheap, another call that hangs is not.
    void drop_idle_since(std::uint64_t use)
    {
        open_ -= std::erase_if(idle_, [use](const session_pointer& each) { return each->last_return < use && each->leave(); });
    }

    // One that has just come back is about to give itself back.
    void give_up_the_overdue()
    {
        if (detached_.empty()) return;
        const auto now = std::chrono::steady_clock::now();
        std::erase_if(detached_, [&](const detached_call& each) { return each.until <= now && give_up_locked(each.session); });
    }

    [[nodiscard]] std::size_t most_calls() const noexcept { return abandoned_calls_max + config_->options().pool_size; }
    [[nodiscard]] bool has_room() const noexcept { return active_.size() + abandoned_.size() < most_calls(); }

    session_pointer begin(session_pointer session, const request& asked, time_point deadline)
    {
        session->inner().prepare(asked, deadline);
        active_.push_back(session);
        std::erase(idle_, session);  // last: what comes before may throw, and then the session stays idle
        session->last_use = ++uses_;
        return session;
    }

    void make()
    {
        idle_.reserve(config_->options().pool_size);  // so that giving back allocates nothing
        active_.reserve(config_->options().pool_size);
        const auto late = [self = shared_from_this()](bounded_session& session) { self->came_late(session); };
        idle_.push_back(std::make_shared<bounded_session>(config_, runs_inline_, late));
        ++open_;
    }

    std::shared_ptr<const configuration> config_;
    bool runs_inline_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<session_pointer> idle_;
    std::vector<session_pointer> active_;
    std::vector<session_pointer> abandoned_;
    remembered_terms terms_;
    std::vector<detached_call> detached_;
    std::size_t open_ = 0;
    bool closed_ = false;
    std::uint64_t abandoned_calls_ = 0;
    std::uint64_t uses_ = 0;  // begun and ended
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
