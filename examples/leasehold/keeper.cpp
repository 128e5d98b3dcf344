// SPDX-License-Identifier: BSL-1.0
#include "keeper.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tool {

keeper::keeper(const command_plan& plan)
{
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0)
        throw std::system_error{errno, std::generic_category(), "can't create a socket"};
    for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    process_ = ::fork();
    if (process_ == 0) {
        ::close(ends[0]);
        keep(ends[1], plan);
        ::_exit(0);
    }
    const int error = errno;
    ::close(ends[1]);
    socket_ = ends[0];
    if (process_ > 0) return;
    ::close(socket_);
    throw std::system_error{error, std::generic_category(), "can't start a process"};
}

keeper::~keeper()
{
    ::shutdown(socket_, SHUT_WR);
    if (process_ < 0)
        while (receive()) {}  // until it closes its end: it is another process's child
    ::close(socket_);
    while (process_ > 0 && ::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {}
}

}  // namespace tool
