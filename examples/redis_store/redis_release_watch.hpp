// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_RELEASE_WATCH_HPP
#define LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_RELEASE_WATCH_HPP

#include "redis_subscriber.hpp"

#include <string>
#include <system_error>
#include <utility>

namespace redis_leases {

/// What redis_store::watch_release() returns; see lh::notifying_store.
class redis_release_watch {
public:
    redis_release_watch(redis_subscriber& subscriber, std::string channel, lh::waker& to_wake)
        : subscriber_{subscriber}, channel_{std::move(channel)}, waker_{to_wake}
    {
    }
    redis_release_watch(const redis_release_watch&) = delete;
    redis_release_watch& operator=(const redis_release_watch&) = delete;
    ~redis_release_watch()
    {
        if (begun_) subscriber_.remove(channel_, waker_);
    }

    /// Called after a busy answer. Only then is there anything to wait for: an attempt that finds the name free does not
    /// subscribe. A release before the subscription begins isn't missed, since the beginning of the subscription wakes too.
    [[nodiscard]] bool live() const
    {
        try {
            if (!begun_) subscriber_.add(channel_, waker_);
            begun_ = true;
        } catch (const std::system_error&) {
            return false;  // no thread can be started
        }
        return subscriber_.live(channel_);
    }

private:
    redis_subscriber& subscriber_;
    const std::string channel_;
    lh::waker& waker_;
    mutable bool begun_ = false;
};

}  // namespace redis_leases

#endif
