// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_CHANGE_FEED_HPP
#define LEASEHOLD_DETAIL_CHANGE_FEED_HPP

#include <leasehold/clock/waker.hpp>

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace leasehold::inline v0::detail {

// The changes that nobody has taken yet, and the waiters for the next one, first come, first served. Each change goes to one waiter. If
// nobody waits, the newest changes are kept.
//
// Thread safety: any thread may call any function.
template <class Change>
class change_feed {
public:
    using change_type = Change;
    static constexpr std::size_t most_kept = 256;

    // One who waits. One of the two functions is called, once, unless leave() was in time.
    class taker {
    public:
        taker() = default;
        taker(const taker&) = delete;
        taker& operator=(const taker&) = delete;
        virtual void taken(Change change) noexcept = 0;
        virtual void ended() noexcept = 0;

    protected:
        ~taker() = default;
    };
    using taker_pointer = std::shared_ptr<taker>;

    // The caller makes the list, so that nothing can fail once there is something to tell.
    void push(std::list<Change> changes) noexcept
    {
        while (!changes.empty()) push_first_of(changes);
    }

    // The oldest change that nobody has taken.
    [[nodiscard]] std::optional<Change> take() noexcept
    {
        const std::lock_guard lock{mutex_};
        return oldest();
    }

    // Hands it over, now or when it comes. May throw std::bad_alloc.
    void take_next(const taker_pointer& next)
    {
        std::unique_lock lock{mutex_};
        std::optional<Change> change = oldest();
        if (!change && !ended_) return takers_.push_back(next);
        lock.unlock();
        if (change)
            next->taken(std::move(*change));
        else
            next->ended();
    }

    // True: nothing will be handed over.
    bool leave(const taker& leaving) noexcept
    {
        const std::lock_guard lock{mutex_};
        return std::erase_if(takers_, [&leaving](const taker_pointer& waiting) { return waiting.get() == &leaving; }) > 0;
    }

    // Waits for a change. Empty: the wait was cancelled, or the feed has ended.
    [[nodiscard]] std::optional<Change> wait(const std::stop_token& stop)
    {
        const auto waiting = std::make_shared<thread_taker>();
        take_next(waiting);
        const std::stop_callback leave_when_cancelled{stop, [this, &waiting] {
                                                          if (leave(*waiting)) waiting->ended();
                                                      }};
        waiting->woken.wait();
        return std::move(waiting->change);
    }

    void end() noexcept
    {
        std::unique_lock lock{mutex_};
        ended_ = true;
        const std::vector<taker_pointer> left = std::move(takers_);
        takers_.clear();
        lock.unlock();
        for (const taker_pointer& waiting : left) waiting->ended();
    }

private:
    struct thread_taker final : taker {
        void taken(Change taken_change) noexcept override
        {
            change.emplace(std::move(taken_change));
            woken.wake();
        }
        void ended() noexcept override { woken.wake(); }

        waker woken;
        std::optional<Change> change;
    };

    void push_first_of(std::list<Change>& changes) noexcept
    {
        std::unique_lock lock{mutex_};
        if (takers_.empty()) {
            kept_.splice(kept_.end(), changes, changes.begin());
            if (kept_.size() > most_kept) kept_.pop_front();
            return;
        }
        const taker_pointer first = std::move(takers_.front());
        takers_.erase(takers_.begin());
        lock.unlock();
        first->taken(std::move(changes.front()));
        changes.pop_front();
    }

    std::optional<Change> oldest() noexcept
    {
        if (kept_.empty()) return std::nullopt;
        std::optional<Change> change{std::move(kept_.front())};
        kept_.pop_front();
        return change;
    }

    std::mutex mutex_;  // guards what follows
    std::list<Change> kept_;
    std::vector<taker_pointer> takers_;
    bool ended_ = false;
};

}  // namespace leasehold::inline v0::detail

#endif
