// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_CHANGE_FEED_HPP
#define LEASEHOLD_DETAIL_CHANGE_FEED_HPP

#include <leasehold/clock/waker.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace leasehold::inline v0::detail {

// The changes that nobody has taken yet, and those who wait for the next one. Each change goes to one who takes it; the newest are kept.
//
// Thread safety: any thread may call any function.
template <class Change>
class change_feed {
public:
    static constexpr std::size_t most_kept = 256;

    // One who waits. It is woken when there may be a change, or the feed has ended.
    class listener {
    public:
        listener(change_feed& feed, waker& to_wake) : feed_{feed}, waker_{to_wake}
        {
            const std::lock_guard lock{feed_.mutex_};
            feed_.listeners_.push_back(&waker_);
        }
        listener(const listener&) = delete;
        listener& operator=(const listener&) = delete;
        ~listener()
        {
            const std::lock_guard lock{feed_.mutex_};
            std::erase(feed_.listeners_, &waker_);
        }

    private:
        change_feed& feed_;
        waker& waker_;
    };

    void push(const Change& change)
    {
        const std::lock_guard lock{mutex_};
        kept_.push_back(change);
        if (kept_.size() > most_kept) kept_.pop_front();
        wake_all();
    }

    // The oldest change that nobody has taken.
    [[nodiscard]] std::optional<Change> take()
    {
        const std::lock_guard lock{mutex_};
        if (kept_.empty()) return std::nullopt;
        std::optional<Change> oldest{std::move(kept_.front())};
        kept_.pop_front();
        return oldest;
    }

    // Waits for it. Empty: the wait was cancelled, or the feed has ended.
    [[nodiscard]] std::optional<Change> wait(const std::stop_token& stop)
    {
        waker woken;
        const listener listens{*this, woken};
        const std::stop_callback wake_when_cancelled{stop, [&woken] { woken.wake(); }};
        for (;;) {
            if (std::optional<Change> change = take()) return change;
            if (stop.stop_requested() || ended()) return std::nullopt;
            woken.wait();
        }
    }

    void end() noexcept
    {
        const std::lock_guard lock{mutex_};
        ended_ = true;
        wake_all();
    }

    [[nodiscard]] bool ended() const noexcept
    {
        const std::lock_guard lock{mutex_};
        return ended_;
    }

private:
    void wake_all() noexcept
    {
        for (waker* each : listeners_) each->wake();
    }

    mutable std::mutex mutex_;  // guards what follows
    std::deque<Change> kept_;
    std::vector<waker*> listeners_;
    bool ended_ = false;
};

}  // namespace leasehold::inline v0::detail

#endif
