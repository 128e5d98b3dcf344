// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_BOUNDED_SESSION_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_BOUNDED_SESSION_HPP

#include <leasehold/odbc/detail/session/driver_thread.hpp>
#include <leasehold/odbc/detail/session/session.hpp>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// How long to look again and again for what another thread is about to do, before going to sleep for it: to be woken takes 20
// to 60 us where the processor has gone to sleep as well, which is as long as the statement itself. The more often looking has
// failed, the less often it is tried. Not thread-safe.
class adaptive_spin {
public:
    static constexpr std::chrono::microseconds for_an_answer{500};
    // Between two calls a caller is busy for longer than that, or for hardly any time.
    static constexpr std::chrono::microseconds for_the_next_call{50};
    // Longer than this between two looks: somebody else wanted the processor.
    static constexpr std::chrono::microseconds undisturbed{300};
    // One wait in this many is looked at, once looking has failed again and again.
    static constexpr unsigned most_seldom = 64;

    explicit adaptive_spin(std::chrono::microseconds longest = for_an_answer) noexcept : longest_{longest} {}

    // Returns for how long to look now.
    [[nodiscard]] std::chrono::microseconds next() noexcept
    {
        if (++skipped_ < every_) return std::chrono::microseconds::zero();
        skipped_ = 0;
        return longest_;
    }

    void hit() noexcept { every_ = 1; }
    void miss() noexcept { every_ = std::min(every_ * 2, most_seldom); }

private:
    std::chrono::microseconds longest_;
    unsigned every_ = 1;
    unsigned skipped_ = 0;
};

// A session whose calls end on time, because a thread of its own is in the driver while the caller waits: no ODBC attribute
// and no SQLCancel makes a call to a frozen server return. A caller that gives up leaves the session and its thread behind;
// they free themselves when the driver comes back, if ever, unless they are taken back. If the database is in this process, there is
// no thread.
//
// The thread can also be told when the session's next chore is due, which nobody waits for; see term_locks.
class bounded_session : public std::enable_shared_from_this<bounded_session> {
public:
    using time_point = session::time_point;
    // Both are called on the session's thread.
    struct handlers {
        std::function<void(bounded_session&)> on_abandoned_return{};  // it has come back after it was given up; may call take_back()
        std::function<void(bounded_session&)> on_due{};               // the time of set_due() has come; may call start()
    };

    bounded_session(std::shared_ptr<const configuration> config, bool runs_inline, handlers calls)
        : inner_{std::move(config)}, runs_inline_{runs_inline}, calls_{std::move(calls)}
    {
    }

    // The session that works. Its caller may use it between check_out() and check_in(), and so may on_abandoned_return.
    [[nodiscard]] session& inner() noexcept { return inner_; }

    // Carries out what inner() was prepared for. False: not done by the deadline; then call give_up(). Throws
    // std::system_error if there is no thread to be had.
    bool run(time_point deadline)
    {
        if (runs_inline_) {
            inner_.perform();
            return true;
        }
        std::unique_lock lock{mutex_};
        queue_call();
        lock.unlock();  // so that the thread doesn't wake up only to wait for the mutex; the same below
        to_thread_.notify_one();
        if (comes_soon(for_answer_, [this] { return state_ == state::done; })) {
            state_ = state::idle;
            return true;
        }
        lock.lock();
        if (!to_caller_.wait_until(lock, deadline, [this] { return state_ == state::done; })) return false;
        state_ = state::idle;
        return true;
    }

    // Begins to carry it out; `done` is called on the session's thread, which is then free for the next call. Not called if
    // the session is given up before. Throws like run().
    void start(std::function<void()> done)
    {
        const std::lock_guard lock{mutex_};
        queue_call();  // first: where there is no thread, the next call must not find this one's end
        done_ = std::move(done);
        to_thread_.notify_one();
    }

    // When on_due is to be called, once; not at all while the session has no thread. It may be called earlier, or for an earlier time.
    void set_due(time_point when)
    {
        const std::lock_guard lock{mutex_};
        if (when >= due_) return;
        due_ = when;
        to_thread_.notify_one();
    }

    // Lets an idle session end by itself. False: it was given up before, and does so anyhow.
    bool leave()
    {
        const std::lock_guard lock{mutex_};
        if (state_ == state::given_up || state_ == state::stopped) return false;
        state_ = state::stopping;
        to_thread_.notify_one();
        if (thread_.joinable()) thread_.leave();
        return true;
    }

    // Leaves the session to its thread. False: it has just come back after all.
    bool give_up()
    {
        const std::lock_guard lock{mutex_};
        if (state_ == state::done) {
            state_ = state::idle;
            return false;
        }
        state_ = state::given_up;
        done_ = nullptr;
        to_thread_.notify_one();
        thread_.leave();
        return true;
    }

    // Undoes give_up(), in on_abandoned_return: the session is idle.
    void take_back()
    {
        const std::lock_guard lock{mutex_};
        state_ = state::idle;
        taken_back_ = true;
        thread_.take_back();
    }

    // Once the database turned out to be in this process: no thread from now on. The connection stays.
    void become_direct_if_in_process()
    {
        if (runs_inline_ || !inner_.runs_in_process()) return;
        runs_inline_ = true;
        ask_to_stop();
        thread_.join();
    }

