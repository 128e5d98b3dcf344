// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_SITE_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_SITE_HPP

#include <support/database_server.hpp>
#include <support/galera_cluster.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace campaign {

/// The database of a campaign: one server, or a cluster of them.
class site {
public:
    /// "postgresql", "mariadb" or "galera".
    explicit site(const std::string& kind);

    [[nodiscard]] const std::string& kind() const noexcept { return kind_; }
    [[nodiscard]] bool is_cluster() const noexcept { return cluster_ != nullptr; }
    [[nodiscard]] std::size_t size() const noexcept { return is_cluster() ? leasehold_test::galera_cluster::size : 1; }
    [[nodiscard]] leasehold_test::database_server& server(std::size_t number);
    [[nodiscard]] leasehold_test::galera_cluster& cluster() { return *cluster_; }

    /// To that server through another port of this host.
    [[nodiscard]] std::string connection_string(std::size_t number, int port);
    /// Ends the sessions of the contenders at that server: one of `every`, by their numbers. How many.
    int end_sessions(std::size_t number, std::size_t every);

private:
    std::string kind_;
    std::unique_ptr<leasehold_test::database_server> server_;
    std::unique_ptr<leasehold_test::galera_cluster> cluster_;
};

}  // namespace campaign

#endif
