// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_GALERA_CLUSTER_HPP
#define LEASEHOLD_TESTS_SUPPORT_GALERA_CLUSTER_HPP

#include <support/database_cluster.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace leasehold_test {

/// One mariadbd of a cluster. Whatever can be done to a server can be done to it; start() waits until it is in step with
/// the others again, for which it copies all data from one of them.
class galera_node final : public cluster_node {
public:
    /// What a node listens on beside its clients' port.
    struct ports {
        int group;       ///< messages of the group
        int increments;  ///< what a node that was away has missed
        int whole_copy;  ///< all data, for a node that is new
    };

    /// `addresses`: of the whole group. The founder makes a group of its own the first time it starts.
    galera_node(const ports& own, std::string addresses, bool founder, std::vector<std::string> extra_arguments = {});

    using database_server::connection_string;
    [[nodiscard]] std::string connection_string(const std::string& user, const std::string& password,
                                                const std::string& database) const override;

    /// Cuts it off from the other nodes, not from its clients: Galera's own switch for it. It goes on answering reads until
    /// it has given the others up, a second or two later, and refuses all work from then on.
    void isolate();
    void rejoin();
    [[nodiscard]] bool works() override;
    [[nodiscard]] int group_size() override;
    void go_on_alone() override;

private:
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool ready() const override;
    std::string run_client(const std::string& database, const std::string& sql) override;
    [[nodiscard]] std::string status(const std::string& variable);

    ports own_;
    std::string addresses_;
    bool founder_;
    mutable bool founds_;
};

/// Starts in about ten seconds.
///
/// The group gives up a silent node after `suspicion` (a tenth of what a cluster across data centres would have), and
/// until then no node can commit.
class galera_cluster final : public database_cluster {
public:
    static constexpr std::chrono::milliseconds suspicion{1500};

    /// Every node gets these arguments of the program mariadbd. Throws missing_requirement where there is no Galera.
    explicit galera_cluster(const std::vector<std::string>& extra_arguments = {});

    [[nodiscard]] galera_node& node(std::size_t number) override { return *nodes_.at(number); }
    [[nodiscard]] std::chrono::milliseconds longest_group_change() const override { return 2 * suspicion; }

private:
    std::array<std::unique_ptr<galera_node>, size> nodes_;
};

}  // namespace leasehold_test

#endif
