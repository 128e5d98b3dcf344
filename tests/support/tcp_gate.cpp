// SPDX-License-Identifier: BSL-1.0
#include <support/tcp_gate.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace leasehold_test {

namespace {

constexpr std::size_t most_held = 1 << 20;
constexpr auto nothing_due = std::chrono::milliseconds{1000};

sockaddr_in local_address(int port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

// Not close() with SO_LINGER, which does nothing while a forked process has the socket too.
void reset(int socket) noexcept
{
    if (socket < 0) return;
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;
    ::connect(socket, &nobody, sizeof nobody);
    ::close(socket);
}

void send_at_once(int socket) noexcept
{
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ::fcntl(socket, F_SETFL, O_NONBLOCK);
}

int connect_to(int port) noexcept
{
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return -1;
    const sockaddr_in address = local_address(port);
    // On this host it succeeds or fails at once, unless a server that is stopped has its queue full.
    const timeval limit{.tv_sec = 0, .tv_usec = 200'000};
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        ::close(socket);
        return -1;
    }
    send_at_once(socket);
    return socket;
}

// From now on the kernel drops each packet that comes for it, and so acknowledges none: the other end hears nothing at all.
void drop_packets(int socket) noexcept
{
    if (socket < 0) return;
    sock_filter nothing_passes{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0};
    const sock_fprog filter{.len = 1, .filter = &nothing_passes};
    ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

bool would_block() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

tcp_gate::tcp_gate(int server_port) : server_port_{server_port}
{
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    waker_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sockaddr_in address = local_address(0);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || waker_ < 0 || ::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, generic, &size) != 0) {
        const int error = errno;
        if (listener_ >= 0) ::close(listener_);
        if (waker_ >= 0) ::close(waker_);
        throw std::system_error{error, std::generic_category(), "opening a gate"};
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] { serve(); }};
}

tcp_gate::~tcp_gate()
{
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
        reset_all();
    }
    wake();
    thread_.join();
    ::close(listener_);
    ::close(waker_);
}

std::size_t tcp_gate::connections() const
{
    const std::lock_guard lock{mutex_};
    return connections_.size();
}

void tcp_gate::wake()
{
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(waker_, &one, sizeof one);
}

void tcp_gate::change(direction which, const rule& to)
{
    {
        const std::lock_guard lock{mutex_};
        if (which != direction::to_client) to_server_ = to;
        if (which != direction::to_server) to_client_ = to;
    }
    wake();
}

void tcp_gate::pass()
{
    {
        const std::lock_guard lock{mutex_};
        refusing_ = false;
        for (connection& each : connections_)
            for (way* one : {&each.to_server, &each.to_client})
                for (chunk& held : one->held) held.due = clock::now();
    }
    change(direction::both, {});
}

void tcp_gate::stall(direction which) { change(which, {.stalled = true}); }
void tcp_gate::delay(std::chrono::milliseconds by, direction which) { change(which, {.delay = by}); }

void tcp_gate::delay_connecting(std::chrono::milliseconds by)
{
    const std::lock_guard lock{mutex_};
    connecting_takes_ = by;
}

void tcp_gate::cut()
{
    {
        const std::lock_guard lock{mutex_};
        reset_all();
    }
    wake();
}

void tcp_gate::refuse()
{
    {
        const std::lock_guard lock{mutex_};
        refusing_ = true;
        reset_all();
    }
    wake();
}

void tcp_gate::forget()
{
    {
        const std::lock_guard lock{mutex_};
        for (const connection& each : connections_) {
            drop_packets(each.client);
            drop_packets(each.server);
        }
        forgotten_.splice(forgotten_.end(), connections_);
    }
    wake();
}

void tcp_gate::lead_to(int server_port)
{
    const std::lock_guard lock{mutex_};
    server_port_ = server_port;
}

void tcp_gate::half_close(direction which)
{
    {
        const std::lock_guard lock{mutex_};
        for (connection& each : connections_) {
            if (which != direction::to_client) each.to_server.read_all = true;
            if (which != direction::to_server) each.to_client.read_all = true;
        }
    }
    wake();
}

void tcp_gate::reset_all()
{
    for (auto* list : {&connections_, &forgotten_}) {
        for (connection& each : *list) {
            reset(each.client);
            reset(each.server);
        }
        list->clear();
    }
}

