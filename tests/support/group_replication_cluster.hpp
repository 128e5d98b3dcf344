// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_GROUP_REPLICATION_CLUSTER_HPP
#define LEASEHOLD_TESTS_SUPPORT_GROUP_REPLICATION_CLUSTER_HPP

#include <support/database_cluster.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace leasehold_test {

/// Who of a group takes writes.
enum class primaries : bool { one, all };

/// One mysqld of a group. Started again, it joins the group by itself, and may take a while for it: see works().
class group_replication_node final : public cluster_node {
public:
    /// `addresses`: of the whole group; `number`: from 1. With the files of `like`, or files of its own if there is none. It is
    /// not yet in any group.
    group_replication_node(int number, int group_port, std::string addresses, primaries mode,
                           std::vector<std::string> extra_arguments, const group_replication_node* like);

    using database_server::connection_string;
    [[nodiscard]] std::string connection_string(const std::string& user, const std::string& password,
                                                const std::string& database) const override;

    void found_group();
    void join_group();
    /// Goes on answering reads.
    void leave_group();

    [[nodiscard]] bool works() override;
    [[nodiscard]] int group_size() override;
    void go_on_alone() override;
    [[nodiscard]] bool is_primary();

private:
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool ready() const override;
    std::string run_client(const std::string& database, const std::string& sql) override;
    [[nodiscard]] bool answers(const std::string& sql, const std::string& with);

    int number_;
    int group_port_;
    std::string addresses_;
    primaries mode_;
    bool member_ = false;
};

/// MySQL's Group Replication. A node that is silent is given up after about five seconds, which is fixed in MySQL; until then
/// commits may wait.
class group_replication_cluster final : public database_cluster {
public:
    /// Throws missing_requirement where there is no MySQL with that plugin.
    explicit group_replication_cluster(primaries mode = primaries::all, const std::vector<std::string>& extra_arguments = {});

    [[nodiscard]] group_replication_node& node(std::size_t number) override { return *nodes_.at(number); }
    [[nodiscard]] std::chrono::milliseconds longest_group_change() const override { return std::chrono::seconds{10}; }
    /// The number of the node that takes writes, of those running; size: none, or more than one.
    [[nodiscard]] std::size_t primary();

private:
    std::array<std::unique_ptr<group_replication_node>, size> nodes_;
};

}  // namespace leasehold_test

#endif
