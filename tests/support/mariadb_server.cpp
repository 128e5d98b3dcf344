// SPDX-License-Identifier: BSL-1.0
#include <support/mariadb_server.hpp>

#include <support/environment.hpp>

#include <csignal>
#include <utility>

namespace leasehold_test {

namespace {

// Small files: the default redo log alone has 96 MB.
constexpr const char* small_redo_log = "--innodb-log-file-size=8M";
constexpr const char* small_buffer_pool = "--innodb-buffer-pool-size=16M";

}  // namespace

mariadb_server::mariadb_server(std::vector<std::string> extra_arguments)
    : database_server{account_for_server({"mysql", "nobody"}), std::move(extra_arguments), SIGTERM, SIGKILL}
{
    static_cast<void>(find_program({"mariadbd", "mysqld"}));
    run({find_program({"mariadb-install-db", "mysql_install_db"}).string(), "--no-defaults",
         "--auth-root-authentication-method=normal", "--skip-test-db", "--datadir=" + (folder() / "data").string(),
         small_redo_log, small_buffer_pool, "--innodb-flush-log-at-trx-commit=0"},
        true);
    start();
    run_client("mysql", "create database " + std::string{database} + "; create user " + user + "@'%' identified by '" +
                            password + "'; grant all on " + database + ".* to " + user + "@'%'");
}

std::string mariadb_server::connection_string(const std::string& as, const std::string& with, const std::string& to) const
{
    return "Driver=" +
           find_odbc_driver({"MariaDB Unicode", "MariaDB", "MariaDB ODBC 3.2 Driver", "MariaDB ODBC 3.1 Driver"}) +
           ";Server=127.0.0.1;Port=" + std::to_string(port()) + ";Database=" + to + ";UID=" + as + ";PWD=" + with;
}

std::vector<std::string> mariadb_server::command() const
{
    std::vector<std::string> arguments{find_program({"mariadbd", "mysqld"}).string(),
                                       "--no-defaults",
                                       "--datadir=" + (folder() / "data").string(),
                                       "--port=" + std::to_string(port()),
                                       "--bind-address=127.0.0.1",
                                       "--socket=" + (folder() / "socket").string(),
                                       "--pid-file=" + (folder() / "pid").string(),
                                       "--skip-name-resolve",
                                       "--character-set-server=utf8mb4",
                                       "--max-connections=200",
                                       "--innodb-flush-log-at-trx-commit=0",
                                       small_redo_log,
                                       small_buffer_pool};
    arguments.insert(arguments.end(), extra_arguments().begin(), extra_arguments().end());
    return arguments;
}

bool mariadb_server::ready() const { return log().find("ready for connections") != std::string::npos; }

std::string mariadb_server::run_client(const std::string& to, const std::string& sql)
{
    return run({find_program({"mariadb", "mysql"}).string(), "--no-defaults", "--batch", "--skip-column-names",
                "--socket=" + (folder() / "socket").string(), "--user=root", "--database=" + to, "--execute=" + sql},
               false);
}

}  // namespace leasehold_test
