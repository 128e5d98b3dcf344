// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_TERM_LOCKS_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_TERM_LOCKS_HPP

#include <leasehold/odbc/detail/pauses.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

class bounded_session;

// Most terms that share one lock; the end of a term beyond that wakes nobody.
inline constexpr std::size_t max_terms_of_a_lock = 4096;

// The session locks of a store's terms: which session has the lock of which name, on which of its connections, for which terms; and each
// session's chores, which its own thread does when it is idle. No clock, no threads, no I/O. Not thread-safe: the pool's mutex guards it.
//
// A lock has the name whose waiters it wakes. All terms that wake one name share one lock; it is given back when the last of
// them is over.
class term_locks {
public:
    using time_point = std::chrono::steady_clock::time_point;
    using session_id = const bounded_session*;

    // One statement.
    struct chore {
        std::string name;              // of the lock
        std::uint64_t connection = 0;  // which of the session's has the lock, to be given back; 0: the lock is to be taken

        [[nodiscard]] bool takes() const noexcept { return connection == 0; }
    };

    // `most`: so many locks are taken for single attempts.
    explicit term_locks(std::size_t most) noexcept : most_{most} {}

    // A single attempt was granted that term by that session, which is to take the lock a little later. May throw std::bad_alloc; then the
    // term has no lock.
    void granted(std::string_view term_name, std::int64_t token, std::string_view name, session_id by, time_point now)
    {
        if (const auto known = terms_.find(term_name); known != terms_.end()) {
            if (known->second.lock == name) {
                known->second.token = std::max(known->second.token, token);
                return;
            }
            ended(term_name, token);
        }
        make_room();
        auto found = locks_.find(name);
        if (found == locks_.end()) {
            if (taken_for_attempts() >= most_) return;
            found = locks_.emplace(name, lock{.session = by, .due = now + first_lock_pause}).first;
        }
        add_term(term_name, token, found);
    }

    // That session got the lock while it waited for the term. Another session that has it too, at another node of a Galera cluster, gives
    // it back. May throw std::bad_alloc; then nobody gives this one's lock back.
    void granted_with_lock(std::string_view term_name, std::int64_t token, std::string_view name, session_id by, std::uint64_t connection)
    {
        const auto known = terms_.find(term_name);
        const bool has_other_lock = known != terms_.end() && known->second.lock != name;
        if (has_other_lock) ended(term_name, token);
        std::string key{name};
        make_room();
        lock& its = locks_.try_emplace(key).first->second;
        if (its.connection != 0 && its.session != by) to_release_.push_back({its.session, {std::move(key), its.connection}});
        its.session = by;
        its.connection = connection;
        its.was_waited_for = true;
        if (!has_other_lock && known != terms_.end())
            known->second.token = std::max(known->second.token, token);
        else
            add_term(term_name, token, locks_.find(name));
    }

    // The terms of that name up to that token are over.
    void ended(std::string_view term_name, std::int64_t last) noexcept
    {
        const auto found = terms_.find(term_name);
        if (found == terms_.end() || found->second.token > last) return;
        const auto its = locks_.find(found->second.lock);
        terms_.erase(found);
        assert(its != locks_.end());
        if (--its->second.terms == 0) remove(its);
    }

    // The session has that lock for nobody.
    void give_back(std::string_view name, session_id by, std::uint64_t connection)
    {
        make_room();
        to_release_.push_back({by, {std::string{name}, connection}});
    }

    // Nobody is to have a lock any longer.
    void release_all_locks() noexcept
    {
        terms_.clear();
        while (!locks_.empty()) remove(locks_.begin());
    }

    // The session has only that connection (0: none), and so only its locks.
    void keep_only(session_id session, std::uint64_t connection) noexcept
    {
        forget_if([=](const lock& term_lock) {
            return term_lock.session == session && term_lock.connection != 0 && term_lock.connection != connection;
        });
        std::erase_if(to_release_, [=](const leftover& left) { return left.session == session && left.what.connection != connection; });
    }

    // The session is gone.
    void forget(session_id gone) noexcept
    {
        forget_if([=](const lock& term_lock) { return term_lock.session == gone; });
        std::erase_if(to_release_, [=](const leftover& left) { return left.session == gone; });
    }

    // When the session's next chore is due; nothing: it has none. A lock to be given back comes first, at once.
    [[nodiscard]] std::optional<time_point> next_due(session_id session) const noexcept
    {
        if (has_to_release(session)) return time_point::min();
        std::optional<time_point> earliest;
        for (const auto& [name, term_lock] : locks_)
            if (term_lock.session == session && term_lock.is_due_once() && (!earliest || term_lock.due < *earliest))
                earliest = term_lock.due;
        return earliest;
    }
    [[nodiscard]] bool has_to_release() const noexcept { return !to_release_.empty(); }
    [[nodiscard]] bool has_to_release(session_id session) const noexcept
    {
        return std::ranges::any_of(to_release_, [=](const leftover& left) { return left.session == session; });
    }

