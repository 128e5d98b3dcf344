// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_POOL_HPP
#define LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_POOL_HPP

#include "redis_failure.hpp"
#include "redis_options.hpp"
#include "redis_session.hpp"

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace redis_leases {

/// A few sessions, lent to one call each. Thread-safe.
class redis_pool {
public:
    using time_point = redis_session::time_point;

    /// Holds a session as long as this object exists. Empty: there was none.
    class loan {
    public:
        loan() = default;
        loan(redis_pool& from, std::unique_ptr<redis_session> session) : from_{&from}, session_{std::move(session)} {}
        loan(loan&&) = default;
        loan& operator=(loan&&) = delete;
        ~loan()
        {
            if (session_) from_->give_back(std::move(session_));
        }

        explicit operator bool() const noexcept { return session_ != nullptr; }
        redis_session* operator->() const noexcept { return session_.get(); }

    private:
        redis_pool* from_ = nullptr;
        std::unique_ptr<redis_session> session_;
    };

    explicit redis_pool(const redis_options& options) : options_{options}
    {
        idle_.reserve(options.pool_size);  // so that returning a session can't throw
    }

    /// Waits for a session, and connects it if need be.
    loan take(time_point until, redis_failure& why)
    {
        std::unique_lock lock{mutex_};
        if (!given_back_.wait_until(lock, until, [this] { return !idle_.empty() || lent_ < options_.pool_size; })) {
            why =
                redis_failure::of(lh::errc::store_timeout, "no connection of the pool became free in time: raise pool_size "
                                                           "or call_timeout, or look for what blocks the others");
            return {};
        }
        const bool is_new = idle_.empty();
        std::unique_ptr<redis_session> session = is_new ? std::make_unique<redis_session>() : std::move(idle_.back());
        if (!is_new) idle_.pop_back();
        ++lent_;
        lock.unlock();
        loan lent{*this, std::move(session)};
        if (is_new && !lent->open(options_, until, why)) return {};
        return lent;
    }

    /// Drops the idle sessions: if one session was lost, the others are lost too.
    void forget_idle()
    {
        std::vector<std::unique_ptr<redis_session>> forgotten;
        forgotten.reserve(options_.pool_size);
        const std::lock_guard lock{mutex_};
        std::swap(forgotten, idle_);
    }

private:
    void give_back(std::unique_ptr<redis_session> session) noexcept
    {
        const std::lock_guard lock{mutex_};
        --lent_;
        if (session->usable()) idle_.push_back(std::move(session));
        given_back_.notify_one();
    }

    const redis_options& options_;
    std::mutex mutex_;
    std::condition_variable given_back_;
    std::vector<std::unique_ptr<redis_session>> idle_;
    std::size_t lent_ = 0;
};

}  // namespace redis_leases

#endif
