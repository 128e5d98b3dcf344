// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_SCALE_TABLE_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_SCALE_TABLE_HPP

#include "subject.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <array>
#include <memory>
#include <random>
#include <system_error>
#include <utility>

// A table of very many names beside a small one.
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
        sql = "select token from " + table + " where name collate \"C\" >= 'job-500-' and name collate \"C\" <= 'job-500-~' and name <> ''";
    else
        sql = "select token from " + table + " where name >= 'job-500-' and name <= 'job-500-~' and name <> ''";
    return row_of(leasehold_test::odbc_connection{of.connection_string}, of.explain + sql);
}

inline void measure_table(const subject& of, const options& wanted, leasehold_test::results& results)
{
    std::mt19937 random{20};
    table_of_names few{of, "few_names", 100}, many{of, "many_names", wanted.names};
    // The same names again and again, as a program has them; and any of them, which finds pages that nothing has touched since
    // the last checkpoint.
    const auto small_set = names_of(few, random, 300), large_set = names_of(many, random, 300);
    std::vector<double> in_few, in_many, in_any, ratios, lists;
    std::error_code ec;
    for (int i = 0; i < 10; ++i)
        static_cast<void>(many.store.try_acquire(numbered("job-500-live-", static_cast<std::size_t>(i)), "lister", 1h, ec));
    for (int round = 0; round <= wanted.rounds; ++round) {
        const double small = grant_and_release(few, small_set), large = grant_and_release(many, large_set);
        const double any = grant_and_release(many, names_of(many, random, 300));
        const auto begun = std::chrono::steady_clock::now();
        const auto listed = many.store.list("job-500-", ec).size();
        const double list = seconds_since(begun) * 1e6;
        if (ec || listed != 10) throw std::runtime_error{"list() found nothing"};
        if (round == 0) continue;
        in_few.push_back(small);
        in_many.push_back(large);
        in_any.push_back(any);
        ratios.push_back(large / small);
        lists.push_back(list);
    }
    const auto [least, most] = std::ranges::minmax(ratios);
    std::printf("%-12.*s grant + release: %zu names %.1f us, 300 of %zu names %.1f us   ratio %.2f (%.2f to %.2f);   any of these %.1f us;"
                "   list of a prefix %.0f us\n",
                static_cast<int>(of.label.size()), of.label.data(), few.names, median(in_few), many.names, median(in_many),
                median(ratios), least, most, median(in_any), median(lists));
    std::printf("%-12s plan of list(): %s\n", "", plan_of_list(of, "many_names").c_str());
    std::fflush(stdout);
    results.add(of.label, "grant + release in a table of 100 names, us", median(in_few));
    results.add(of.label, "grant + release in the large table, us", median(in_many));
    results.add(of.label, "grant + release in the large table, any name, us", median(in_any));
    results.add(of.label, "grant + release, large table to small, ratio", median(ratios));
    results.add(of.label, "list by prefix in the large table, us", median(lists));
}

}  // namespace scale

#endif
