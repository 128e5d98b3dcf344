// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_CONNECTION_HPP
#define LEASEHOLD_EXAMPLES_REDIS_STORE_REDIS_CONNECTION_HPP

#include "redis_failure.hpp"
#include "redis_options.hpp"
#include "redis_reply.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace redis_leases {

/// One connection, in which no function takes longer than until the given instant.
///
/// hiredis connects, and writes requests and reads answers in the protocol. This class handles the socket itself, because
/// hiredis has only a time-out per read, and raises SIGPIPE if the connection is gone. Not thread-safe.
class redis_connection {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// Connects and logs in. False: `why` says why not.
    bool open(const redis_options& options, time_point until, redis_failure& why)
    {
        const timeval patience = time_value(until);
        context_.reset(options.unix_socket.empty() ? redisConnectWithTimeout(options.host.c_str(), options.port, patience)
                                                   : redisConnectUnixWithTimeout(options.unix_socket.c_str(), patience));
        if (!context_ || context_->err) {
            const std::string said = context_ ? context_->errstr : "out of memory";
            context_.reset();
            why = std::chrono::steady_clock::now() >= until
                      ? redis_failure::late()
                      : redis_failure::of(lh::errc::store_unavailable, "no connection to Redis", said);
            return false;
        }
        ::fcntl(context_->fd, F_SETFD, FD_CLOEXEC);  // not for programs that this one starts
        if (options.unix_socket.empty()) redisEnableKeepAlive(context_.get());
        return log_in(options, until, why);
    }

    /// False after a failure that makes it unknown to which request the next answer belongs.
    [[nodiscard]] bool usable() const noexcept { return context_ != nullptr; }
    [[nodiscard]] int socket() const noexcept { return context_ ? context_->fd : -1; }
    void close() noexcept { context_.reset(); }

    /// Queues a request, which the next receive() sends.
    void request(std::span<const std::string_view> words)
    {
        std::vector<const char*> texts;
        std::vector<std::size_t> sizes;
        for (const std::string_view word : words) {
            texts.push_back(word.data());
            sizes.push_back(word.size());
        }
        char* command = nullptr;
        // An int or, since hiredis 1.2, a long long.
        const auto size = redisFormatCommandArgv(&command, static_cast<int>(words.size()), texts.data(), sizes.data());
        if (size < 0) throw std::bad_alloc{};
        const std::unique_ptr<char, void (*)(char*)> freed_here{command, &redisFreeCommand};
        unsent_.append(command, static_cast<std::size_t>(size));
    }
    void request(std::initializer_list<std::string_view> words) { request(std::span{words.begin(), words.size()}); }

    /// The next answer, which may be an error of Redis. Empty: `why` says why, and the connection is closed.
    redis_reply receive(time_point until, redis_failure& why)
    {
        for (;;) {
            if (redis_reply reply = received(why); reply || why) return reply;
            if (std::chrono::steady_clock::now() >= until) {
                give_up(why, redis_failure::late());
                return {};
            }
            if (!exchange(until, -1, why)) return {};
        }
    }

    /// An answer that has already arrived. Empty: there is none, or `why` says more.
    redis_reply received(redis_failure& why)
    {
        void* reply = nullptr;
        if (redisReaderGetReply(context_->reader, &reply) == REDIS_OK) return redis_reply{reply};
        give_up(why, redis_failure::of(lh::errc::store_unavailable, "this doesn't speak the protocol of Redis",
                                       context_->reader->errstr));
        return {};
    }

    /// Sends and reads what it can, when it can, before `until`; returns early when `interrupt` (a file descriptor, or -1)
    /// can be read. False: failed, and the connection is closed.
    bool exchange(time_point until, int interrupt, redis_failure& why)
    {
        if (!send_some(why)) return false;
        const short events = static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT);
        std::array<pollfd, 2> waited_for{{{context_->fd, events, 0}, {interrupt, POLLIN, 0}}};
        const int ready = ::poll(waited_for.data(), waited_for.size(), milliseconds(until));
        if (ready < 0 && errno != EINTR) return give_up(why, redis_failure::lost(std::generic_category().message(errno)));
        return ready <= 0 || waited_for[0].revents == 0 || read_some(why);
    }

private:
    struct free_context {
        void operator()(redisContext* context) const noexcept { redisFree(context); }
    };

    bool log_in(const redis_options& options, time_point until, redis_failure& why)
    {
        if (!options.password.empty()) {
            if (options.user.empty())
                request({"AUTH", options.password});
            else
                request({"AUTH", options.user, options.password});
            const redis_reply reply = receive(until, why);
            // Redis repeats what it doesn't understand, and so the password: report only the first word of its message.
            if (!accepted(reply, why, reply.text().substr(0, reply.text().find(' ')))) return false;
        }
        if (options.database != 0) {
            request({"SELECT", std::to_string(options.database)});
            const redis_reply reply = receive(until, why);
            if (!accepted(reply, why, reply.text())) return false;
        }
        return true;
    }

    bool accepted(const redis_reply& reply, redis_failure& why, std::string_view said)
    {
        if (reply && !reply.is_error()) return true;
        if (reply) give_up(why, redis_failure::reply(said));
        return false;
    }

    bool give_up(redis_failure& why, redis_failure because)
    {
        why = std::move(because);
        close();
        unsent_.clear();
        return false;
    }

    bool send_some(redis_failure& why)
    {
        while (!unsent_.empty()) {
            const ssize_t sent = ::send(context_->fd, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent > 0)
                unsent_.erase(0, static_cast<std::size_t>(sent));
            else if (errno == EAGAIN || errno == EWOULDBLOCK)
                return true;
            else if (errno != EINTR)
                return give_up(why, redis_failure::lost(std::generic_category().message(errno)));
        }
        return true;
    }

    bool read_some(redis_failure& why)
    {
        std::array<char, 4096> bytes{};
        const ssize_t size = ::recv(context_->fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (size == 0) return give_up(why, redis_failure::lost("end of file"));
        if (size < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ||
                   give_up(why, redis_failure::lost(std::generic_category().message(errno)));
        if (redisReaderFeed(context_->reader, bytes.data(), static_cast<std::size_t>(size)) == REDIS_OK) return true;
        return give_up(why, redis_failure::lost(context_->reader->errstr));
    }

    static std::chrono::microseconds left(time_point until)
    {
        const auto time = std::chrono::ceil<std::chrono::microseconds>(until - std::chrono::steady_clock::now());
        return std::clamp<std::chrono::microseconds>(time, std::chrono::microseconds{0}, std::chrono::hours{1});
    }

    static int milliseconds(time_point until)
    {
        return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left(until)).count());
    }

    static timeval time_value(time_point until)
    {
        const auto time = std::max(left(until), std::chrono::microseconds{1000});  // 0 would mean no limit
        timeval value{};
        value.tv_sec = static_cast<time_t>(time.count() / 1'000'000);
        value.tv_usec = static_cast<suseconds_t>(time.count() % 1'000'000);
        return value;
    }

    std::unique_ptr<redisContext, free_context> context_;
    std::string unsent_;
};

}  // namespace redis_leases

#endif
