// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_MYSQL_PROGRAMS_HPP
#define LEASEHOLD_TESTS_SUPPORT_MYSQL_PROGRAMS_HPP

#include <filesystem>
#include <string>
#include <vector>

namespace leasehold_test {

/// servers_root() for MariaDB or MySQL.
[[nodiscard]] std::filesystem::path mysql_root();
/// Whether mysqld there is MySQL's, not MariaDB's of the same name. False where there is neither.
[[nodiscard]] bool is_mysql(const std::filesystem::path& root);

/// After the program's name, for MySQL's mysqld with its files in `folder`: those for making them, and those for serving.
[[nodiscard]] std::vector<std::string> mysql_installing_arguments(const std::filesystem::path& folder);
[[nodiscard]] std::vector<std::string> mysql_server_arguments(const std::filesystem::path& folder, int port);

/// Of MariaDB and MySQL alike: through MariaDB's driver, and by the client program's arguments.
[[nodiscard]] std::string mysql_connection_string(int port, const std::string& user, const std::string& password,
                                                  const std::string& database);
[[nodiscard]] std::vector<std::string> mysql_client_arguments(const std::filesystem::path& folder, const std::string& database,
                                                              const std::string& sql);
/// Creates the database and the user of database_server.
[[nodiscard]] std::string mysql_first_statements();

}  // namespace leasehold_test

#endif
