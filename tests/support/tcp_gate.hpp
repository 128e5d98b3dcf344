// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_TCP_GATE_HPP
#define LEASEHOLD_TESTS_SUPPORT_TCP_GATE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace leasehold_test {

/// Which way bytes go through a tcp_gate.
enum class direction : std::uint8_t { to_server, to_client, both };

/// The network between clients and a server on 127.0.0.1, for a test to break.
///
/// Clients connect to port(); what they send goes on to the server's port, and back, until the gate is told otherwise. What
/// it is told is true when the function returns: no byte takes the old way any more.
/// Thread safety: all functions from any thread.
class tcp_gate {
public:
    explicit tcp_gate(int server_port);
    tcp_gate(const tcp_gate&) = delete;
    tcp_gate& operator=(const tcp_gate&) = delete;
    ~tcp_gate();  // resets all connections

    /// Where clients connect to.
    [[nodiscard]] int port() const noexcept { return port_; }
    /// Connections there are now.
    [[nodiscard]] std::size_t connections() const;

    /// All goes through again, at once, what was held back first.
    void pass();
    /// As if packets were dropped: connections are accepted and stay open, and nothing arrives, not even their end.
    void stall(direction which = direction::both);
    /// Everything arrives this much later.
    void delay(std::chrono::milliseconds by, direction which = direction::both);
    /// New connections reach the server this much later; what goes through them then is not delayed. Also after pass().
    void delay_connecting(std::chrono::milliseconds by);
    /// Resets the connections there are (RST both ways). New ones go through.
    void cut();
    /// Cuts, and resets new connections at once, until pass().
    void refuse();
    /// The connections there are stay open, and nothing arrives through them any more, not even an acknowledgement or their end;
    /// new ones go through. As where a router has forgotten them, or a host has lost its power. Until cut().
    void forget();
    /// New connections go to this port of 127.0.0.1, as where an address has moved to another server.
    void lead_to(int server_port);
    /// Ends one way of the connections there are: `to_server` lets the server read the end of the client's bytes, while what
    /// it answers still comes through.
    void half_close(direction which);

private:
    using clock = std::chrono::steady_clock;

    struct chunk {
        clock::time_point due;
        std::string bytes;  // none: the end
    };
    // One way through: what was read from one socket and is to be written to the other.
    struct way {
        std::deque<chunk> held{};
        std::size_t size = 0;
        bool read_all = false;  // the end has been read, or may be ignored
        bool ended = false;     // the end has been passed on
    };
    struct connection {
        int client = -1;
        int server = -1;  // not connected before anything may go there
        clock::time_point due{};  // when it may be
        way to_server{};
        way to_client{};
    };
    struct rule {
        bool stalled = false;
        std::chrono::milliseconds delay{0};
    };

    void serve();
    void accept_one();
    int wait_for_something(std::unique_lock<std::mutex>& lock);
    void move_bytes();
    bool move(connection& through);
    bool read_into(way& into, int from, const rule& by);
    bool write_from(way& from, int to, const rule& by);
    void reset_all();
    void change(direction which, const rule& to);
    void wake();

    int listener_ = -1;
    int waker_ = -1;
    int port_ = 0;
    mutable std::mutex mutex_;  // held whenever a byte moves
    int server_port_;
    rule to_server_;
    rule to_client_;
    std::chrono::milliseconds connecting_takes_{0};
    bool refusing_ = false;
    bool stopping_ = false;
    std::list<connection> connections_;
    std::list<connection> forgotten_;
    std::thread thread_;
};

}  // namespace leasehold_test

#endif
