// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_POSTGRESQL_SERVER_HPP
#define LEASEHOLD_TESTS_SUPPORT_POSTGRESQL_SERVER_HPP

#include <support/database_server.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace leasehold_test {

class postgresql_server final : public database_server {
public:
    /// Arguments of the program postgres, as in {"-c", "default_transaction_isolation=serializable"}.
    /// Throws missing_requirement where there is no PostgreSQL.
    explicit postgresql_server(std::vector<std::string> extra_arguments = {});

    /// A copy of that server, which follows it until promote(). Users can read from it.
    struct standby_of {
        postgresql_server& primary;
    };
    explicit postgresql_server(standby_of what);

    /// From now on a commit is acknowledged when that standby has it on its disk, too; returns when this is so.
    void commit_also_on(const postgresql_server& standby);
    /// A standby becomes a primary of its own; returns when it takes writes.
    void promote();

    using database_server::connection_string;
    [[nodiscard]] std::string connection_string(const std::string& user, const std::string& password,
                                                const std::string& database) const override;

private:
    [[nodiscard]] std::string cluster_name() const { return "server_at_" + std::to_string(port()); }
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool ready() const override;
    std::string run_client(const std::string& database, const std::string& sql) override;
};

/// The folder with the server's programs, as this machine has them. Throws missing_requirement.
[[nodiscard]] std::filesystem::path postgresql_programs();

/// To a PostgreSQL, or to what is in front of one.
[[nodiscard]] std::string postgresql_connection_string(int port, const std::string& user, const std::string& password,
                                                       const std::string& database);

/// psql as administrator, through the socket in `folder`.
[[nodiscard]] std::vector<std::string> psql_command(const std::filesystem::path& folder, int port, const std::string& database,
                                                    const std::string& sql);

}  // namespace leasehold_test

#endif
