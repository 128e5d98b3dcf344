// SPDX-License-Identifier: BSL-1.0
// needs: server
// Tables that were others' before, in which a name can have two rows, and so two holders.
#include <contract/odbc_connection.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(names_without_key)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

/// A table of the four columns: what follows the type of `name`, and a statement after it.
struct shape {
    std::string column{};
    std::string then{};
};

/// Shapes of a table in one database.
struct shapes {
    std::string name_type, owner_type, expiry_type;
    std::vector<shape> unfit, fit;
};

class scene {
public:
    explicit scene(const std::string& connection_string, const shapes& of, const std::string& table = "leasehold")
        : connection_string_{connection_string}, of_{of}, table_{table}, own_{connection_string}
    {
    }

    [[nodiscard]] lh::odbc_store store() const { return lh::odbc_store{connection_string_, {.table = table_}}; }

    void make(const shape& it)
    {
        own_.execute("drop table if exists " + table_);
        own_.execute("create table " + table_ + " (name " + of_.name_type + " " + it.column + ", owner " + of_.owner_type +
                     " not null, token bigint not null, expires_at " + of_.expiry_type + " not null, " + handover_columns + ")");
        if (!it.then.empty()) own_.execute(it.then);
    }

    /// Runs what the advice says.
    void mend(const std::string& advice)
    {
        constexpr std::string_view before = "and run: ";
        const std::size_t at = advice.find(before);
        BOOST_REQUIRE(at != std::string::npos);
        own_.execute(advice.substr(at + before.size()));
    }

private:
    std::string connection_string_;
    const shapes& of_;
    std::string table_;
    odbc_connection own_;
};

std::string check_told(const lh::odbc_store& store, std::error_code ec)
{
    const std::string advice = store.diagnostics().advice;
    BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    BOOST_TEST(advice.find("two holders") != std::string::npos, advice);
    return advice;
}

/// Each way to use the store says what is wrong with the table; none grants anything.
void check_unfit(scene& s)
{
    std::error_code ec;
    auto store = s.store();
    BOOST_TEST(!store.try_acquire("n", "we", 30s, ec).granted());
    const std::string advice = check_told(store, ec);
    BOOST_TEST(!store.try_acquire("n", "we", 30s, ec).granted());  // asked once more, since it isn't mended
    check_told(store, ec);
    std::vector<lh::term_request> both{{"a", "we", 30s}, {"b", "we", 30s}};
    std::vector<std::optional<lh::acquire_result>> answers(both.size());
    store.acquire_many(both, both.size(), answers, ec);
    check_told(store, ec);

    auto making = s.store();
    making.create_schema(ec);
    check_told(making, ec);
    auto asked = s.store();
    const lh::store_health health = asked.health();
    BOOST_TEST((health.error == lh::errc::store_failure), health.error.message());
    BOOST_TEST(health.reachable);
    BOOST_TEST(health.diagnostics.advice == advice);

    s.mend(advice);
    BOOST_TEST(store.try_acquire("n", "we", 30s, ec).granted());
    BOOST_TEST(!ec, store.diagnostics().advice);
    BOOST_TEST(!asked.health().error);
}

void check_fit(scene& s)
{
    std::error_code ec;
    auto store = s.store();
    BOOST_TEST(!store.health().error, store.diagnostics().advice);
    store.create_schema(ec);
    BOOST_TEST(!ec, store.diagnostics().advice);
    auto used = s.store();
    BOOST_TEST(used.try_acquire("n", "we", 30s, ec).granted());
    BOOST_TEST(!ec, used.diagnostics().advice);
}

void check_shapes(const std::string& connection_string, const shapes& of)
{
    scene s{connection_string, of};
    for (const shape& each : of.unfit) {
        BOOST_TEST_CONTEXT("unfit: name " << each.column << "; " << each.then)
        {
            s.make(each);
            check_unfit(s);
        }
    }
    for (const shape& each : of.fit) {
        BOOST_TEST_CONTEXT("fit: name " << each.column << "; " << each.then)
        {
            s.make(each);
            check_fit(s);
        }
    }
}

