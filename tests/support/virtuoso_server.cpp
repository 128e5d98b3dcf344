// SPDX-License-Identifier: BSL-1.0
#include <support/virtuoso_server.hpp>

#include <support/environment.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace leasehold_test {

namespace {

// Debian puts it where unixODBC looks, and registers it nowhere.
std::string virtuoso_driver()
{
    for (const auto& entry : std::filesystem::directory_iterator{"/usr/lib"})
        for (const char* folder : {"odbc", ""})
            if (const auto file = entry.path() / folder / "virtodbc.so"; std::filesystem::exists(file)) return file.string();
    throw missing_requirement{"no ODBC driver virtodbc.so in /usr/lib"};
}

}  // namespace

virtuoso_server::virtuoso_server() : database_server{account_for_server({"nobody"}), {}, SIGTERM, SIGKILL, {}}
{
    start();
    run_client(database, "DB.DBA.USER_CREATE('" + std::string{user} + "', '" + password + "')");
}

std::string virtuoso_server::connection_string(const std::string& as, const std::string& with, const std::string& to) const
{
    return "Driver=" + virtuoso_driver() + ";Host=127.0.0.1:" + std::to_string(port()) + ";Database=" + to + ";UID=" + as + ";PWD=" + with;
}

// The port is in the settings.
std::vector<std::string> virtuoso_server::command() const
{
    write_settings();
    return {program({"virtuoso-t"}), "+foreground", "+configfile", (folder() / "virtuoso.ini").string()};
}

void virtuoso_server::write_settings() const
{
    const auto file = [this](const char* name) { return (folder() / name).string(); };
    std::ofstream settings{folder() / "virtuoso.ini"};
    settings << "[Database]\nDatabaseFile = " << file("virtuoso.db") << "\nErrorLogFile = " << file("virtuoso.log")
             << "\nLockFile = " << file("virtuoso.lck") << "\nTransactionFile = " << file("virtuoso.trx")
             << "\nxa_persistent_file = " << file("virtuoso.pxa") << "\n[TempDatabase]\nDatabaseFile = " << file("temporary.db")
             << "\nTransactionFile = " << file("temporary.trx")
             << "\n[Parameters]\nServerPort = 127.0.0.1:" << port() << "\nDisableUnixSocket = 1\nServerThreads = 100\n"
             << "[Flags]\n"
             << "dbf_log_fsync = 1\n";
}

bool virtuoso_server::ready() const { return log().find("Server online at") != std::string::npos; }

std::string virtuoso_server::run_client(const std::string& to, const std::string& sql)
{
    // The program's exit status says nothing of a statement that failed.
    std::string said = run({program({"isql-vt"}), "127.0.0.1:" + std::to_string(port()), "dba", "dba", "VERBOSE=OFF", "BANNER=OFF",
                            "PROMPT=OFF", "ERRORS=STDOUT", "EXEC=USE " + to + "; " + sql},
                           false);
    if (said.find("*** Error") != std::string::npos) throw std::runtime_error{"isql-vt failed:\n" + said};
    return said;
}

}  // namespace leasehold_test
