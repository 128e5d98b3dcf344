// SPDX-License-Identifier: BSL-1.0
// needs: server
// How a database goes about each statement, on small and large tables, with and without statistics: no statement about names reads
// the table through, and on MariaDB none but a fence touches the index that a fence locks.
#include <contract/odbc_connection.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/detail/driver/statement_catalog.hpp>
#include <leasehold/odbc/dialect/mariadb.hpp>
#include <leasehold/odbc/dialect/postgresql.hpp>
#include <leasehold/odbc/dialect/sqlite.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/temporary_directory.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(plans)

namespace lh = leasehold;
namespace od = lh::odbc::detail;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

using row = std::vector<std::string>;

std::vector<row> rows_of(const odbc_connection& on, std::string sql)
{
    SQLHSTMT statement = nullptr;
    SQLAllocHandle(SQL_HANDLE_STMT, on.handle(), &statement);
    const SQLRETURN done = SQLExecDirect(statement, reinterpret_cast<SQLCHAR*>(sql.data()), SQL_NTS);
    BOOST_TEST_REQUIRE(SQL_SUCCEEDED(done), sql.substr(0, 1000));
    SQLSMALLINT columns = 0;
    SQLNumResultCols(statement, &columns);
    std::vector<row> rows;
    while (SQL_SUCCEEDED(SQLFetch(statement))) {
        row& values = rows.emplace_back();
        for (SQLUSMALLINT i = 1; i <= columns; ++i) {
            std::array<char, 1024> value{};
            SQLLEN size = 0;
            SQLGetData(statement, i, SQL_C_CHAR, value.data(), value.size(), &size);
            values.emplace_back(value.data());
        }
    }
    SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return rows;
}

std::string text_of(const std::vector<row>& plan)
{
    std::string text;
    for (const row& each : plan) {
        for (const std::string& value : each) text.append(value).append(" | ");
        text += '\n';
    }
    return text;
}

/// A literal for the parameter at that place.
std::string literal(od::parameter which, std::size_t place)
{
    switch (which) {
    case od::parameter::all_names: return "'{job-1,job-2}'";
    case od::parameter::all_owners: return "'{o,o}'";
    case od::parameter::all_tokens: return "'{1,1}'";
    case od::parameter::upper: return "'job-700~'";  // with 'job-7' below it, one row of a thousand: for one of ten MariaDB 11 reads all
    case od::parameter::us:
    case od::parameter::now_ms:
    case od::parameter::later_ms:
    case od::parameter::unit: return "1000";
    case od::parameter::nth_token:
    case od::parameter::most:
    case od::parameter::seen:
    case od::parameter::token: return "1";
    case od::parameter::nth_name:
    case od::parameter::each_name: return "'job-" + std::to_string(place % 500 + 1) + "'";
    case od::parameter::owner:
    case od::parameter::nth_owner: return "'o'";
    default: return "'job-7'";
    }
}

std::string with_literals(const od::compiled_statement& of)
{
    std::string text;
    std::size_t place = 0;
    for (const char c : of.sql) {
        if (c == '?') {
            text += literal(of.parameters[place], place);
            ++place;
        } else {
            text += c;
        }
    }
    return text;
}

/// A statement, and whether it is one of a fence.
struct planned {
    const od::compiled_statement* sql;
    bool of_fence = false;
};

/// All that name a row or rows of the table.
std::vector<planned> planned_statements(const od::statement_catalog& sql)
{
    std::vector<planned> all;
    const auto add = [&all](const od::compiled_statement& each, bool of_fence = false) {
        const bool names_rows = each.sql.find("plans") != std::string::npos &&
                                (!each.sql.starts_with("insert") || each.sql.find(" select ") != std::string::npos);
        if (names_rows) all.push_back({&each, of_fence});
    };
    for (std::size_t i = 0; i < od::statement_count; ++i)
        if (const auto id = static_cast<od::statement>(i); id != od::statement::write_nothing) add(sql[id]);
    for (const auto& each : sql.batches().statements) add(each);
    for (const auto* each : {&sql.fence().lock, &sql.fence().write, &sql.fence().write_back}) add(*each, true);
    return all;
}

struct table_size {
    int rows;
    bool analyzed;
};
constexpr table_size sizes[]{{10, false}, {10, true}, {1'000, false}, {1'000, true}, {100'000, false}, {100'000, true}};

/// A table with so many names: job-1, job-2, ...
class planned_table {
public:
    planned_table(const std::string& connection_string, const std::string& name, const std::string& later)
        : own{connection_string}, name_{name}, later_{later}
    {
        lh::odbc_store{connection_string, {.table = "plans"}}.create_schema();
        own.execute("insert into plans (name, owner, token, expires_at) values ('job-0', 'o', 1, " + later + ")");
    }

