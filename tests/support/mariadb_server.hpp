// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_MARIADB_SERVER_HPP
#define LEASEHOLD_TESTS_SUPPORT_MARIADB_SERVER_HPP

#include <support/database_server.hpp>

namespace leasehold_test {

/// MariaDB; MySQL where that is what there is (see LEASEHOLD_SERVERS_ROOT). The driver is MariaDB's for both.
class mariadb_server final : public database_server {
public:
    /// Arguments of the program mariadbd or mysqld, as in {"--transaction-isolation=SERIALIZABLE"}.
    /// Throws missing_requirement where there is neither.
    explicit mariadb_server(std::vector<std::string> extra_arguments = {});

    [[nodiscard]] bool is_mysql() const noexcept { return is_mysql_; }

    using database_server::connection_string;
    [[nodiscard]] std::string connection_string(const std::string& user, const std::string& password,
                                                const std::string& database) const override;

private:
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool ready() const override;
    std::string run_client(const std::string& database, const std::string& sql) override;

    bool is_mysql_;
};

}  // namespace leasehold_test

#endif