    // The chore that is due, which the session begins; nothing: there is none.
    std::optional<chore> begin(session_id session, time_point now)
    {
        const auto left = std::ranges::find(to_release_, session, &leftover::session);
        if (left != to_release_.end()) {
            chore its = std::move(left->what);
            to_release_.erase(left);
            return its;
        }
        for (auto& [name, term_lock] : locks_) {
            if (term_lock.session != session || !term_lock.is_due_once() || term_lock.due > now) continue;
            chore its{name};
            term_lock.due = time_point::max();
            return its;
        }
        return std::nullopt;
    }

    // The session has tried to take that lock; `connection`: which of its connections has it; 0: somebody else has it, perhaps a waiter
    // for a moment.
    void tried(std::string_view name, session_id by, std::uint64_t connection, time_point now)
    {
        const auto found = locks_.find(name);
        const bool still_wanted = found != locks_.end() && found->second.session == by && found->second.connection == 0;
        if (!still_wanted) {
            if (connection != 0) give_back(name, by, connection);
        } else if (connection != 0) {
            found->second.connection = connection;
        } else {
            found->second.due = now + std::chrono::duration_cast<time_point::duration>(found->second.pauses.next());
        }
    }

    // The session that has the lock of that term, if the term's end gives the lock back; or null.
    [[nodiscard]] session_id holder_of(std::string_view term_name, std::int64_t token) const noexcept
    {
        const auto found = terms_.find(term_name);
        if (found == terms_.end() || found->second.token > token) return nullptr;
        const auto its = locks_.find(found->second.lock);
        return its->second.terms == 1 && its->second.connection != 0 ? its->second.session : nullptr;
    }

    // Whether the session has locks, or is to take or to give back some.
    [[nodiscard]] bool has_any(session_id session) const noexcept
    {
        return has_to_release(session) || std::ranges::any_of(locks_, [=](const auto& entry) { return entry.second.session == session; });
    }

    // How many locks belong to terms.
    [[nodiscard]] std::size_t size() const noexcept { return locks_.size(); }
    [[nodiscard]] bool empty() const noexcept { return locks_.empty() && to_release_.empty(); }

private:
    struct lock {
        session_id session = nullptr;
        std::uint64_t connection = 0;                          // which of the session's has it; 0: it is to be taken
        time_point due = time_point::max();                    // when it is to be taken; max: it is being tried
        backoff pauses{first_lock_pause, longest_lock_pause};  // between tries
        std::size_t terms = 0;
        bool was_waited_for = false;

        [[nodiscard]] bool is_due_once() const noexcept { return connection == 0 && due != time_point::max(); }
    };
    struct term {
        std::int64_t token;
        std::string lock;
    };
    struct leftover {
        session_id session;
        chore what;
    };
    using locks = std::map<std::string, lock, std::less<>>;

    [[nodiscard]] std::size_t taken_for_attempts() const noexcept
    {
        return static_cast<std::size_t>(std::ranges::count_if(locks_, [](const auto& entry) { return !entry.second.was_waited_for; }));
    }

    // Releasing the lock that is added must allocate nothing.
    void make_room() { to_release_.reserve(to_release_.size() + locks_.size() + 1); }

    // A later term of that name, which has another lock, stays: nobody needs this one's lock then.
    void add_term(std::string_view name, std::int64_t token, locks::iterator its)
    {
        if (its->second.terms >= max_terms_of_a_lock) return;
        bool added = false;
        try {
            added = terms_.emplace(name, term{token, its->first}).second;
        } catch (...) {
            if (its->second.terms == 0) locks_.erase(its);
            throw;
        }
        if (added)
            ++its->second.terms;
        else if (its->second.terms == 0)
            remove(its);
    }

    // A lock that is being tried goes back when that try has ended.
    void remove(locks::iterator position) noexcept
    {
        auto node = locks_.extract(position);
        if (node.empty()) return;  // it never is, but g++ does not know that
        const lock& its = node.mapped();
        if (its.connection != 0) to_release_.push_back({its.session, {std::move(node.key()), its.connection}});
    }

    template <class Condition>
    void forget_if(Condition condition) noexcept
    {
        for (auto position = locks_.begin(); position != locks_.end();) {
            if (!condition(position->second)) {
                ++position;
                continue;
            }
            std::erase_if(terms_, [&](const auto& its) { return its.second.lock == position->first; });
            position = locks_.erase(position);
        }
    }

    std::size_t most_;
    locks locks_;                                      // by the name whose waiters they wake
    std::map<std::string, term, std::less<>> terms_;   // by their own names
    std::vector<leftover> to_release_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