    [[nodiscard]] bool runs_inline() const noexcept { return runs_inline_; }

    // The pool's mutex guards these. The first two are the pool's count of uses when the session was last taken and last returned.
    std::uint64_t last_use = 0;
    std::uint64_t last_return = 0;
    time_point idle_since{};    // when it was last returned
    bool waits = false;         // it is out to wait for a lock, or has just got it
    bool is_suspect = false;    // another one hung since it was used last
    std::optional<time_point> silent_since{};  // since when its server is known to be silent in a wait
    bool may_be_extra = false;  // there may be pool_size others by now that are connected

    // To be called on an idle session, followed by wait_stopped().
    void ask_to_stop()
    {
        const std::lock_guard lock{mutex_};
        state_ = state::stopping;
        to_thread_.notify_one();
    }

    // Waits for the thread to disconnect and end, but not beyond the deadline.
    void wait_stopped(time_point deadline)
    {
        if (!thread_.joinable()) return;
        std::unique_lock lock{mutex_};
        const bool stopped = to_caller_.wait_until(lock, deadline, [this] { return state_ == state::stopped; });
        lock.unlock();
        if (stopped)
            thread_.join();
        else
            thread_.leave();
    }

private:
    enum class state : std::uint8_t { idle, queued, working, done, given_up, stopping, stopped };

    // Looks for a while whether `condition` comes true, and gives way to other threads that want the processor.
    template <class Condition>
    static bool comes_soon(adaptive_spin& spin, Condition condition)
    {
        const auto patience = spin.next();
        if (patience == patience.zero()) return false;
        auto now = std::chrono::steady_clock::now();
        const auto until = now + patience;
        while (!condition()) {
            const auto before = std::exchange(now, std::chrono::steady_clock::now());
            // The system prefers a thread that slept to one that gave way: where processors are wanted, sleeping is quicker.
            if (now >= until || now - before > adaptive_spin::undisturbed) {
                spin.miss();
                return false;
            }
            std::this_thread::yield();
        }
        spin.hit();
        return true;
    }

    // Under the mutex.
    void queue_call()
    {
        assert(has_nothing_to_do());
        if (thread_.joinable())
            thread_.set_busy();
        else
            thread_.start([self = shared_from_this()](driver_threads::entry& own) { self->serve(own); });
        state_ = state::queued;
    }

    [[nodiscard]] bool has_nothing_to_do() const noexcept { return state_ == state::done || state_ == state::idle; }

    void serve(driver_threads::entry& own)
    {
        std::unique_lock lock{mutex_};
        do {
            wait_for_call(lock, own);
            if (state_ == state::queued) carry_out(lock);
        } while (may_continue(lock));
        const bool keep_connection = runs_inline_;
        lock.unlock();
        if (!keep_connection) inner_.disconnect();
        lock.lock();
        state_ = state::stopped;
        to_caller_.notify_one();
    }

    void carry_out(std::unique_lock<std::mutex>& lock)
    {
        state_ = state::working;
        lock.unlock();
        inner_.perform();
        lock.lock();
        if (state_ == state::given_up) return;
        state_ = state::done;
        auto done = std::exchange(done_, nullptr);
        lock.unlock();
        if (done)
            done();
        else
            to_caller_.notify_one();
        done = nullptr;
        comes_soon(for_next_, [this] { return !has_nothing_to_do(); });  // a release often follows its grant at once
        lock.lock();
    }

    // A session that is taken back may have another call by then, and may have been given up again.
    bool may_continue(std::unique_lock<std::mutex>& lock)
    {
        while (state_ == state::given_up) {
            taken_back_ = false;
            lock.unlock();
            calls_.on_abandoned_return(*this);
            lock.lock();
            if (!taken_back_) return false;
        }
        return state_ != state::stopping;
    }

    // Waits for a call or for the session's end. Calls on_due meanwhile.
    void wait_for_call(std::unique_lock<std::mutex>& lock, driver_threads::entry& own)
    {
        while (has_nothing_to_do()) {
            const time_point now = std::chrono::steady_clock::now();
            if (due_ <= now) {
                due_ = time_point::max();
                lock.unlock();
                calls_.on_due(*this);
                lock.lock();
                continue;
            }
            own.busy = false;
            // An hour at a time: some libraries overflow on the greatest time.
            to_thread_.wait_until(lock, std::min(due_, now + std::chrono::hours{1}));
        }
    }

    session inner_;
    bool runs_inline_;
    handlers calls_;
    std::function<void()> done_;
    time_point due_ = time_point::max();  // under the mutex
    bool taken_back_ = false;             // the same
    std::mutex mutex_;
    std::condition_variable to_thread_, to_caller_;
    // Changed under the mutex, but for a `done` that the caller has seen. The caller may see that without the mutex: it needs the
    // release and the acquire of these stores and loads then, for what inner_ has written.
    std::atomic<state> state_{state::idle};
    adaptive_spin for_answer_{adaptive_spin::for_an_answer};  // of the caller
    adaptive_spin for_next_{adaptive_spin::for_the_next_call};  // of the session's thread
    driver_thread thread_;
};

using session_pointer = std::shared_ptr<bounded_session>;

}  // namespace leasehold::inline v0::odbc::detail

#endif
