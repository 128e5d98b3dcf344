// SPDX-License-Identifier: BSL-1.0
#include <support/hsqldb_server.hpp>

#include <support/environment.hpp>

#include <csignal>
#include <filesystem>
#include <utility>

namespace leasehold_test {

namespace {

constexpr const char* administrator = "SA";
constexpr const char* administrators_password = "staple";  // PostgreSQL's programs can't log in with an empty one

std::string hsqldb_classes()
{
    for (const char* file : {"/usr/share/java/hsqldb.jar", "/usr/share/java/hsqldb/hsqldb.jar"})
        if (std::filesystem::exists(file)) return file;
    throw missing_requirement{"no hsqldb.jar in /usr/share/java"};
}

}  // namespace

hsqldb_server::hsqldb_server(std::vector<std::string> properties)
    : database_server{account_for_server({"nobody"}), std::move(properties), SIGTERM, SIGKILL, {}}
{
    start();
    const std::string name = user;
    for (const std::string& statement : {"create user \"" + name + "\" password '" + password + "'",
                                         "create schema \"" + name + "\" authorization \"" + name + "\"",
                                         "alter user \"" + name + "\" set initial schema \"" + name + "\""})
        run_client(database, statement);
}

std::string hsqldb_server::connection_string(const std::string& as, const std::string& with, const std::string& to) const
{
    return "Driver=" + find_odbc_driver({"PostgreSQL Unicode", "PostgreSQL", "PostgreSQL ANSI"}) +
           ";Server=127.0.0.1;Port=" + std::to_string(port()) + ";Database=" + to + ";UID=" + as + ";PWD=" + with;
}

// java would write into /tmp, whatever TMPDIR says.
std::vector<std::string> hsqldb_server::command() const
{
    std::string files =
        "file:" + (folder() / "data" / database).string() + ";user=" + administrator + ";password=" + administrators_password;
    for (const std::string& property : extra_arguments()) files += ';' + property;
    return {program({"java"}), "-Xmx256m", "-XX:-UsePerfData", "-Djava.io.tmpdir=" + folder().string(), "-cp", hsqldb_classes(),
            "org.hsqldb.server.Server", "--database.0", files, "--dbname.0", database, "--port", std::to_string(port()),
            "--address", "127.0.0.1", "--silent", "true"};
}

bool hsqldb_server::ready() const { return log().find("is online on port") != std::string::npos; }

std::string hsqldb_server::run_client(const std::string& to, const std::string& sql)
{
    return run({program({"psql"}), "--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--field-separator=\t",
                "--dbname=host=127.0.0.1 sslmode=disable port=" + std::to_string(port()) + " user=" + administrator +
                    " password=" + administrators_password + " dbname=" + to,
                "--command=" + sql},
               false);
}

}  // namespace leasehold_test
