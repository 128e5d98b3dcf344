// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_QUEUE_TICKET_HPP
#define LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_QUEUE_TICKET_HPP

#include "redis_subscriber.hpp"

#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace redis_leases {

/// What redis_store::enqueue() returns; see lh::notifying_store.
class redis_queue_ticket {
public:
    redis_queue_ticket(redis_subscriber& subscriber, std::string_view name, std::string channel, lh::waker& to_wake)
        : subscriber_{subscriber}, name_{name}, channel_{std::move(channel)}, waker_{to_wake}
    {
    }
    redis_queue_ticket(const redis_queue_ticket&) = delete;
    redis_queue_ticket& operator=(const redis_queue_ticket&) = delete;
    ~redis_queue_ticket()
    {
        if (begun_) subscriber_.remove(channel_, waker_);
    }

    [[nodiscard]] std::string_view name() const noexcept { return name_; }

    /// Whether a release will wake. Subscribes when first asked, after a busy answer: a waiter that finds the name free subscribes
    /// to nothing. What is released before the subscription begins isn't missed, for its beginning wakes too.
    [[nodiscard]] bool listens()
    {
        try {
            if (!begun_) subscriber_.add(channel_, waker_);
            begun_ = true;
        } catch (const std::system_error&) {
            return false;  // no thread to be had
        }
        return subscriber_.live(channel_);
    }

private:
    redis_subscriber& subscriber_;
    const std::string name_;
    const std::string channel_;
    lh::waker& waker_;
    bool begun_ = false;
};

}  // namespace redis_leases

#endif
