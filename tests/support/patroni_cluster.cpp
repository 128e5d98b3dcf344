// SPDX-License-Identifier: BSL-1.0
#include <support/patroni_cluster.hpp>

#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/postgresql_server.hpp>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace leasehold_test {

namespace {

using namespace std::chrono_literals;

// A node that comes back may copy all data from another.
constexpr auto longest_repair = 120s;

std::string local_address(int port) { return "127.0.0.1:" + std::to_string(port); }

/// A connection to a port of this host, none where nobody listens. Its reads and writes end in a second.
class connection {
public:
    explicit connection(int port) : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}
    {
        const timeval limit{.tv_sec = 1, .tv_usec = 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        open_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() { ::close(socket_); }

    [[nodiscard]] bool open() const noexcept { return open_; }
    /// The first line of the answer to an HTTP request.
    [[nodiscard]] std::string status_line(const std::string& path) const
    {
        const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
        std::string answer;
        if (!open_ || ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) return answer;
        std::array<char, 512> bytes{};
        for (ssize_t size = 1; size > 0;) {  // all of it: who hangs up before that is complained about
            size = ::recv(socket_, bytes.data(), bytes.size(), 0);
            if (size > 0) answer.append(bytes.data(), static_cast<std::size_t>(size));
        }
        return answer.substr(0, answer.find('\r'));
    }

private:
    int socket_;
    bool open_ = false;
};

}  // namespace

patroni_node::patroni_node(int number, int etcd_port, replication mode, std::vector<std::string> extra_arguments)
    : database_server{account_for_server({"postgres"}), std::move(extra_arguments), SIGTERM, SIGQUIT, {}}, number_{number}, mode_{mode},
      rest_port_{free_port()}, to_etcd_{etcd_port}, to_rest_{rest_port_}, to_server_{0}
{
    // The server's user may not see ours.
    std::filesystem::copy_file(LEASEHOLD_TEST_SUPPORT "/patroni_host", folder() / "host");
}

std::string patroni_node::connection_string(const std::string& as, const std::string& with, const std::string& to) const
{
    return postgresql_connection_string(port(), as, with, to);
}

void patroni_node::isolate()
{
    for (tcp_gate* way : {&to_etcd_, &to_rest_, &to_server_}) way->stall();
}

// What was held back is of another time; the connections that had it are made anew, as after the time-outs of a real network.
void patroni_node::rejoin()
{
    for (tcp_gate* way : {&to_etcd_, &to_rest_, &to_server_}) {
        way->cut();
        way->pass();
    }
}

bool patroni_node::says(const std::string& path) const
{
    return connection{rest_port_}.status_line(path).find(" 200 ") != std::string::npos;
}

bool patroni_node::is_standby()
{
    try {
        return run_client("postgres", "select pg_is_in_recovery()") == "t\n";
    } catch (const std::runtime_error&) {
        return false;  // it starts, or ends
    }
}

// use_proxies: without it Patroni asks etcd for its own address, past the gate.
// API 2 of etcd: by API 3 Patroni 3.0.2, Debian 12's, renews the lead without asking who has it once its own time is over. So a primary
// that freezes between its look and its renewal takes the lead from the one that was promoted meanwhile, without what that one granted.
// As small as Patroni allows where it is about time, except for loop_wait and retry_timeout: a busy machine needs them.
void patroni_node::write_configuration() const
{
    std::ofstream file{folder() / "patroni.yml"};
    file << "scope: leasehold\nname: node" << number_ << "\nrestapi:\n  listen: " << local_address(rest_port_)
         << "\n  connect_address: " << local_address(to_rest_.port())
         << "\netcd:\n  use_proxies: true\n  host: " << local_address(to_etcd_.port())
         << "\nwatchdog:\n  mode: \"off\"\nbootstrap:\n  dcs:\n    ttl: " << patroni_cluster::leader_ttl / 1s
         << "\n    loop_wait: 5\n    retry_timeout: 5\n    synchronous_mode: " << (mode_ == replication::synchronous ? "true" : "false")
         << "\n    postgresql:\n      use_pg_rewind: true\n      parameters:\n        max_connections: 200\n"
            "  initdb:\n  - encoding: UTF8\n  - locale: C\n  - no-sync\n"
            "postgresql:\n  listen: "
         << local_address(port()) << "\n  connect_address: " << local_address(to_server_.port())
         << "\n  data_dir: " << (folder() / "data").string() << "\n  bin_dir: " << postgresql_programs().string()
         << "\n  pgpass: " << (folder() / "passwords").string()
         << "\n  use_unix_socket: true\n  remove_data_directory_on_rewind_failure: true\n"
            "  remove_data_directory_on_diverged_timelines: true\n  basebackup:\n  - checkpoint: fast\n  - no-sync\n"
            "  authentication:\n    superuser: {username: postgres, password: administrator}\n"
            "    replication: {username: postgres, password: administrator}\n"
            "  pg_hba:\n  - local all all trust\n  - host replication postgres 127.0.0.1/32 scram-sha-256\n"
            "  - host all all 127.0.0.1/32 scram-sha-256\n"
            "  parameters:\n    unix_socket_directories: "
         << folder().string() << "\n    fsync: \"off\"\n    full_page_writes: \"off\"\n    shared_buffers: 16MB\n";
    for (const std::string& argument : extra_arguments())
        if (const auto equals = argument.find('='); equals != std::string::npos)
            file << "    " << argument.substr(0, equals) << ": \"" << argument.substr(equals + 1) << "\"\n";
}

std::vector<std::string> patroni_node::command() const
{
    to_server_.lead_to(port());
    write_configuration();
    return {(folder() / "host").string(), find_program({"patroni"}).string(), (folder() / "patroni.yml").string()};
}

std::string patroni_node::run_client(const std::string& to, const std::string& sql)
{
    return run(psql_command(folder(), port(), to, sql), false);
}

patroni_cluster::patroni_cluster(replication mode, const std::vector<std::string>& extra_arguments)
    : database_server{account_for_server({"postgres"}), {}, SIGTERM, SIGTERM, {}}, mode_{mode}, etcd_{{"--unsafe-no-fsync", "--enable-v2"}}
{
    for (const char* needed : {"haproxy", "patroni"}) static_cast<void>(find_program({needed}));
    for (std::size_t i = 0; i < size; ++i) {
        nodes_[i] = std::make_unique<patroni_node>(static_cast<int>(i), etcd_.port(), mode, extra_arguments);
        nodes_[i]->start();
    }
    start();
    wait_until_whole();
    run_client("postgres", "create role " + std::string{user} + " login password '" + password + "'");
    run_client("postgres", "create database " + std::string{database} + " owner " + user);
}

// A node that shuts down in good order waits for etcd, and the last one for nobody.
patroni_cluster::~patroni_cluster()
{
    for (auto& each : nodes_) each.reset();
}

std::string patroni_cluster::connection_string(const std::string& as, const std::string& with, const std::string& to) const
{
    return postgresql_connection_string(port(), as, with, to);
}

// As Patroni's documentation has it, but for the checks: one every three seconds there, with five to answer.
std::vector<std::string> patroni_cluster::command() const
{
    std::ofstream file{folder() / "haproxy.cfg"};
    file << "defaults\n  mode tcp\n  retries 2\n  timeout client 30m\n  timeout connect 4s\n  timeout server 30m\n  timeout check 2s\n"
            "listen primary\n  bind "
         << local_address(port())
         << "\n  option httpchk OPTIONS /primary\n  http-check expect status 200\n"
            "  default-server inter 1s fall 3 rise 2 on-marked-down shutdown-sessions\n";
    for (std::size_t i = 0; i < size; ++i)
        file << "  server node" << i << ' ' << local_address(nodes_[i]->port()) << " check port " << nodes_[i]->rest_port() << '\n';
    return {find_program({"haproxy"}).string(), "-db", "-f", (folder() / "haproxy.cfg").string()};
}

bool patroni_cluster::ready() const { return connection{port()}.open(); }

std::size_t patroni_cluster::primary() const
{
    std::size_t found = size;
    for (std::size_t i = 0; i < size; ++i) {
        if (!nodes_[i]->leads()) continue;
        if (found != size) return size;
        found = i;
    }
    return found;
}

std::optional<std::size_t> patroni_cluster::primary_beside(std::size_t number) const
{
    for (std::size_t i = 0; i < size; ++i)
        if (i != number && nodes_[i]->leads()) return i;
    return std::nullopt;
}

bool patroni_cluster::whole()
{
    constexpr const char* followers = "select count(*) from pg_stat_replication where state = 'streaming'";
    const std::size_t leader = primary();
    if (leader == size || nodes_[leader]->run_client("postgres", followers) != "2\n") return false;
    return mode_ == replication::asynchronous ||
           std::ranges::any_of(nodes_, [](const auto& each) { return each->is_synchronous_standby(); });
}

void patroni_cluster::wait_until_whole()
{
    const auto is_whole = [this] {
        try {
            return whole();
        } catch (const std::runtime_error&) {
            return false;  // the one that led a moment ago
        }
    };
    if (eventually(is_whole, longest_repair, 200ms)) return;
    std::string logs;
    for (const auto& each : nodes_) logs += each->log().substr(std::max<std::size_t>(each->log().size(), 20000) - 20000) + '\n';
    throw std::runtime_error{"the cluster does not get whole:\n" + logs};
}

std::string patroni_cluster::run_client(const std::string& to, const std::string& sql)
{
    const std::size_t leader = primary();
    if (leader == size) throw std::runtime_error{"there is no primary"};
    return nodes_[leader]->run_client(to, sql);
}

}  // namespace leasehold_test
