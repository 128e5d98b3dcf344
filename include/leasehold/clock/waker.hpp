// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_CLOCK_WAKER_HPP
#define LEASEHOLD_CLOCK_WAKER_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace leasehold::inline v0 {

/// One thread sleeps on it, and others wake that thread. A wake is kept until a wait takes it, so it can't be missed.
///
/// A waiter without a thread of its own gives it a function to call instead, and takes the wake with take().
/// Thread safety: any thread may call wake(); one thread at a time may wait. Lifetime: it must outlive all these calls.
class waker {
public:
    /// What wake() calls. It runs on the thread that wakes, and under locks of the store and of queues: it may do no more than
    /// hand the work to another thread.
    using function = void (*)(void* context) noexcept;

    waker() = default;
    /// Each wake() calls `on_wake(context)` as well.
    waker(function on_wake, void* context) noexcept : on_wake_{on_wake}, context_{context} {}
    waker(const waker&) = delete;
    waker& operator=(const waker&) = delete;

    /// Makes the current wait return, or else the next one. Several wakes before a wait count as one.
    void wake() noexcept
    {
        // Notify under the lock: the sleeper may destroy this object as soon as it has seen the wake.
        const std::lock_guard lock{mutex_};
        woken_ = true;
        ++wakes_;
        if (on_wake_)
            on_wake_(context_);
        else
            condition_.notify_one();
    }

    /// Sleeps until woken, and takes the wake.
    void wait()
    {
        std::unique_lock lock{mutex_};
        condition_.wait(lock, [this] { return woken_; });
        woken_ = false;
    }

    /// Sleeps until woken, at most this long; true if it took a wake.
    bool wait_for(duration at_most)
    {
        // At most an hour at a time, so that the sum below does not overflow; a wait may end early in any case.
        const duration slice = std::min<duration>(at_most, std::chrono::hours{1});
        std::unique_lock lock{mutex_};
        if (slice > duration::zero())
            condition_.wait_until(lock, std::chrono::steady_clock::now() + slice, [this] { return woken_; });
        const bool woken = woken_;
        woken_ = false;
        return woken;
    }

    /// Whether it was woken; takes the wake. Doesn't sleep.
    [[nodiscard]] bool take() noexcept
    {
        const std::lock_guard lock{mutex_};
        return std::exchange(woken_, false);
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

    /// Expires when the waker is destroyed: for clocks that remember their waiting threads. May throw std::bad_alloc.
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
    const function on_wake_ = nullptr;
    void* const context_ = nullptr;
};

}  // namespace leasehold::inline v0

#endif
