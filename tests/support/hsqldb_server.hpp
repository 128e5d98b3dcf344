// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_HSQLDB_SERVER_HPP
#define LEASEHOLD_TESTS_SUPPORT_HSQLDB_SERVER_HPP

#include <support/database_server.hpp>

namespace leasehold_test {

/// HSQLDB, which speaks PostgreSQL's protocol well enough for PostgreSQL's driver and psql.
class hsqldb_server final : public database_server {
public:
    /// Properties of the database, as in {"hsqldb.tx=mvcc"}. Throws missing_requirement where there is no HSQLDB.
    explicit hsqldb_server(std::vector<std::string> properties = {});

    using database_server::connection_string;
    [[nodiscard]] std::string connection_string(const std::string& user, const std::string& password,
                                                const std::string& database) const override;

private:
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool ready() const override;
    std::string run_client(const std::string& database, const std::string& sql) override;
};

}  // namespace leasehold_test

#endif
