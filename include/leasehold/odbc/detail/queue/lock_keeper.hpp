// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_QUEUE_LOCK_KEEPER_HPP
#define LEASEHOLD_ODBC_DETAIL_QUEUE_LOCK_KEEPER_HPP

#include <leasehold/odbc/detail/driver/configuration.hpp>
#include <leasehold/odbc/detail/flow/session_lock_key.hpp>
#include <leasehold/odbc/detail/pauses.hpp>
#include <leasehold/odbc/detail/session/driver_thread.hpp>
#include <leasehold/odbc/detail/session/session.hpp>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// Keeps the session locks of terms that were granted to single attempts, which have no session of their own for it. One session takes
// them all, a little later, and gives them back, on a thread of its own, so that nobody waits for it. Thread-safe.
//
// held_locks are the others: a waiter's session has its lock before it has the term.
class lock_keeper : public std::enable_shared_from_this<lock_keeper> {
public:
    using time_point = session::time_point;

    explicit lock_keeper(std::shared_ptr<const configuration> config) : config_{std::move(config)}, session_{config_} {}

    // This store has the term. Only a hint, so nothing is reported where there is no room, no memory or no thread for it.
    void keep(std::string_view name, std::int64_t token) noexcept
    {
        if (!config_->session_locks() || config_->options().max_session_locks == 0) return;
        try {
            const std::lock_guard lock{mutex_};
            if (const auto found = kept_.find(name); found != kept_.end()) {
                // One that is on its way back goes back first: somebody may have waited for it.
                std::int64_t& latest = found->second.wanted ? found->second.token : found->second.next;
                latest = std::max(latest, token);
                return;
            }
            if (stopping_ || kept_.size() >= config_->options().max_session_locks) return;
            if (!thread_.joinable()) thread_.start([self = shared_from_this()](driver_threads::entry& own) { self->serve(own); });
            const time_point due = std::chrono::steady_clock::now() + first_lock_pause;
            kept_.emplace(name, kept{.token = token, .due = due});
            count_ = kept_.size();
            if (due < wakes_at_) changed_.notify_all();
        } catch (const std::bad_alloc&) {
        } catch (const std::system_error&) {
        }
    }

    // The terms up to that token are over.
    void give_back(std::string_view name, std::int64_t last) noexcept
    {
        if (count_ == 0) return;
        const std::lock_guard lock{mutex_};
        const auto found = kept_.find(name);
        if (found == kept_.end()) return;
        kept& its = found->second;
        if (its.next <= last) its.next = 0;
        if (its.token > last) return;
        if (!its.has_lock() && !its.being_tried) {
            kept_.erase(found);
            count_ = kept_.size();
            return;
        }
        its.wanted = false;
        changed_.notify_all();
    }

    // All of them.
    void give_up() noexcept
    {
        if (count_ == 0) return;
        const std::lock_guard lock{mutex_};
        forget_all();
        changed_.notify_all();
    }

    // Waits, but not beyond the deadline; the thread ends by itself then.
    void close(time_point deadline)
    {
        std::unique_lock lock{mutex_};
        stopping_ = true;
        changed_.notify_all();
        if (!thread_.joinable()) return;
        const bool stopped = changed_.wait_until(lock, deadline, [this] { return stopped_; });
        lock.unlock();
        if (stopped)
            thread_.join();
        else
            thread_.leave();
    }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
    struct kept {
        std::int64_t token;
        time_point due;                                      // when to take the lock; max: it has it
        backoff pauses{first_lock_pause, longest_lock_pause};  // between tries: a waiter may have it for a moment
        std::uint64_t connection = 0;                        // which of the session's has it
        std::int64_t next = 0;                               // not wanted: a later term, which is to have the lock after that
        bool being_tried = false;
        bool wanted = true;

        [[nodiscard]] bool has_lock() const noexcept { return due == time_point::max(); }
    };
    using kept_locks = std::map<std::string, kept, std::less<>>;

    void forget_all() noexcept
    {
        for (auto& each : kept_) {
            each.second.wanted = false;
            each.second.next = 0;
        }
    }

    void serve(driver_threads::entry& own)
    {
        std::unique_lock lock{mutex_};
        while (!stopping_) {
            if (config_->gave_up_session_locks()) forget_all();
            const auto next = next_chore();
            const time_point now = std::chrono::steady_clock::now();
            if (next == kept_.end() || (next->second.wanted && next->second.due > now)) {
                wakes_at_ = next == kept_.end() ? time_point::max() : next->second.due;
                // An hour at a time: some libraries overflow on the greatest time.
                own.busy = false;
                changed_.wait_until(lock, std::min(wakes_at_, now + std::chrono::hours{1}));
                own.busy = true;
                wakes_at_ = time_point::min();
            } else if (next->second.wanted) {
                take(lock, next);
            } else {
                unlock(lock, next);
            }
        }
        lock.unlock();
        session_.disconnect();
        lock.lock();
        stopped_ = true;
        changed_.notify_all();
    }

    // A lock that is to be given back comes first.
    kept_locks::iterator next_chore()
    {
        return std::min_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
            return std::pair{a.second.wanted, a.second.due} < std::pair{b.second.wanted, b.second.due};
        });
    }

    // Nobody else erases what is being tried.
    void take(std::unique_lock<std::mutex>& lock, kept_locks::iterator which)
    {
        kept& wanted = which->second;
        assert(!wanted.has_lock() && !wanted.being_tried && wanted.next == 0);
        wanted.being_tried = true;
        lock.unlock();
        const bool has_it = perform(operation::try_lock, which->first, 0) && session_.result().yes;
        lock.lock();
        wanted.being_tried = false;
        if (has_it) {
            wanted.due = time_point::max();
            wanted.connection = session_.lock().connection_number();
        } else {
            wanted.due = std::chrono::steady_clock::now() + std::chrono::duration_cast<time_point::duration>(wanted.pauses.next());
        }
    }

    void unlock(std::unique_lock<std::mutex>& lock, kept_locks::iterator which)
    {
        assert(!which->second.wanted && !which->second.being_tried);
        if (which->second.has_lock()) {
            const std::uint64_t connection = which->second.connection;
            lock.unlock();
            if (!perform(operation::unlock, which->first, connection)) session_.disconnect();
            lock.lock();
        }
        if (const std::int64_t next = which->second.next; next != 0) {
            which->second = {.token = next, .due = std::chrono::steady_clock::now() + first_lock_pause};
            return;
        }
        kept_.erase(which);
        count_ = kept_.size();
    }

    bool perform(operation what, const std::string& name, std::uint64_t connection)
    {
        session_.prepare({what, name, {}, 0, {}}, std::chrono::steady_clock::now() + config_->options().call_timeout);
        session_.lock().set({config_->options().table, name}, connection);
        session_.perform();
        return session_.result().failed == fault::none && !session_.result().thrown;
    }

    const std::shared_ptr<const configuration> config_;
    session session_;  // the thread's
    std::mutex mutex_;
    std::condition_variable changed_;
    kept_locks kept_;
    std::atomic<std::size_t> count_{0};  // changed under the mutex; a term's keep() has happened before its give_back()
    time_point wakes_at_ = time_point::min();
    bool stopping_ = false;
    bool stopped_ = false;
    driver_thread thread_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
