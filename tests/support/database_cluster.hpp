// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_DATABASE_CLUSTER_HPP
#define LEASEHOLD_TESTS_SUPPORT_DATABASE_CLUSTER_HPP

#include <support/database_server.hpp>
#include <support/eventually.hpp>

#include <chrono>
#include <cstddef>

namespace leasehold_test {

/// One server of a cluster. Whatever can be done to a server can be done to it.
class cluster_node : public database_server {
public:
    /// Whether it takes part in a majority and does work for clients.
    [[nodiscard]] virtual bool works() = 0;
    /// Nodes in its part of the cluster, itself included.
    [[nodiscard]] virtual int group_size() = 0;
    /// For an operator who knows that no majority is left: the others have to join this node.
    virtual void go_on_alone() = 0;

protected:
    using database_server::database_server;
};

/// Three nodes on 127.0.0.1, every one with the database and user of database_server.
class database_cluster {
public:
    static constexpr std::size_t size = 3;

    database_cluster() = default;
    database_cluster(const database_cluster&) = delete;
    database_cluster& operator=(const database_cluster&) = delete;
    virtual ~database_cluster() = default;

    [[nodiscard]] virtual cluster_node& node(std::size_t number) = 0;
    /// In that time the group notices that a node is gone, and can commit again.
    [[nodiscard]] virtual std::chrono::milliseconds longest_group_change() const = 0;

    /// All nodes work, in one group.
    [[nodiscard]] bool whole()
    {
        for (std::size_t i = 0; i < size; ++i)
            if (!node(i).running() || !node(i).works() || node(i).group_size() != static_cast<int>(size)) return false;
        return true;
    }
    /// False: not within `timeout`.
    [[nodiscard]] bool wait_until_whole(std::chrono::milliseconds timeout = std::chrono::seconds{60})
    {
        return eventually([this] { return whole(); }, timeout, std::chrono::milliseconds{100});
    }
};

}  // namespace leasehold_test

#endif
