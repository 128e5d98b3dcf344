// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_PATRONI_CLUSTER_HPP
#define LEASEHOLD_TESTS_SUPPORT_PATRONI_CLUSTER_HPP

#include <support/database_server.hpp>
#include <support/etcd_server.hpp>
#include <support/tcp_gate.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leasehold_test {

/// Patroni's synchronous_mode: whether a commit is acknowledged only when the standby that may take over has it, too.
enum class replication : std::uint8_t { asynchronous, synchronous };

/// A host of the cluster: Patroni and the PostgreSQL that it runs. Whatever can be done to a server is done to both.
class patroni_node final : public database_server {
public:
    /// `etcd_port`: of the store in which the nodes agree on who leads.
    patroni_node(int number, int etcd_port, replication mode, std::vector<std::string> extra_arguments);

    using database_server::connection_string;
    [[nodiscard]] std::string connection_string(const std::string& user, const std::string& password,
                                                const std::string& database) const override;

    /// Cuts it off from etcd and from the other nodes, not from its clients and not from the proxy.
    void isolate();
    void rejoin();

    /// Where Patroni answers who leads.
    [[nodiscard]] int rest_port() const noexcept { return rest_port_; }
    /// What the proxy asks: it leads, and its PostgreSQL takes writes.
    [[nodiscard]] bool leads() const { return says("/primary"); }
    /// Patroni may promote it with nothing lost.
    [[nodiscard]] bool is_synchronous_standby() const { return says("/synchronous"); }
    /// Its PostgreSQL answers that it refuses writes.
    [[nodiscard]] bool is_standby();
    std::string run_client(const std::string& database, const std::string& sql) override;

private:
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool ready() const override { return says("/health"); }
    [[nodiscard]] bool says(const std::string& path) const;
    void write_configuration() const;

    int number_;
    replication mode_;
    int rest_port_;
    tcp_gate to_etcd_;
    tcp_gate to_rest_;            // for the other nodes
    mutable tcp_gate to_server_;  // for the other nodes; its port is known when the server starts
};

/// Three nodes with etcd, and HAProxy in front of them, which is what clients know: as a server, it is HAProxy. It leads each connection to
/// the node that says it leads. Starts in about twenty seconds.
class patroni_cluster final : public database_server {
public:
    static constexpr std::size_t size = 3;
    /// Patroni allows none shorter: a leader that is silent for so long is replaced.
    static constexpr std::chrono::seconds leader_ttl{20};

    /// Every PostgreSQL gets these arguments, each "-c" and then "name=value". Throws missing_requirement where something lacks.
    explicit patroni_cluster(replication mode, const std::vector<std::string>& extra_arguments = {});
    ~patroni_cluster() override;

    using database_server::connection_string;
    [[nodiscard]] std::string connection_string(const std::string& user, const std::string& password,
                                                const std::string& database) const override;

    [[nodiscard]] patroni_node& node(std::size_t number) { return *nodes_.at(number); }
    /// The number of the node that leads, `size`: there is none, or two say so.
    [[nodiscard]] std::size_t primary() const;
    /// The one that leads beside that node.
    [[nodiscard]] std::optional<std::size_t> primary_beside(std::size_t number) const;
    /// One leads, both others follow it, and the one that may take over is known.
    [[nodiscard]] bool whole();
    /// Throws std::runtime_error where that takes long.
    void wait_until_whole();

private:
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool ready() const override;
    std::string run_client(const std::string& database, const std::string& sql) override;

    replication mode_;
    etcd_server etcd_;
    std::array<std::unique_ptr<patroni_node>, size> nodes_;
};

}  // namespace leasehold_test

#endif
