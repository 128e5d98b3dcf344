// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_PGPOOL_HPP
#define LEASEHOLD_TESTS_SUPPORT_PGPOOL_HPP

#include <support/database_server.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace leasehold_test {

class postgresql_server;

/// Where statements that only read go: to the primary, or to any server, as pgpool-II comes.
enum class reads_go : std::uint8_t { to_primary, anywhere };

/// A private pgpool-II in front of a private primary and its standby, which must outlive it. Its clients log in as those of the servers do.
class pgpool final : public database_server {
public:
    /// Throws missing_requirement where there is no pgpool-II.
    pgpool(postgresql_server& primary, postgresql_server& standby, reads_go where);

    using database_server::connection_string;
    [[nodiscard]] std::string connection_string(const std::string& user, const std::string& password,
                                                const std::string& database) const override;

private:
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool ready() const override;
    std::string run_client(const std::string& database, const std::string& sql) override;

    postgresql_server& primary_;
    postgresql_server& standby_;
    reads_go reads_;
    int control_port_;
};

}  // namespace leasehold_test

#endif
