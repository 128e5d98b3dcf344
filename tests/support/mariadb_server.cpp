// SPDX-License-Identifier: BSL-1.0
#include <support/mariadb_server.hpp>

#include <support/environment.hpp>
#include <support/mysql_programs.hpp>

#include <csignal>
#include <utility>

namespace leasehold_test {

namespace {

// Small files: the default redo log alone has 96 MB.
constexpr const char* small_redo_log = "--innodb-log-file-size=8M";
constexpr const char* small_buffer_pool = "--innodb-buffer-pool-size=16M";

std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string>& rest)
{
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
}

}  // namespace

mariadb_server::mariadb_server(std::vector<std::string> extra_arguments)
    : database_server{account_for_server({"mysql", "nobody"}), std::move(extra_arguments), SIGTERM, SIGKILL, mysql_root()},
      is_mysql_{leasehold_test::is_mysql(root())}
{
    static_cast<void>(program({"mariadbd", "mysqld"}));
    if (is_mysql_)
        run(joined({program({"mysqld"})}, mysql_installing_arguments(folder())), true);
    else
        run({program({"mariadb-install-db", "mysql_install_db"}), "--no-defaults", "--auth-root-authentication-method=normal",
             "--skip-test-db", "--datadir=" + (folder() / "data").string(), small_redo_log, small_buffer_pool,
             "--innodb-flush-log-at-trx-commit=0"},
            true);
    start();
    run_client("mysql", mysql_first_statements());
}

std::string mariadb_server::connection_string(const std::string& as, const std::string& with, const std::string& to) const
{
    return mysql_connection_string(port(), as, with, to);
}

std::vector<std::string> mariadb_server::command() const
{
    if (is_mysql_)
        return joined({program({"mysqld"})},
                      joined(joined(mysql_server_arguments(folder(), port()),
                                    {"--skip-log-bin", "--innodb-flush-log-at-trx-commit=0"}),
                             extra_arguments()));
    return joined({program({"mariadbd", "mysqld"}), "--no-defaults", "--datadir=" + (folder() / "data").string(),
                   "--port=" + std::to_string(port()), "--bind-address=127.0.0.1",
                   "--socket=" + (folder() / "socket").string(), "--pid-file=" + (folder() / "pid").string(),
                   "--skip-name-resolve", "--character-set-server=utf8mb4", "--max-connections=200",
                   "--innodb-flush-log-at-trx-commit=0", small_redo_log, small_buffer_pool},
                  extra_arguments());
}

bool mariadb_server::ready() const { return log().find("ready for connections") != std::string::npos; }

std::string mariadb_server::run_client(const std::string& to, const std::string& sql)
{
    return run(joined({program({"mariadb", "mysql"})}, mysql_client_arguments(folder(), to, sql)), false);
}

}  // namespace leasehold_test