void tcp_gate::serve()
{
    std::unique_lock lock{mutex_};
    while (!stopping_) {
        wait_for_something(lock);
        if (stopping_) return;
        accept_one();
        move_bytes();
    }
}

// Sockets are watched only for what may be done with them now; who changes a rule wakes us.
int tcp_gate::wait_for_something(std::unique_lock<std::mutex>& lock)
{
    std::vector<pollfd> watched{{waker_, POLLIN, 0}, {listener_, POLLIN, 0}};
    const auto now = clock::now();
    auto until = now + nothing_due;
    const auto watch = [&](int from, int to, const way& one, const rule& by) {
        if (from >= 0 && !one.read_all && one.size < most_held && !by.stalled) watched.push_back({from, POLLIN, 0});
        if (by.stalled || one.held.empty()) return;
        if (one.held.front().due > now)
            until = std::min(until, one.held.front().due);
        else if (to >= 0)
            watched.push_back({to, POLLOUT, 0});
    };
    for (const connection& each : connections_) {
        if (each.server < 0 && each.due > now) until = std::min(until, each.due);
        watch(each.client, each.server, each.to_server, to_server_);
        watch(each.server, each.client, each.to_client, to_client_);
    }
    lock.unlock();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
    const int found = ::poll(watched.data(), watched.size(), static_cast<int>(left.count()));
    std::uint64_t count = 0;
    [[maybe_unused]] const auto size = ::read(waker_, &count, sizeof count);
    lock.lock();
    return found;
}

void tcp_gate::accept_one()
{
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    if (refusing_) return reset(client);
    send_at_once(client);
    connections_.push_back({.client = client, .due = clock::now() + connecting_takes_});
}

void tcp_gate::move_bytes()
{
    for (auto each = connections_.begin(); each != connections_.end();) {
        if (move(*each)) {
            ++each;
            continue;
        }
        reset(each->client);
        reset(each->server);
        each = connections_.erase(each);
    }
}

// False when the connection is over.
bool tcp_gate::move(connection& through)
{
    if (through.server < 0 && !to_server_.stalled && through.due <= clock::now()) {
        through.server = connect_to(server_port_);
        if (through.server < 0) return false;
    }
    if (!read_into(through.to_server, through.client, to_server_)) return false;
    if (!read_into(through.to_client, through.server, to_client_)) return false;
    if (!write_from(through.to_server, through.server, to_server_)) return false;
    if (!write_from(through.to_client, through.client, to_client_)) return false;
    if (!through.to_server.ended || !through.to_client.ended) return true;
    // Both ends have said that they are done: a polite end.
    ::close(through.client);
    ::close(through.server);
    through.client = through.server = -1;
    return false;
}

// False when the other end is gone without a polite end.
bool tcp_gate::read_into(way& into, int from, const rule& by)
{
    if (from < 0 || by.stalled) return true;
    std::array<char, 16384> bytes;
    while (!into.read_all && into.size < most_held) {
        const ssize_t size = ::recv(from, bytes.data(), bytes.size(), 0);
        if (size < 0) return would_block();
        if (size == 0) {
            into.read_all = true;
            into.held.push_back({clock::now() + by.delay, {}});
        } else {
            into.held.push_back({clock::now() + by.delay, {bytes.data(), static_cast<std::size_t>(size)}});
            into.size += static_cast<std::size_t>(size);
        }
    }
    return true;
}

bool tcp_gate::write_from(way& from, int to, const rule& by)
{
    if (to < 0 || by.stalled) return true;
    if (from.read_all && !from.ended && from.held.empty()) {  // half-closed by order
        from.ended = true;
        ::shutdown(to, SHUT_WR);
    }
    while (!from.held.empty() && from.held.front().due <= clock::now()) {
        chunk& next = from.held.front();
        if (next.bytes.empty()) {
            if (!from.ended) ::shutdown(to, SHUT_WR);
            from.ended = true;
        } else {
            const ssize_t size = ::send(to, next.bytes.data(), next.bytes.size(), MSG_NOSIGNAL);
            if (size < 0) return would_block();
            from.size -= static_cast<std::size_t>(size);
            next.bytes.erase(0, static_cast<std::size_t>(size));
            if (!next.bytes.empty()) return true;
        }
        from.held.pop_front();
    }
    return true;
}

}  // namespace leasehold_test
