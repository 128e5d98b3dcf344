// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_SUBSCRIBER_HPP
#define LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_SUBSCRIBER_HPP

#include "redis_connection.hpp"
#include "redis_failure.hpp"
#include "redis_options.hpp"
#include "redis_reply.hpp"

#include <leasehold/clock/waker.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace redis_leases {

/// Wakes those in this process that wait for a message on a channel. It has one connection and one thread for all of them,
/// both created when somebody first waits. Thread-safe.
class redis_subscriber {
public:
    explicit redis_subscriber(const redis_options& options)
        : options_{options}, wakes_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}
    {
        if (wakes_ < 0) throw std::system_error{errno, std::generic_category(), "eventfd"};
    }
    redis_subscriber(const redis_subscriber&) = delete;
    redis_subscriber& operator=(const redis_subscriber&) = delete;

    /// Waits for a connection that is being made, so at most call_timeout. Nobody may wait here any more.
    ~redis_subscriber()
    {
        ending_ = true;
        tell_thread();
        if (thread_.joinable()) thread_.join();
        ::close(wakes_);
    }

    /// From now on each message wakes. The beginning of the subscription wakes too, because of earlier messages.
    void add(std::string_view channel, lh::waker& to_wake)
    {
        const std::lock_guard lock{mutex_};
        if (!thread_.joinable()) thread_ = std::thread{[this] { serve(); }};
        subscription& s = channels_[std::string{channel}];
        s.wakers.push_back(&to_wake);
        if (s.confirmed) to_wake.wake();
        change();
    }

    /// Does not wait for Redis.
    void remove(std::string_view channel, lh::waker& to_wake) noexcept
    {
        const std::lock_guard lock{mutex_};
        const auto found = channels_.find(channel);
        if (found == channels_.end()) return;
        std::erase(found->second.wakers, &to_wake);
        if (found->second.wakers.empty()) change();
    }

    /// Whether Redis has confirmed the subscription and still answers.
    [[nodiscard]] bool live(std::string_view channel) const
    {
        const std::lock_guard lock{mutex_};
        const auto found = channels_.find(channel);
        return found != channels_.end() && found->second.confirmed;
    }

    // How long the connection may be silent before Redis gets a PING.
    static constexpr std::chrono::seconds silence{1};

private:
    using time_point = redis_connection::time_point;

    // Pauses between connections: the first, doubled up to the longest.
    static constexpr std::chrono::milliseconds first_pause{100};
    static constexpr std::chrono::milliseconds longest_pause{5000};

    struct subscription {
        std::vector<lh::waker*> wakers;  // the waiters; none: the subscription has to be ended
        bool requested = false;
        bool confirmed = false;
    };

    static time_point now() { return std::chrono::steady_clock::now(); }

    // To be called under the mutex.
    void change() noexcept
    {
        changed_ = true;
        tell_thread();
    }

    void tell_thread() noexcept
    {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(wakes_, &one, sizeof one);
    }

    void take_wakes() noexcept
    {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto read = ::read(wakes_, &count, sizeof count);
    }

    bool anybody_waits() const
    {
        const std::lock_guard lock{mutex_};
        return std::ranges::any_of(channels_, [](const auto& channel) { return !channel.second.wakers.empty(); });
    }

    void serve() noexcept
    {
        std::chrono::milliseconds pause = first_pause;
        while (!ending_) {
            try {
                redis_failure why;
                if (connection_.open(options_, now() + options_.call_timeout, why) && listen(why)) pause = first_pause;
            } catch (const std::exception&) {
                // For example, no memory: the same as a lost connection.
            }
            connection_.close();
            forget_subscriptions();
            rest(pause);
            pause = std::min(pause * 2, longest_pause);
        }
    }

    // Runs until the connection is lost or useless. Returns whether it was of any use.
    bool listen(redis_failure& why)
    {
        time_point heard = now();
        time_point asked{};  // when the unanswered PING was sent
        bool useful = false;
        while (!ending_) {
            request_changes();
            const bool waits = anybody_waits();
            const time_point until = asked != time_point{} ? asked + options_.call_timeout
                                     : waits               ? heard + silence
                                                           : now() + std::chrono::hours{1};
            if (now() >= until) {
                if (asked != time_point{}) return useful;
                connection_.request({"PING"});
                asked = now();
            }
            if (!connection_.exchange(until, wakes_, why)) return useful;
            take_wakes();
            while (const redis_reply message = connection_.received(why)) {
                if (message.is_error()) return useful;
                heard = now();
                asked = {};
                useful = take(message) || useful;
            }
            if (why) return useful;
        }
        return useful;
    }

    void request_changes()
    {
        const std::lock_guard lock{mutex_};
        if (!changed_) return;
        for (auto channel = channels_.begin(); channel != channels_.end();) {
            subscription& s = channel->second;
            const bool wanted = !s.wakers.empty();
            if (wanted != s.requested) connection_.request({wanted ? "SUBSCRIBE" : "UNSUBSCRIBE", channel->first});
            s.requested = wanted;
            channel = wanted ? std::next(channel) : channels_.erase(channel);
        }
        changed_ = false;
    }

    // Returns whether the message shows that this connection works. A woken waiter asks the store: a message is only a hint.
    bool take(const redis_reply& message)
    {
        const std::string_view kind = message.text(0);
        if (kind != "message" && kind != "subscribe") return false;
        const std::lock_guard lock{mutex_};
        const auto found = channels_.find(message.text(1));
        if (found == channels_.end()) return true;
        if (kind == "subscribe") found->second.confirmed = true;
        for (lh::waker* waiting : found->second.wakers) waiting->wake();
        return true;
    }

    // Wakes the waiters, so that they see that nobody will wake them: they poll until there is a subscription again.
    void forget_subscriptions()
    {
        const std::lock_guard lock{mutex_};
        for (auto& [channel, s] : channels_) {
            s.requested = s.confirmed = false;
            for (lh::waker* waiting : s.wakers) waiting->wake();
        }
        changed_ = true;
    }

    void rest(std::chrono::milliseconds pause)
    {
        const time_point until = now() + pause;
        while (!ending_ && (now() < until || !anybody_waits())) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now());
            pollfd awaited{wakes_, POLLIN, 0};
            ::poll(&awaited, 1, static_cast<int>(left.count() > 0 ? left.count() : -1));
            take_wakes();
        }
    }

    const redis_options& options_;
    const int wakes_;  // tells the thread that something has changed
    std::atomic<bool> ending_ = false;
    redis_connection connection_;  // the thread's own

    mutable std::mutex mutex_;  // guards what follows; never held across I/O
    std::map<std::string, subscription, std::less<>> channels_;
    bool changed_ = false;
    std::thread thread_;
};

}  // namespace redis_leases

#endif
