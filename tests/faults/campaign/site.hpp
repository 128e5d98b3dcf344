// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_SITE_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_SITE_HPP

#include "circumstances.hpp"

#include <support/database_server.hpp>
#include <support/database_cluster.hpp>
#include <support/patroni_cluster.hpp>
#include <support/surroundings.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace campaign {

/// The database of a campaign: one server, or a cluster of them.
class site {
public:
    /// "postgresql", "mariadb", "galera", "group_replication" or "patroni" (in synchronous mode).
    site(const std::string& kind, const circumstances& around);

    [[nodiscard]] const std::string& kind() const noexcept { return kind_; }
    [[nodiscard]] bool is_cluster() const noexcept { return cluster_ != nullptr; }
    [[nodiscard]] std::size_t size() const noexcept { return is_cluster() ? leasehold_test::database_cluster::size : 1; }
    [[nodiscard]] leasehold_test::database_server& server(std::size_t number);
    [[nodiscard]] bool is_galera() const noexcept { return kind_ == "galera"; }
    [[nodiscard]] leasehold_test::database_cluster& cluster() { return *cluster_; }
    /// To the contenders it is one server, behind which the primary changes.
    [[nodiscard]] bool is_patroni() const noexcept { return kind_ == "patroni"; }
    [[nodiscard]] leasehold_test::patroni_cluster& patroni();

    /// To that server through another port of this host.
    [[nodiscard]] std::string connection_string(std::size_t number, int port);
    /// Ends the sessions of the contenders at that server: one of `every`, by their numbers. How many.
    int end_sessions(std::size_t number, std::size_t every);

    /// For the contenders, beside the connection string: their language.
    [[nodiscard]] std::map<std::string, std::string> environment() const { return surroundings_.environment(); }
    /// Connections of contenders through TLS that the servers tell of. Throws std::runtime_error for one without.
    [[nodiscard]] int encrypted_sessions();
    /// That one server has had at once since it was started; 0 on PostgreSQL, which doesn't tell.
    [[nodiscard]] int most_connections();
    /// Session locks that contenders have on PostgreSQL now, of those that one server has room for.
    [[nodiscard]] int session_locks();

    // Each returns when it is so.

    /// Takes the node out of the group, or puts it back: cut off (Galera), or in good order, as an operator does (Group Replication).
    void take_out(std::size_t number);
    void put_back(std::size_t number);

    /// Refuses all that writes, as a primary that has become a replica does.
    void make_read_only(std::size_t number);
    void make_writable(std::size_t number);
    /// Locks the table of the leases, as ALTER TABLE does, or only against writing, as a backup or CREATE INDEX does. Of a node of
    /// a cluster all tables, against writing.
    void lock_table(std::size_t number, bool against_reading);
    void unlock_table(std::size_t number);
    /// A trigger refuses each row, with the lease's name as the message.
    void refuse_rows();
    void accept_rows();
    /// That node takes so long, and a second, to apply what the others have committed; it shows what was, and certifies what
    /// it writes itself.
    void lag(std::size_t number, std::chrono::milliseconds length);
    /// Transactions that the node is behind another.
    [[nodiscard]] std::int64_t transactions_behind(std::size_t number);
    void catch_up(std::size_t number);

private:
    [[nodiscard]] std::string list_of_sessions() const;
    [[nodiscard]] std::string sleeping_session() const;
    [[nodiscard]] std::vector<std::string> server_arguments() const;
    [[nodiscard]] bool is_postgresql() const noexcept { return kind_ == "postgresql" || is_patroni(); }
    [[nodiscard]] std::string number_of(std::size_t server, const std::string& sql);
    void prepare_for_lag();
    void lock_in_other_session(std::size_t number, const std::string& sql);
    void end_locking_session(std::size_t number);

    std::string kind_;
    circumstances around_;
    leasehold_test::surroundings surroundings_;
    std::unique_ptr<leasehold_test::database_server> server_;
    std::unique_ptr<leasehold_test::database_cluster> cluster_;
    std::future<void> locking_;
};

}  // namespace campaign

#endif
