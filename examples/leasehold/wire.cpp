// SPDX-License-Identifier: BSL-1.0
#include "wire.hpp"

#include <cerrno>
#include <cstddef>

#include <sys/socket.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0  // SIGPIPE is blocked in both processes
#endif

namespace tool {

bool send(int socket, const wire_message& message) noexcept
{
    const auto* bytes = reinterpret_cast<const char*>(&message);
    for (std::size_t sent = 0; sent < sizeof message;) {
        const ssize_t size = ::send(socket, bytes + sent, sizeof message - sent, MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return false;
        sent += static_cast<std::size_t>(size);
    }
    return true;
}

void send_if_there_is_room(int socket, const wire_message& message) noexcept
{
    // So small a message is taken whole or not at all.
    ::send(socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::optional<wire_message> receive(int socket) noexcept
{
    wire_message message{};
    auto* bytes = reinterpret_cast<char*>(&message);
    for (std::size_t got = 0; got < sizeof message;) {
        const ssize_t size = ::read(socket, bytes + got, sizeof message - got);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return std::nullopt;
        got += static_cast<std::size_t>(size);
    }
    return message;
}

}  // namespace tool