    void grow_to(const table_size& size, const std::string& analyze)
    {
        own.execute("insert into plans (name, owner, token, expires_at) with recursive numbers (n) as (select " +
                    std::to_string(rows_) + " union all select n + 1 from numbers where n < " + std::to_string(size.rows - 1) +
                    ") select " + name_ + ", 'o', 1, " + later_ + " from numbers where n < " + std::to_string(size.rows) +
                    " and n >= " + std::to_string(rows_));
        rows_ = std::max(rows_, size.rows);
        if (size.analyzed) own.execute(analyze);
    }

    odbc_connection own;

private:
    std::string name_, later_;
    int rows_ = 1;
};

template <class Dialect>
od::statement_catalog catalog(std::string_view dbms)
{
    return od::statement_catalog{
        Dialect::describe({.dbms_name = dbms, .dbms_version = "15", .lock_timeout = lh::duration{1}, .call_timeout = lh::duration{1}}),
        {.table = "plans"}};
}

/// `rule(statement, plan, size)`: what is wrong with it, or nothing.
template <class PlanOf, class Rule>
void check_plans(planned_table& table, const od::statement_catalog& sql, const std::string& analyze, PlanOf plan_of, Rule rule)
{
    for (const table_size& size : sizes) {
        table.grow_to(size, analyze);
        for (const planned& each : planned_statements(sql)) {
            const std::vector<row> plan = plan_of(*each.sql);
            const std::string wrong = rule(each, plan, size);
            BOOST_TEST(wrong.empty(), size.rows << " rows, analyzed " << size.analyzed << ": " << wrong << ": "
                                                << each.sql->sql.substr(0, 300) << "\n" << text_of(plan));
        }
    }
}

bool is_query(const std::string& sql) { return sql.starts_with("select"); }

// id, select_type, table, [partitions,] type, possible_keys, key, ...
std::string mariadb_rule(const planned& of, const std::vector<row>& plan, const table_size& size, const std::string& key = "PRIMARY")
{
    for (const row& each : plan) {
        if (each.size() < 10 || (each[2] != "plans" && each[2] != "seen")) continue;
        const std::size_t type = each.size() > 10 ? 4 : 3;
        const std::string& how = each[type];
        const std::string& by = each[type + 2];
        const bool query = is_query(of.sql->sql);
        if (of.of_fence ? query && by != "leasehold_fence" : !query && by != key && !by.empty()) return "goes by " + by;
        const bool small = size.rows <= 1000 && of.sql->parameters.size() > 10;  // for a list of hundreds of names
        if ((how == "ALL" || how == "index") && !small) return "reads all";
    }
    return {};
}

std::vector<row> mariadb_plan(const odbc_connection& own, const od::compiled_statement& of)
{
    std::string text = with_literals(of);
    // The statement behind "set statement ... for" has the plan; that may stand in a comment for MariaDB alone.
    if (text.starts_with("/*M!"))
        text.erase(0, text.find("*/") + 2);
    else if (text.starts_with("set statement"))
        text.erase(0, text.find(" for ") + 5);
    return rows_of(own, "explain format=traditional " + text);
}

struct by_server_clock {
    using store_type = lh::odbc_store;
    static constexpr const char* column_names = "expires_at";
    static constexpr const char* columns = "'1970-01-02'";
};
struct by_observation {
    using store_type = lh::observing_odbc_store;
    static constexpr const char* column_names = "version, ttl_us";
    static constexpr const char* columns = "0, 0";
};
using kinds_of_stores = boost::mpl::list<by_server_clock, by_observation>;

}  // namespace

BOOST_AUTO_TEST_CASE(mariadb_finds_rows_by_the_primary_key)
{
    const mariadb_server server;
    planned_table table{server.connection_string(), "concat('job-', n)", "utc_timestamp() + interval 1 day"};
    if (!server.is_mysql()) table.own.execute("set max_recursive_iterations = 1000000");
    const auto sql = catalog<lh::dialect::mariadb>(server.is_mysql() ? "MySQL" : "MariaDB");
    check_plans(
        table, sql, "analyze table plans", [&](const auto& of) { return mariadb_plan(table.own, of); },
        [](const auto& of, const auto& plan, const auto& size) { return mariadb_rule(of, plan, size); });
    BOOST_TEST(mariadb_rule({&sql[od::statement::renew]}, rows_of(table.own, "explain format=traditional select * from plans"), sizes[5]) ==
               "reads all");
}

