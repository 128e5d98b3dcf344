// SPDX-License-Identifier: BSL-1.0
#include <support/postgresql_server.hpp>

#include <support/environment.hpp>
#include <support/eventually.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace leasehold_test {

namespace {

// Debian keeps the server's programs out of PATH, in a folder per version. The newest, and before anything in PATH, so that
// initdb and postgres are of one version.
std::vector<std::filesystem::path> server_folders(const std::string& root)
{
    // Binaries that are no system's package: tests/support/other_servers.sh.
    if (const char* own = std::getenv("LEASEHOLD_POSTGRESQL"); own && *own && root.empty()) return {std::filesystem::path{own} / "bin"};
    std::vector<std::filesystem::path> folders;
    std::error_code ignored;
    for (const std::string folder : {"/usr/lib/postgresql", "/usr/local/pgsql", "/usr/pgsql"}) {
        folders.push_back(std::filesystem::path{folder} / "bin");
        for (const auto& version : std::filesystem::directory_iterator{root + folder, ignored})
            folders.push_back(std::filesystem::path{folder} / version.path().filename() / "bin");
    }
    std::sort(folders.rbegin(), folders.rend());
    return folders;
}

std::filesystem::path server_program(const std::string& name, const std::filesystem::path& root)
{
    return find_program_in(root, {name}, server_folders(root.string()));
}

std::filesystem::path postgresql_root()
{
    const char* root = std::getenv("LEASEHOLD_SERVERS_ROOT");
    return servers_root({"postgres"}, server_folders(root ? root : ""));
}

}  // namespace

// SIGINT ends sessions and shuts down; SIGQUIT is the quick end that still gives shared memory back.
postgresql_server::postgresql_server(std::vector<std::string> extra_arguments)
    : database_server{account_for_server({"postgres"}), std::move(extra_arguments), SIGINT, SIGQUIT, postgresql_root()}
{
    // From this machine's file system in without a password, for the administrator; over TCP as in production.
    run({server_program("initdb", root()).string(), "--pgdata=" + (folder() / "data").string(), "--username=postgres",
         "--encoding=UTF8", "--locale=C", "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync"},
        true);
    start();
    run_client("postgres", "create role " + std::string{user} + " login password '" + password + "'");
    run_client("postgres", "create database " + std::string{database} + " owner " + user);
}

postgresql_server::postgresql_server(standby_of what)
    : database_server{account_for_server({"postgres"}), what.primary.extra_arguments(), SIGINT, SIGQUIT, postgresql_root()}
{
    run({server_program("pg_basebackup", root()).string(), "--pgdata=" + (folder() / "data").string(), "--write-recovery-conf",
         "--checkpoint=fast", "--no-sync",
         "--dbname=host=" + what.primary.folder().string() + " port=" + std::to_string(what.primary.port()) + " user=postgres"},
        true);
    start();
}

void postgresql_server::commit_also_on(const postgresql_server& standby)
{
    execute_sql("alter system set synchronous_standby_names = '" + standby.cluster_name() + "'");
    execute_sql("select pg_reload_conf()");
    const auto in_step = [this] { return execute_sql("select sync_state from pg_stat_replication") == "sync\n"; };
    if (!eventually(in_step, std::chrono::seconds{30})) throw std::runtime_error{"the standby does not follow:\n" + standby.log()};
}

void postgresql_server::promote()
{
    if (execute_sql("select pg_promote()") != "t\n") throw std::runtime_error{"the standby is not promoted:\n" + log()};
}

std::string postgresql_server::connection_string(const std::string& as, const std::string& with, const std::string& to) const
{
    return postgresql_connection_string(port(), as, with, to);
}

std::vector<std::string> postgresql_server::command() const
{
    std::vector<std::string> arguments{server_program("postgres", root()).string(), "-D", (folder() / "data").string()};
    const auto set = [&arguments](const std::string& setting) {
        arguments.emplace_back("-c");
        arguments.push_back(setting);
    };
    set("port=" + std::to_string(port()));
    set("listen_addresses=127.0.0.1");
    set("unix_socket_directories=" + folder().string());
    set("fsync=off");
    set("full_page_writes=off");
    set("shared_buffers=16MB");
    set("max_connections=200");
    set("logging_collector=off");
    set("cluster_name=" + cluster_name());
    arguments.insert(arguments.end(), extra_arguments().begin(), extra_arguments().end());
    return arguments;
}

bool postgresql_server::ready() const
{
    // Its eighth line says so as soon as the server takes connections; its first whose file it is, for one that was killed
    // leaves it behind.
    std::ifstream file{folder() / "data" / "postmaster.pid"};
    std::string line;
    for (int number = 1; number <= 8; ++number) {
        if (!std::getline(file, line)) return false;
        if (number == 1 && line != std::to_string(pid())) return false;
    }
    return line.starts_with("ready");
}

std::string postgresql_server::run_client(const std::string& to, const std::string& sql)
{
    std::vector<std::string> psql = psql_command(folder(), port(), to, sql);
    psql.front() = program({psql.front()});
    return run(psql, false);
}

std::filesystem::path postgresql_programs() { return server_program("postgres", {}).parent_path(); }

std::string postgresql_connection_string(int port, const std::string& user, const std::string& password, const std::string& database)
{
    return "Driver=" + find_odbc_driver({"PostgreSQL Unicode", "PostgreSQL", "PostgreSQL ANSI"}) +
           ";Server=127.0.0.1;Port=" + std::to_string(port) + ";Database=" + database + ";UID=" + user + ";PWD=" + password;
}

std::vector<std::string> psql_command(const std::filesystem::path& folder, int port, const std::string& database, const std::string& sql)
{
    return {"psql", "--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--field-separator=\t", "--set=ON_ERROR_STOP=1",
            "--host=" + folder.string(), "--port=" + std::to_string(port), "--username=postgres", "--dbname=" + database,
            "--command=" + sql};
}

}  // namespace leasehold_test
