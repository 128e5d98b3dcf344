// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_SCALE_TABLE_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_SCALE_TABLE_HPP

#include "subject.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <array>
#include <list>
#include <memory>
#include <random>
#include <system_error>
#include <utility>

// A table of very many names beside smaller ones.
namespace scale {

namespace lh = leasehold;

struct table_of_names {
    table_of_names(const subject& of, std::string name, std::size_t count)
        : names{count}, store{of.connection_string, {.call_timeout = 60s, .table = name, .on_connect = of.settings}}
    {
        store.create_schema();
        std::string numbers = of.numbers;
        numbers.replace(numbers.find(":count"), 6, std::to_string(count));
        leasehold_test::odbc_connection own{of.connection_string};
        own.execute("insert into " + name + " (name, owner, token, expires_at) select " + name_sql(of) + ", 'somebody', 5, " +
                    of.long_ago + " from " + numbers);
        if (of.label == "PostgreSQL") own.execute("vacuum analyze " + name);
        if (of.label == "MariaDB") own.execute("analyze table " + name);
        if (of.label == "SQLite") own.execute("analyze");
    }

    static std::string name_sql(const subject& of) { return of.label == "MariaDB" ? "concat('job-', n)" : "'job-' || n"; }

    std::size_t names;
    lh::odbc_store store;
};

/// As many names of the table, chosen at random.
inline std::vector<std::string> names_of(const table_of_names& of, std::mt19937& random, std::size_t count)
{
    std::vector<std::string> chosen;
    for (std::size_t i = 0; i < count; ++i) chosen.push_back(numbered("job-", 1 + random() % of.names));
    return chosen;
}

/// Microseconds of a grant and its release.
inline double grant_and_release(table_of_names& of, const std::vector<std::string>& names)
{
    std::error_code ec;
    const auto begun = std::chrono::steady_clock::now();
    for (const std::string& name : names) {
        const auto granted = of.store.try_acquire(name, "benchmark", 1h, ec);
        if (ec || !granted.granted() || !of.store.release(name, "benchmark", granted.token, {}, ec))
            throw std::runtime_error{"a grant or release failed"};
    }
    return seconds_since(begun) / static_cast<double>(names.size()) * 1e6;
}

/// All columns of the first row.
inline std::string row_of(const leasehold_test::odbc_connection& on, std::string sql)
{
    SQLHSTMT statement = nullptr;
    SQLAllocHandle(SQL_HANDLE_STMT, on.handle(), &statement);
    SQLExecDirect(statement, reinterpret_cast<SQLCHAR*>(sql.data()), SQL_NTS);
    SQLSMALLINT columns = 0;
    SQLNumResultCols(statement, &columns);
    std::string row;
    if (SQL_SUCCEEDED(SQLFetch(statement)))
        for (SQLUSMALLINT i = 1; i <= columns; ++i) {
            std::array<char, 512> value{};
            SQLLEN size = 0;
            SQLGetData(statement, i, SQL_C_CHAR, value.data(), value.size(), &size);
            row.append(row.empty() ? "" : " | ").append(value.data());
        }
    SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return row;
}

/// The plan of the statement behind list(), as the database tells it.
inline std::string plan_of_list(const subject& of, const std::string& table)
{
    std::string sql;
    if (of.label == "PostgreSQL")
        sql = "select token from " + table + " where name collate \"C\" >= 'live-' and name collate \"C\" <= 'live-~' and name <> ''";
    else
        sql = "select token from " + table + " where name >= 'live-' and name <= 'live-~' and name <> ''";
    return row_of(leasehold_test::odbc_connection{of.connection_string}, of.explain + sql);
}

/// Microseconds of list() of a prefix that ten held names begin with.
inline double list_of_prefix(table_of_names& of)
{
    std::error_code ec;
    const auto begun = std::chrono::steady_clock::now();
    const auto listed = of.store.list("live-", ec).size();
    const double list = seconds_since(begun) * 1e6;
    if (ec || listed != 10) throw std::runtime_error{"list() found nothing"};
    return list;
}

/// One table of those that are measured in turn.
struct measured_table {
    measured_table(const subject& of, std::size_t count, std::mt19937& random)
        : table{of, "names_" + std::to_string(count), count}, some{names_of(table, random, 300)}
    {
        std::error_code ec;
        for (std::size_t i = 0; i < 10; ++i) static_cast<void>(table.store.try_acquire(numbered("live-", i), "lister", 1h, ec));
    }

    table_of_names table;
    /// The same names again and again, as a program has them.
    std::vector<std::string> some;
    std::vector<double> of_some, of_any, to_smallest, lists;
};

/// From a hundred names to as many as are wanted, in tens.
inline std::list<measured_table> tables_of(const subject& of, std::size_t most, std::mt19937& random)
{
    std::list<measured_table> all;
    std::size_t count = 100;
    for (; count < most; count *= 10) all.emplace_back(of, count, random);
    all.emplace_back(of, most, random);
    return all;
}

inline void report(const subject& of, const measured_table& each, leasehold_test::results& results)
{
    const auto [least, most] = std::ranges::minmax(each.to_smallest);
    std::printf(
        "%-12.*s %7zu names: grant + release of 300 of them %.1f us, ratio to the smallest table %.2f (%.2f to %.2f); of any %.1f us;"
        " list of a prefix %.0f us\n",
        static_cast<int>(of.label.size()), of.label.data(), each.table.names, median(each.of_some), median(each.to_smallest), least, most,
        median(each.of_any), median(each.lists));
    const std::string in = " in a table of " + std::to_string(each.table.names) + " names";
    results.add(of.label, "grant + release" + in + ", us", median(each.of_some));
    results.add(of.label, "grant + release" + in + ", any name, us", median(each.of_any));
    results.add(of.label, "grant + release" + in + ", ratio to the smallest", median(each.to_smallest));
    results.add(of.label, "list by prefix" + in + ", us", median(each.lists));
}

inline void measure_table(const subject& of, const options& wanted, leasehold_test::results& results)
{
    std::mt19937 random{20};
    std::list<measured_table> tables = tables_of(of, wanted.names, random);
    for (int round = 0; round <= wanted.rounds; ++round) {
        double smallest = 0;
        for (measured_table& each : tables) {
            const double some = grant_and_release(each.table, each.some);
            // Any name, too: that finds pages that nothing has touched since the last checkpoint.
            const double any = grant_and_release(each.table, names_of(each.table, random, 300));
            const double list = list_of_prefix(each.table);
            if (smallest == 0) smallest = some;
            if (round == 0) continue;
            each.of_some.push_back(some);
            each.of_any.push_back(any);
            each.to_smallest.push_back(some / smallest);
            each.lists.push_back(list);
        }
    }
    for (const measured_table& each : tables) report(of, each, results);
    std::printf("%-12s plan of list(): %s\n", "", plan_of_list(of, "names_" + std::to_string(wanted.names)).c_str());
    std::fflush(stdout);
}

}  // namespace scale

#endif