// PostgreSQL locks rows, whatever index finds them. For many names it reads through a table of a few pages, and plans anew when there
// are statistics.
BOOST_AUTO_TEST_CASE(postgresql_finds_rows_by_an_index)
{
    const postgresql_server server{{"-c", "autovacuum=off"}};
    planned_table table{server.connection_string(), "'job-' || n", "now() + interval '1 day'"};
    table.own.execute("set plan_cache_mode = force_generic_plan");
    const auto sql = catalog<lh::dialect::postgresql>("PostgreSQL");
    const auto plan_of = [&](const od::compiled_statement& of) {
        std::string text, values;
        std::size_t place = 0;
        for (const char c : of.sql) {
            if (c != '?') {
                text += c;
                continue;
            }
            values.append(values.empty() ? "" : ", ").append(literal(of.parameters[place], place));
            text.append("$").append(std::to_string(++place));
        }
        table.own.execute("prepare planned as " + text);
        auto plan = rows_of(table.own, "explain execute planned" + (values.empty() ? values : '(' + values + ')'));
        table.own.execute("deallocate planned");
        return plan;
    };
    const auto rule = [](const planned& of, const std::vector<row>& plan, const table_size& size) -> std::string {
        const bool one_name = of.sql->sql.find("\"name\" = ?") != std::string::npos;
        const bool small = size.rows < (one_name ? 1'000 : 100'000);
        return !small && text_of(plan).find("Seq Scan on plans") != std::string::npos ? "reads all" : "";
    };
    check_plans(table, sql, "analyze plans", plan_of, rule);
    BOOST_TEST(rule({&sql[od::statement::renew]}, rows_of(table.own, "explain select * from plans"), sizes[5]) == "reads all");
}

BOOST_AUTO_TEST_CASE(sqlite_finds_rows_by_the_primary_key)
{
    const temporary_directory folder;
    planned_table table{sqlite_connection_string(folder.path() / "plans.db"), "'job-' || n", "(strftime('%s', 'now') + 86400) * 1000"};
    const auto sql = catalog<lh::dialect::sqlite>("SQLite");
    const auto rule = [](const planned&, const std::vector<row>& plan, const table_size&) -> std::string {
        return text_of(plan).find("SCAN plans") != std::string::npos ? "reads all" : "";
    };
    check_plans(
        table, sql, "analyze", [&](const auto& of) { return rows_of(table.own, "explain query plan " + with_literals(of)); }, rule);
    BOOST_TEST(rule({}, rows_of(table.own, "explain query plan select * from plans"), sizes[5]) == "reads all");
}

// The name's key may be another one than the primary key, in a table taken over; and it may change while stores use it.
BOOST_AUTO_TEST_CASE(mariadb_finds_rows_by_whatever_key_the_name_has)
{
    mariadb_server server;
    odbc_connection own{server.connection_string()};
    const lh::odbc_options options{.table = "taken_over"};
    own.execute("create table taken_over (id int not null auto_increment primary key, name varchar(190) character set utf8mb4 not null,"
                " owner varchar(190) not null, token bigint not null default 0, expires_at datetime(6) not null, " +
                handover_columns + ", unique key leasehold_fence (name, token), unique key `the ``name` (name)) engine = InnoDB");
    lh::odbc_store store{server.connection_string(), options}, other{server.connection_string(), options};
    const auto works = [&](lh::odbc_store& in, const std::string& name) {
        std::error_code ec;
        const auto granted = in.try_acquire(name, "we", 30s, ec);
        BOOST_TEST(granted.granted(), ec.message() << in.diagnostics().server_message);
        BOOST_TEST(in.renew(name, "we", granted.token, 30s, ec), ec.message() << in.diagnostics().server_message);
        BOOST_TEST(in.release(name, "we", granted.token, 0s, ec), ec.message() << in.diagnostics().server_message);
        BOOST_TEST(!ec);
    };
    works(store, "a");
    works(other, "b");
    own.execute("alter table taken_over drop primary key, modify id int not null default 0, drop key `the ``name`, add primary key (name)");
    works(store, "a");
    works(other, "b");
    own.execute("create view seen as select * from taken_over");
    lh::odbc_store of_view{server.connection_string(), {.table = "seen"}};
    works(of_view, "c");
}

// From some hundred rows on the optimizer took the index that the fence locks, so that the holder's renewals waited for its own fence.
BOOST_AUTO_TEST_CASE_TEMPLATE(holder_of_one_of_thousands_of_names_keeps_its_lease_under_its_fence, Kind, kinds_of_stores)
{
    const mariadb_server server;
    typename Kind::store_type store{server.connection_string(), {.lock_timeout = 1s}};
    store.create_schema();
    odbc_connection own{server.connection_string()};
    own.execute("set max_recursive_iterations = 1000000");
    own.execute("insert into leasehold (name, owner, token, " + std::string{Kind::column_names} + ") with recursive numbers (n) as"
                " (select 1 union all select n + 1 from numbers where n < 3000) select concat('job-', n), 'o', 1, " + Kind::columns +
                " from numbers");
    own.execute("analyze table leasehold");
    lh::basic_lease lease{store, "job-1500", lh::lease_terms{.ttl = 4s}};
    auto guard = lease.try_acquire();
    BOOST_REQUIRE(guard.held());
    odbc_connection application{server.connection_string()};
    application.begin();
    BOOST_REQUIRE(lh::odbc::fence(application.handle(), guard));
    BOOST_TEST(throughout([&] { return guard.held(); }, 8s));
    guard.publish("data");
    BOOST_TEST(guard.save_checkpoint("offset=4711"));
    BOOST_TEST(guard.renew());
    BOOST_TEST((guard.release() == lh::release_outcome::released));
    application.roll_back();
}

BOOST_AUTO_TEST_SUITE_END()
