// SPDX-License-Identifier: BSL-1.0
#include "keeper_nursery.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace tool {

namespace {

/// What is sent for each keeper, together with its end of a socket.
struct order {
    std::int32_t shard = 0;
    std::array<char, 256> owner{};  // ends with a NUL; an owner has at most 200 bytes
};

/// Room for one descriptor beside a message.
struct passed_descriptor {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

[[noreturn]] void raise(const char* what) { throw std::system_error{errno, std::generic_category(), what}; }

std::array<int, 2> socket_pair()
{
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) raise("can't create a socket");
    for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    return ends;
}

// All of it goes at once: it is smaller than any socket's buffer.
bool send_order(int socket, const order& sent, int descriptor) noexcept
{
    iovec part{const_cast<order*>(&sent), sizeof sent};
    passed_descriptor beside;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = beside.bytes.data();
    message.msg_controllen = beside.bytes.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    ssize_t size = 0;
    do size = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    while (size < 0 && errno == EINTR);
    return size == static_cast<ssize_t>(sizeof sent);
}

// Its descriptor; -1: the other side is gone.
int receive_order(int socket, order& received) noexcept
{
    iovec part{&received, sizeof received};
    passed_descriptor beside;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = beside.bytes.data();
    message.msg_controllen = beside.bytes.size();
    ssize_t size = 0;
    do size = ::recvmsg(socket, &message, MSG_WAITALL);
    while (size < 0 && errno == EINTR);
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (size != static_cast<ssize_t>(sizeof received) || !header || header->cmsg_type != SCM_RIGHTS) return -1;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return descriptor;
}

// One thread, and nothing that can wait but for the next order.
void start_keepers(int socket, const command_plan& plan)
{
    ::setpgid(0, 0);  // out of reach of what is sent to the tool's group
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    ::signal(SIGCHLD, SIG_IGN);  // nobody waits for a keeper
#if defined(__linux__)
    ::prctl(PR_SET_NAME, "leasehold-start");
#endif
    for (order next;;) {
        const int end = receive_order(socket, next);
        if (end < 0) return;
        if (::fork() == 0) {
            ::close(socket);
            keep(end, plan_of(plan, static_cast<std::size_t>(next.shard), next.owner.data()));
            ::_exit(0);
        }
        ::close(end);  // after a fork that has failed, the tool sees that nobody is there
    }
}

}  // namespace

command_plan plan_of(command_plan plan, std::size_t shard, std::string owner)
{
    const std::string index = std::to_string(shard);
    for (std::string& word : plan.command)
        for (std::size_t at = word.find("{}"); at != word.npos; at = word.find("{}", at + index.size())) word.replace(at, 2, index);
    plan.name += "/" + index;
    plan.owner = std::move(owner);
    plan.shard = shard;
    return plan;
}

keeper_nursery::keeper_nursery(const command_plan& plan)
{
    const std::array<int, 2> ends = socket_pair();
    process_ = ::fork();
    if (process_ == 0) {
        ::close(ends[0]);
        start_keepers(ends[1], plan);
        ::_exit(0);
    }
    ::close(ends[1]);
    socket_ = ends[0];
    if (process_ > 0) return;
    const int error = errno;
    ::close(socket_);
    throw std::system_error{error, std::generic_category(), "can't start a process"};
}

keeper_nursery::~keeper_nursery()
{
    ::close(socket_);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {}
}

int keeper_nursery::start(std::size_t shard, const std::string& owner) const
{
    order sent;
    sent.shard = static_cast<std::int32_t>(shard);
    owner.copy(sent.owner.data(), sent.owner.size() - 1);
    const std::array<int, 2> ends = socket_pair();
    const bool done = send_order(socket_, sent, ends[1]);
    const int error = errno;
    ::close(ends[1]);
    if (done) return ends[0];
    ::close(ends[0]);
    throw std::system_error{error, std::generic_category(), "can't start a process for the command"};
}

}  // namespace tool