const shapes of_sqlite{
    "text", "text", "integer",
    {{},
     {"not null", "create index plain on leasehold (name)"},
     {"not null", "create unique index partial_one on leasehold (name) where owner <> ''"},
     {"not null", "create unique index with_another on leasehold (name, token)"},
     {"not null", "create unique index of_expression on leasehold (name, lower(name))"},
     {"not null", "create unique index of_another on leasehold (owner)"}},
    {{"primary key"}, {"not null unique"}, {"not null collate nocase", "create unique index Leasehold_name on leasehold (NAME)"}}};

const shapes of_mariadb{
    "varchar(64)", "varchar(64)", "datetime(6)",
    {{},
     {"not null", "create index plain on leasehold (name)"},
     {"not null", "create unique index with_another on leasehold (name, token)"},
     {"not null", "create unique index with_expiry on leasehold (name, expires_at)"},
     {"not null", "create unique index of_another on leasehold (owner)"}},
    {{"not null primary key"}, {"not null unique"}, {"unique"}, {"not null", "create unique index of_name on leasehold (NAME)"}}};

const shapes of_postgresql{
    "text", "text", "timestamptz",
    {{},
     {"not null", "create index on leasehold (name)"},
     {"not null", "create unique index on leasehold (name) where owner <> ''"},
     {"not null", "create unique index on leasehold (name, token)"},
     {"not null", "create unique index on leasehold (lower(name))"},
     {"not null", "create unique index on leasehold (owner)"}},
    {{"primary key"}, {"not null unique"}, {"unique"}}};

struct sqlite_file {
    temporary_directory folder;
    std::string connection_string = sqlite_connection_string(folder.path() / "jobs.db");
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(sqlite_tells_of_them, sqlite_file) { check_shapes(connection_string, of_sqlite); }

BOOST_AUTO_TEST_CASE(mariadb_tells_of_them)
{
    mariadb_server server;
    check_shapes(server.connection_string(), of_mariadb);
}

BOOST_AUTO_TEST_CASE(postgresql_tells_of_them)
{
    postgresql_server server;
    shapes known = of_postgresql;
    if (std::stoi(server.execute_sql("show server_version_num")) >= 110'000)
        known.fit.push_back({"not null", "create unique index on leasehold (name) include (owner)"});
    check_shapes(server.connection_string(), known);
}

// A table that comes after the first call, and a table whose name is qualified.
BOOST_FIXTURE_TEST_CASE(table_that_comes_later_is_looked_at, sqlite_file)
{
    scene s{connection_string, of_sqlite, "main.later"};
    auto store = s.store();
    std::error_code ec;
    BOOST_TEST(!store.try_acquire("n", "we", 30s, ec).granted());
    BOOST_TEST((ec == lh::errc::schema_missing), ec.message());
    s.make({"not null"});
    BOOST_TEST(!store.try_acquire("n", "we", 30s, ec).granted());
    check_told(store, ec);
    check_unfit(s);
    BOOST_TEST(store.try_acquire("m", "we", 30s, ec).granted());
    BOOST_TEST(!ec, store.diagnostics().advice);
}

BOOST_AUTO_TEST_CASE(mariadb_looks_at_the_table_of_that_schema)
{
    mariadb_server server;
    server.execute_sql("create database other; grant all on other.* to leasehold");
    odbc_connection own{server.connection_string()};
    own.execute("create table leasehold (name varchar(64) primary key)");
    scene s{server.connection_string(), of_mariadb, "other.leasehold"};
    s.make({"not null"});
    check_unfit(s);
}

// Its indexes are not its own, so there is no telling.
BOOST_AUTO_TEST_CASE(views_are_let_pass)
{
    mariadb_server mariadb;
    postgresql_server postgresql;
    for (database_server* server : std::vector<database_server*>{&mariadb, &postgresql}) {
        lh::odbc_store{server->connection_string(), {.table = "beneath"}}.create_schema();
        odbc_connection own{server->connection_string()};
        own.execute("create view leasehold as select * from beneath");
        lh::odbc_store store{server->connection_string()};
        std::error_code ec;
        BOOST_TEST(store.try_acquire("n", "we", 30s, ec).granted());
        BOOST_TEST(!ec, store.diagnostics().advice);
        BOOST_TEST(!store.health().error);
    }
}

BOOST_AUTO_TEST_SUITE_END()
