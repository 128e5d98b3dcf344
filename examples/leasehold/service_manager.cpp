// SPDX-License-Identifier: BSL-1.0
#include "service_manager.hpp"

#include "message.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0  // a datagram socket sends no SIGPIPE
#endif

namespace tool {

namespace {

constexpr timeval patience{.tv_sec = 0, .tv_usec = 200'000};

}  // namespace

service_manager::service_manager()
{
    const char* const named = std::getenv("NOTIFY_SOCKET");
    if (!named) return;
    const std::string_view name{named};
    const bool usable = (name.starts_with('/') || name.starts_with('@')) && name.size() > 1 && name.size() < sizeof(sockaddr_un::sun_path);
    if (usable)
        socket_ = name;
    else
        explain("NOTIFY_SOCKET is neither a path nor an abstract socket, so no service manager is told of the lease: " + std::string{name});
    ::unsetenv("NOTIFY_SOCKET");
}

void service_manager::status(std::string_view text) { send({}, text); }

void service_manager::ready(std::string_view text)
{
    if (!stopping_) send("READY=1\n", text);
}

void service_manager::stopping(std::string_view text)
{
    if (!stopping_.exchange(true)) send("STOPPING=1\n", text);
}

void service_manager::asked_to_end(int signal)
{
    if (signal != SIGHUP) stopping("asked to end by a signal");
}

void service_manager::send(std::string_view state, std::string_view text) const
{
    if (socket_.empty()) return;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(socket_.begin(), socket_.end(), address.sun_path);
    const bool is_abstract = socket_.front() == '@';
    if (is_abstract) address.sun_path[0] = '\0';
    // The length of an abstract name counts; a path ends with a zero.
    const std::size_t length = offsetof(sockaddr_un, sun_path) + socket_.size() + (is_abstract ? 0 : 1);

    const int to = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    if (to < 0) return;
    ::fcntl(to, F_SETFD, FD_CLOEXEC);
    ::setsockopt(to, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const std::string message = std::string{state} + "STATUS=" + printable(text) + "\n";
    if (::sendto(to, message.data(), message.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(length)) < 0)
        explain("the service manager could not be told: " + std::string{text});
    ::close(to);
}

}  // namespace tool
