// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_CLOCK_MANUAL_CLOCK_HPP
#define LEASEHOLD_CLOCK_MANUAL_CLOCK_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/error.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

/// A clock that moves only by advance(): for tests without sleeps. Copies share one time.
///
/// Thread safety: all functions from any thread.
class manual_clock {
public:
    /// Starts a time of its own, an hour after the epoch.
    manual_clock() : shared_{std::make_shared<shared>()} {}

    /// See lease_clock.
    [[nodiscard]] time_point now() const noexcept
    {
        const std::lock_guard lock{shared_->mutex};
        return shared_->now;
    }

    /// Moves the time forward in one jump, and returns when everything that became due has been done: losses signalled,
    /// renewals sent and answered, waiters woken.
    ///
    /// This means that every thread that ever waited on this clock waits again, for something in the future, or is gone. If
    /// a thread takes longer than `patience` of real time, for example in a store's call that hangs and does not wait on this
    /// clock, advance() does not wait for it again until it comes back. A jump over a deadline is what a paused process sees: if
    /// the lease must be renewed, advance in steps shorter than its renewals. Throws std::invalid_argument if `by` is negative,
    /// or too large for a time_point.
    void advance(duration by)
    {
        if (by < duration::zero())
            detail::throw_exception(std::invalid_argument{"leasehold: manual_clock::advance needs a duration that is not negative"});
        std::unique_lock lock{shared_->mutex};
        if (by > time_point::max() - shared_->now)
            detail::throw_exception(std::invalid_argument{"leasehold: manual_clock::advance beyond the end of time"});
        shared_->now += by;
        for (sleeper& s : shared_->sleepers)
            if (s.asleep && s.until <= shared_->now) {
                s.wakes->wake();
                ++s.wakes_seen;  // the clock's own: it is told of those of others
            }
        // Wait in slices, since nothing signals that a sleeper has gone away.
        const auto give_up = std::chrono::steady_clock::now() + patience;
        while (!shared_->settled() && std::chrono::steady_clock::now() < give_up)
            shared_->changed.wait_until(lock, std::chrono::steady_clock::now() + std::chrono::milliseconds{1});
        for (sleeper& s : shared_->sleepers)
            if (!shared_->settled(s)) s.given_up = true;
    }

    /// See waitable_clock. Returns true if anybody but advance() woke `w`, also if `t` has come before this thread ran. False if `t` has
    /// come before the call: a wake then stays.
    bool wait_until(waker& w, time_point t) const
    {
        {
            const std::lock_guard lock{shared_->mutex};
            sleeper& s = shared_->entry_of(w);
            s.given_up = false;
            // The first call may come from the thread that starts this one, so that advance() waits for it from then on.
            if (std::exchange(s.announced, true) || shared_->now < t) s.thread = std::this_thread::get_id();
            if (shared_->now >= t) return false;
            s.until = t;
            s.wakes_seen = w.wakes();
            s.asleep = !w.woken();
            shared_->changed.notify_all();
        }
        w.wait();
        const std::lock_guard lock{shared_->mutex};
        sleeper& s = shared_->entry_of(w);
        return !std::exchange(s.asleep, false) || w.wakes() != s.wakes_seen;
    }

    /// How many threads sleep until some instant of this clock. Those that sleep until woken do not count.
    ///
    /// For a test that turns the clock while another thread waits: a thread that has not fallen asleep yet may still be on
    /// its first attempt, and finds a jump of a whole ttl there, as after a pause of its process.
    [[nodiscard]] std::size_t sleepers() const
    {
        const std::lock_guard lock{shared_->mutex};
        return static_cast<std::size_t>(std::ranges::count_if(shared_->sleepers, [this](const sleeper& s) {
            return s.asleep && s.until != time_point::max() && !s.lifetime.expired() && shared_->settled(s);
        }));
    }

    friend bool operator==(const manual_clock& a, const manual_clock& b) noexcept { return a.shared_ == b.shared_; }

    /// The longest real time that advance() waits for the threads that it has woken.
    static constexpr duration patience = std::chrono::seconds{5};

private:
    struct sleeper {
        waker* wakes;
        std::weak_ptr<const void> lifetime;
        std::thread::id thread{};
        time_point until{};
        std::uint64_t wakes_seen = 0;  // when it fell asleep, and the clock's own since; if there are more now, it is about to run
        bool announced = false;
        bool asleep = false;
        bool given_up = false;  // took too long once, and has not come back since
    };

    struct shared {
        std::mutex mutex;
        std::condition_variable changed;
        time_point now{std::chrono::hours{1}};  // not the epoch, so that a default-constructed time_point is never "now"
        std::vector<sleeper> sleepers;          // all that ever waited and still exist, awake or not

        sleeper& entry_of(waker& w)
        {
            std::erase_if(sleepers, [](const sleeper& s) { return s.lifetime.expired(); });
            const auto found = std::ranges::find(sleepers, &w, &sleeper::wakes);
            return found != sleepers.end() ? *found : sleepers.emplace_back(sleeper{.wakes = &w, .lifetime = w.lifetime()});
        }

        [[nodiscard]] bool settled() const
        {
            return std::ranges::all_of(sleepers, [this](const sleeper& s) { return settled(s); });
        }

        [[nodiscard]] bool settled(const sleeper& s) const
        {
            if (s.lifetime.expired() || s.given_up) return true;
            if (s.asleep) return s.until > now && s.wakes->wakes() == s.wakes_seen;
            // A callback that runs on a woken thread may advance the clock itself: it must not wait for its own thread.
            return s.thread == std::this_thread::get_id() || sleeps_elsewhere(s.thread);
        }

        // For example in a store's call, which hangs on this clock until a test moves it.
        [[nodiscard]] bool sleeps_elsewhere(std::thread::id thread) const
        {
            return std::ranges::any_of(
                sleepers, [&](const sleeper& s) { return s.asleep && s.thread == thread && !s.lifetime.expired() && settled(s); });
        }
    };

    std::shared_ptr<shared> shared_;
};

}  // namespace leasehold::inline v0

#endif
