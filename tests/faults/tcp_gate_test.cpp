// SPDX-License-Identifier: BSL-1.0
// The gate of the test support itself: what the fault campaign stands on.
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/tcp_gate.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(gate)

using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

// What "nothing comes" is judged by, and "it comes".
constexpr auto a_while = 150ms;
constexpr auto in_time = 5s;

sockaddr_in local_address(int port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

class socket_end {
public:
    explicit socket_end(int number) : number_{number} {}
    socket_end(socket_end&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
    ~socket_end()
    {
        if (number_ >= 0) ::close(number_);
    }
    static socket_end connected_to(int port)
    {
        socket_end end{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        const sockaddr_in address = local_address(port);
        if (::connect(end.number_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error{"no connection"};
        return end;
    }
    void send(const std::string& text) const { std::ignore = ::send(number_, text.data(), text.size(), MSG_NOSIGNAL); }
    void shut() const { ::shutdown(number_, SHUT_WR); }
    /// What comes within the time: bytes, "" for the end, "reset"; nothing: nothing.
    [[nodiscard]] std::optional<std::string> receive(std::chrono::milliseconds within) const
    {
        pollfd waiting{number_, POLLIN, 0};
        if (::poll(&waiting, 1, static_cast<int>(within.count())) <= 0) return std::nullopt;
        std::array<char, 100> bytes;
        const ssize_t size = ::recv(number_, bytes.data(), bytes.size(), 0);
        return size < 0 ? "reset" : std::string{bytes.data(), static_cast<std::size_t>(size)};
    }
    [[nodiscard]] int number() const noexcept { return number_; }

private:
    int number_;
};

class listener {
public:
    listener() : end_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}
    {
        sockaddr_in address = local_address(0);
        socklen_t size = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(end_.number(), generic, size) != 0 || ::listen(end_.number(), 8) != 0 ||
            ::getsockname(end_.number(), generic, &size) != 0)
            throw std::runtime_error{"no listener"};
        port_ = ntohs(address.sin_port);
    }
    [[nodiscard]] int port() const noexcept { return port_; }
    [[nodiscard]] socket_end accept() const { return socket_end{::accept(end_.number(), nullptr, nullptr)}; }

private:
    socket_end end_;
    int port_ = 0;
};

struct scene {
    listener server_listener;
    tcp_gate gate{server_listener.port()};
    socket_end client = socket_end::connected_to(gate.port());
    socket_end server = server_listener.accept();

    bool passes_to_server(const std::string& text)
    {
        client.send(text);
        return server.receive(in_time) == text;
    }
    bool passes_to_client(const std::string& text)
    {
        server.send(text);
        return client.receive(in_time) == text;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(bytes_and_the_end_pass_both_ways)
{
    scene s;
    BOOST_TEST(s.passes_to_server("question"));
    BOOST_TEST(s.passes_to_client("answer"));
    s.client.shut();
    BOOST_TEST((s.server.receive(in_time) == ""));
    BOOST_TEST(s.passes_to_client("last words"));
    s.server.shut();
    BOOST_TEST((s.client.receive(in_time) == ""));
    BOOST_TEST(eventually([&] { return s.gate.connections() == 0; }));
}

BOOST_AUTO_TEST_CASE(stalled_it_accepts_and_forwards_nothing_until_it_passes_again)
{
    scene s;
    BOOST_TEST(s.passes_to_server("before"));
    s.gate.stall();
    s.client.send("held");
    s.client.shut();
    const auto newcomer = socket_end::connected_to(s.gate.port());
    newcomer.send("new");
    BOOST_TEST((!s.server.receive(a_while)));
    s.gate.pass();
    BOOST_TEST((s.server.receive(in_time) == "held"));
    BOOST_TEST((s.server.receive(in_time) == ""));
    BOOST_TEST((s.server_listener.accept().receive(in_time) == "new"));
}

BOOST_AUTO_TEST_CASE(stalled_one_way_the_other_passes)
{
    scene s;
    s.gate.stall(direction::to_client);
    BOOST_TEST(s.passes_to_server("question"));
    s.server.send("answer");
    BOOST_TEST((!s.client.receive(a_while)));
    s.gate.stall(direction::to_server);
    s.gate.pass();
    BOOST_TEST((s.client.receive(in_time) == "answer"));
}

BOOST_AUTO_TEST_CASE(delayed_it_arrives_later)
{
    scene s;
    s.gate.delay(200ms, direction::to_server);
    const auto begun = std::chrono::steady_clock::now();
    s.client.send("slow");
    BOOST_TEST((s.server.receive(in_time) == "slow"));
    BOOST_TEST((std::chrono::steady_clock::now() - begun >= 200ms));
    s.gate.delay(1h);
    s.client.send("slower");
    BOOST_TEST((!s.server.receive(a_while)));
    s.gate.pass();
    BOOST_TEST((s.server.receive(in_time) == "slower"));
}

BOOST_AUTO_TEST_CASE(cut_resets_what_is_there_and_lets_the_next_through)
{
    scene s;
    BOOST_TEST(s.passes_to_server("before"));
    s.gate.cut();
    BOOST_TEST((s.client.receive(in_time) == "reset"));
    BOOST_TEST((s.server.receive(in_time) == "reset"));
    const auto next = socket_end::connected_to(s.gate.port());
    const auto accepted = s.server_listener.accept();
    next.send("again");
    BOOST_TEST((accepted.receive(in_time) == "again"));
}

BOOST_AUTO_TEST_CASE(refusing_it_resets_also_what_is_new)
{
    scene s;
    s.gate.refuse();
    BOOST_TEST((s.client.receive(in_time) == "reset"));
    BOOST_TEST((socket_end::connected_to(s.gate.port()).receive(in_time) == "reset"));
    s.gate.pass();
    const auto next = socket_end::connected_to(s.gate.port());
    next.send("again");
    BOOST_TEST((s.server_listener.accept().receive(in_time) == "again"));
}

BOOST_AUTO_TEST_CASE(half_closed_one_way_the_other_goes_on)
{
    scene s;
    BOOST_TEST(s.passes_to_server("question"));
    s.gate.half_close(direction::to_server);
    BOOST_TEST((s.server.receive(in_time) == ""));
    BOOST_TEST(s.passes_to_client("answer"));
    s.client.send("nobody reads this");
    BOOST_TEST(s.passes_to_client("still"));
}

BOOST_AUTO_TEST_CASE(delayed_connecting_only_new_connections_reach_the_server_later)
{
    scene s;
    s.gate.delay_connecting(2 * a_while);
    BOOST_TEST(s.passes_to_server("at once"));
    const auto begun = std::chrono::steady_clock::now();
    const auto next = socket_end::connected_to(s.gate.port());
    next.send("late");
    const auto accepted = s.server_listener.accept();
    BOOST_TEST((accepted.receive(in_time) == "late"));
    BOOST_TEST((std::chrono::steady_clock::now() - begun >= 2 * a_while));
    const auto connected = std::chrono::steady_clock::now();
    next.send("now");
    BOOST_TEST((accepted.receive(in_time) == "now"));
    BOOST_TEST((std::chrono::steady_clock::now() - connected < 2 * a_while));
}

BOOST_AUTO_TEST_CASE(without_a_server_a_connection_is_reset)
{
    tcp_gate alone{free_port()};
    const auto client = socket_end::connected_to(alone.port());
    const auto answer = client.receive(in_time);
    BOOST_TEST((answer == "reset" || answer == ""));
}

BOOST_AUTO_TEST_SUITE_END()
