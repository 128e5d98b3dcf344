// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_COUNTED_STATEMENTS_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_COUNTED_STATEMENTS_HPP

#include <benchmarks/choice.hpp>
#include <benchmarks/usual_sizes.hpp>

#include <support/environment.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/temporary_directory.hpp>

#include <cstdint>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

namespace leasehold_test {

/// A database that counts the statements that it carries out.
struct counting_database {
    std::string label;
    std::string connection_string;
    std::function<std::int64_t()> statements;  ///< that it has carried out so far, this question apart
};

namespace counting {

inline std::int64_t number_in(const std::string& text)
{
    const auto digits = text.find_first_of("0123456789");
    return digits == text.npos ? 0 : std::stoll(text.substr(digits));
}

template <class Measure>
bool on_postgresql(Measure measure)
{
    postgresql_server server{postgresql_of_usual_size({"-c", "log_statement=all"})};
    // Those about the table: not what the driver clears away by DEALLOCATE, nor the transactions of the server's own processes.
    const auto statements = [&server] {
        std::istringstream lines{server.log()};
        std::int64_t carried_out = 0;
        for (std::string line; std::getline(lines, line);)
            carried_out += line.find("LOG:  execute") != line.npos && line.find("\"leasehold\"") != line.npos;
        return carried_out;
    };
    return measure(counting_database{"PostgreSQL", server.connection_string(), statements});
}

template <class Measure>
bool on_mariadb(Measure measure)
{
    mariadb_server server{mariadb_of_usual_size()};
    const auto statements = [&server] {
        return number_in(
            server.execute_sql("select variable_value from information_schema.global_status where variable_name = 'QUESTIONS'"));
    };
    return measure(counting_database{"MariaDB", server.connection_string(), statements});
}

// The driver writes each statement that SQLite carries out into a file.
template <class Measure>
bool on_sqlite(Measure measure)
{
    const temporary_directory folder;
    const std::string trace = (folder.path() / "trace").string();
    const auto statements = [&trace] {
        std::ifstream lines{trace};
        std::int64_t about_leases = 0;
        for (std::string line; std::getline(lines, line);) about_leases += !line.starts_with("--") && line.find("`leasehold`") != line.npos;
        return about_leases;
    };
    const std::string where = sqlite_connection_string(folder.path() / "leases.db");
    return measure(counting_database{"SQLite", where + ";TraceFile=" + trace, statements});
}

}  // namespace counting

/// Whether measure(database) was true for each database that is wanted: "sqlite", "postgresql" or "mariadb".
template <class Measure>
bool on_counting_databases(const choice& chosen, Measure measure)
{
    bool met = true;
    if (chosen.wants("sqlite")) met = counting::on_sqlite(measure) && met;
    if (chosen.wants("postgresql")) met = counting::on_postgresql(measure) && met;
    if (chosen.wants("mariadb")) met = counting::on_mariadb(measure) && met;
    return met;
}

}  // namespace leasehold_test

#endif
