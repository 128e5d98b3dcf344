// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_CLOCK_WAKER_HPP
#define LEASEHOLD_CLOCK_WAKER_HPP

#include <leasehold/duration.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace leasehold::inline v0 {

/// What one thread sleeps on and others wake: a wake is kept until it is taken, so it can't be missed.
///
/// Thread safety: wake() from any thread; the waits from one thread at a time. Lifetime: it must outlive both.
class waker {
public:
    waker() = default;
    waker(const waker&) = delete;
    waker& operator=(const waker&) = delete;

    /// Makes the wait that is under way return, or the next one. Several wakes before a wait are one.
    void wake() noexcept
    {
        // Notified under the lock: the sleeper may destroy this object as soon as it has seen the wake.
        const std::lock_guard lock{mutex_};
        woken_ = true;
        ++wakes_;
        condition_.notify_one();
    }

    /// Sleeps until woken, and takes the wake.
    void wait()
    {
        std::unique_lock lock{mutex_};
        condition_.wait(lock, [this] { return woken_; });
        woken_ = false;
    }

    /// Sleeps until woken, at most this long; true when it took a wake.
    bool wait_for(duration at_most)
    {
        // An hour at a time keeps the sum below from overflowing; waits may end early anyhow.
        const duration slice = std::min<duration>(at_most, std::chrono::hours{1});
        std::unique_lock lock{mutex_};
        if (slice > duration::zero())
            condition_.wait_until(lock, std::chrono::steady_clock::now() + slice, [this] { return woken_; });
        const bool woken = woken_;
        woken_ = false;
        return woken;
    }

    /// Wakes so far, taken or not: for clocks that must know whether a sleeper has noticed all of them.
    [[nodiscard]] std::uint64_t wakes() const noexcept
    {
        const std::lock_guard lock{mutex_};
        return wakes_;
    }

    /// Whether the next wait would return at once.
    [[nodiscard]] bool woken() const noexcept
    {
        const std::lock_guard lock{mutex_};
        return woken_;
    }

    /// Expires when the waker is destroyed: for clocks that remember who waits. May throw std::bad_alloc.
    [[nodiscard]] std::weak_ptr<const void> lifetime()
    {
        const std::lock_guard lock{mutex_};
        if (!lifetime_) lifetime_ = std::make_shared<char>();
        return lifetime_;
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable condition_;
    bool woken_ = false;
    std::uint64_t wakes_ = 0;
    std::shared_ptr<const void> lifetime_;
};

}  // namespace leasehold::inline v0

#endif
