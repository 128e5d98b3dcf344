// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_ODBC_QUERY_PLANS_HPP
#define LEASEHOLD_TESTS_CONTRACT_ODBC_QUERY_PLANS_HPP

// For the library's own tests: how a database goes about the statements that are about many rows.

#include <contract/odbc_connection.hpp>

#include <leasehold/odbc/detail/driver/statement_catalog.hpp>
#include <leasehold/odbc/dialect/generic.hpp>
#include <leasehold/odbc/dialect/mariadb.hpp>
#include <leasehold/odbc/dialect/postgresql.hpp>
#include <leasehold/odbc/dialect/sqlite.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold_test {

/// All a statement shows, as one text.
inline std::string rows_of(const odbc_connection& on, std::string sql)
{
    SQLHSTMT statement = nullptr;
    SQLAllocHandle(SQL_HANDLE_STMT, on.handle(), &statement);
    const SQLRETURN done = SQLExecDirect(statement, reinterpret_cast<SQLCHAR*>(sql.data()), SQL_NTS);
    BOOST_TEST_REQUIRE(SQL_SUCCEEDED(done), sql.substr(0, 300));
    SQLSMALLINT columns = 0;
    SQLNumResultCols(statement, &columns);
    std::string text;
    while (SQL_SUCCEEDED(SQLFetch(statement))) {
        for (SQLUSMALLINT i = 1; i <= columns; ++i) {
            std::array<char, 1024> value{};
            SQLLEN size = 0;
            SQLGetData(statement, i, SQL_C_CHAR, value.data(), value.size(), &size);
            text.append(value.data()).append(" | ");
        }
        text += '\n';
    }
    SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return text;
}

/// What differs between databases.
struct plan_dialect {
    std::string_view dbms;     ///< as its driver calls it
    std::string name;          ///< SQL: a name made of `n`
    std::string later;         ///< SQL: an expiry in the future
    std::string explain;       ///< what goes before a statement
    std::string first;         ///< run before, so that a small table is treated as a large one
    std::string uses_index;    ///< what the plan says then
    std::string reads_all;     ///< what it must not say
};

/// With the statements as they are, but for literals in place of the parameters.
inline void check_plans(const std::string& connection_string, const plan_dialect& of)
{
    namespace lh = leasehold;
    namespace od = lh::odbc::detail;
    lh::odbc_options options{.table = "plans"};
    lh::odbc_store{connection_string, options}.create_schema();
    odbc_connection own{connection_string};
    own.execute("delete from plans where name <> ''");
    own.execute("insert into plans (name, owner, token, expires_at) with recursive numbers (n) as (select 1 union all select n + 1"
                " from numbers where n < 900) select " + of.name + ", 'o', 1, " + of.later + " from numbers");
    if (!of.first.empty()) own.execute(of.first);
    const od::statement_catalog sql{
        lh::dialect::detected::describe(
            {.dbms_name = of.dbms, .dbms_version = "15", .lock_timeout = lh::duration{1}, .call_timeout = lh::duration{1}}),
        options};
    const auto plan_of = [&](const od::compiled_statement& statement) {
        std::string text;
        std::size_t parameter = 0;
        for (const char c : statement.sql) {
            if (c != '?') {
                text += c;
                continue;
            }
            switch (statement.parameters[parameter++]) {
            case od::parameter::all_names: text += "'{job-1,job-2}'"; break;
            case od::parameter::all_owners: text += "'{o,o}'"; break;
            case od::parameter::all_tokens: text += "'{1,1}'"; break;
            case od::parameter::upper: text += "'job-77~'"; break;
            case od::parameter::us:
            case od::parameter::now_ms:
            case od::parameter::later_ms: text += "1000"; break;
            case od::parameter::nth_token:
            case od::parameter::most:
            case od::parameter::token: text += "1"; break;
            case od::parameter::nth_name:
            case od::parameter::each_name: text += "'job-" + std::to_string(parameter % 7) + "'"; break;
            default: text += "'job-77'";
            }
        }
        return rows_of(own, of.explain + text);
    };
    std::vector<const od::compiled_statement*> all{&sql[od::statement::list], &sql[od::statement::remove], &sql[od::statement::renew]};
    for (const od::batch_kind kind :
         {od::batch_kind::renewals, od::batch_kind::releases, od::batch_kind::grants, od::batch_kind::reads, od::batch_kind::takes,
          od::batch_kind::free_grants})
        for (const std::size_t terms : {2U, 1000U})
            if (const auto& each = sql.batches().statements[sql.batches().which(kind, terms)]; !each.sql.empty()) all.push_back(&each);
    for (const auto* each : all) {
        const std::string plan = plan_of(*each);
        BOOST_TEST(plan.find(of.uses_index) != std::string::npos, each->sql.substr(0, 200) << '\n' << plan);
        BOOST_TEST(plan.find(of.reads_all) == std::string::npos, each->sql.substr(0, 200) << '\n' << plan);
    }
    BOOST_TEST(plan_of({"select * from plans", {}}).find(of.reads_all) != std::string::npos, "what such a plan looks like");
}

}  // namespace leasehold_test

#endif
