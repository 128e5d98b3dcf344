// SPDX-License-Identifier: BSL-1.0
#include <support/mysql_programs.hpp>

#include <support/database_server.hpp>
#include <support/environment.hpp>

namespace leasehold_test {

std::filesystem::path mysql_root() { return servers_root({"mariadbd", "mysqld"}); }

bool is_mysql(const std::filesystem::path& root)
{
    const auto has = [&root](const std::vector<std::string>& programs) {
        try {
            static_cast<void>(find_program_in(root, programs));
            return true;
        } catch (const missing_requirement&) {
            return false;
        }
    };
    // MySQL makes its files with the server itself.
    return !has({"mariadbd", "mariadb-install-db", "mysql_install_db"}) && has({"mysqld"});
}

// Small files, and no synchronous writing: what is tested is not the disk.
std::vector<std::string> mysql_installing_arguments(const std::filesystem::path& folder)
{
    return {"--no-defaults",
            "--initialize-insecure",
            "--datadir=" + (folder / "data").string(),
            "--innodb-redo-log-capacity=16M",
            "--innodb-buffer-pool-size=16M",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-flush-method=nosync",
            "--innodb-doublewrite=OFF",
            "--innodb-use-native-aio=OFF",
            "--secure-file-priv=NULL",
            "--skip-log-bin"};
}

std::vector<std::string> mysql_server_arguments(const std::filesystem::path& folder, int port)
{
    return {"--no-defaults",
            "--datadir=" + (folder / "data").string(),
            "--port=" + std::to_string(port),
            "--bind-address=127.0.0.1",
            "--socket=" + (folder / "socket").string(),
            "--pid-file=" + (folder / "pid").string(),
            "--mysqlx=OFF",
            "--secure-file-priv=NULL",
            "--skip-name-resolve",
            "--max-connections=200",
            "--sync-binlog=0",
            "--innodb-redo-log-capacity=16M",
            "--innodb-buffer-pool-size=16M",
            "--innodb-use-native-aio=OFF",
            "--innodb-doublewrite=OFF"};
}

std::string mysql_connection_string(int port, const std::string& user, const std::string& password, const std::string& database)
{
    return "Driver=" +
           find_odbc_driver({"MariaDB Unicode", "MariaDB", "MariaDB ODBC 3.2 Driver", "MariaDB ODBC 3.1 Driver"}) +
           ";Server=127.0.0.1;Port=" + std::to_string(port) + ";Database=" + database + ";UID=" + user + ";PWD=" + password;
}

std::vector<std::string> mysql_client_arguments(const std::filesystem::path& folder, const std::string& database,
                                                const std::string& sql)
{
    return {"--no-defaults",    "--batch",          "--skip-column-names", "--connect-timeout=10",
            "--socket=" + (folder / "socket").string(), "--user=root", "--database=" + database, "--execute=" + sql};
}

std::string mysql_first_statements()
{
    const std::string user = database_server::user;
    const std::string database = database_server::database;
    return "create database " + database + "; create user " + user + "@'%' identified by '" + database_server::password +
           "'; grant all on " + database + ".* to " + user + "@'%'";
}

}  // namespace leasehold_test
