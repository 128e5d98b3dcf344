// SPDX-License-Identifier: BSL-1.0
// needs: server
// Tables with constraints, keys, engines and rights that leases can't do with: told at once, and as what they are.
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
#include <vector>

BOOST_AUTO_TEST_SUITE(unfit_tables)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;
using generic_store = lh::basic_odbc_store<lh::dialect::generic>;

namespace {

// What a name meets: "held" has a row, "refused" has none and can't have one.
template <class Store>
void check_refusal_is_told_at_once(Store& store, std::string_view sqlstate)
{
    std::error_code ec;
    const auto begun = std::chrono::steady_clock::now();
    BOOST_TEST(!store.try_acquire("refused", "we", 10min, ec).granted());
    BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    BOOST_TEST(std::chrono::steady_clock::now() - begun < store.call_timeout());
    BOOST_TEST(store.diagnostics().sqlstate == sqlstate);
    BOOST_TEST(store.diagnostics().advice.find("constraint") != std::string::npos, store.diagnostics().advice);
    std::vector<lh::term_request> many{{"allowed", "we", 10min}, {"refused", "we", 10min}};
    std::vector<std::optional<lh::acquire_result>> answers(many.size());
    store.acquire_many(many, many.size(), answers, ec);
    BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    BOOST_TEST(store.try_acquire("allowed", "we", 10min, ec).granted());
    BOOST_TEST(!ec, store.diagnostics().advice);
}

struct constraint {
    std::string definition;  // at the end of the table's
    std::string then;        // a statement after the table's
    std::string sqlstate;
};

// `columns`: of the term. `check(sqlstate)`: with a store of its own.
template <class Check>
void check_each(const std::string& connection_string, const std::string& columns, const std::vector<constraint>& constraints, Check check)
{
    odbc_connection own{connection_string};
    own.execute("create table allowed_names (id varchar(64) primary key)");
    own.execute("insert into allowed_names values (''), ('allowed')");
    for (const constraint& each : constraints) {
        BOOST_TEST_CONTEXT(each.definition << each.then)
        {
            own.execute("drop table if exists leasehold");
            own.execute("create table leasehold (" + columns + ", " + handover_columns + each.definition + ")");
            if (!each.then.empty()) own.execute(each.then);
            check(each.sqlstate);
        }
    }
}

// "taken" has a row of "we", which therefore can't have another; and no table lets anybody have a row without a value in each column.
template <class Store>
void check_failure_of_every_name(Store& store, std::string_view sqlstate, const std::vector<std::string>& words)
{
    const auto check = [&](const std::error_code& ec) {
        BOOST_TEST((ec == lh::errc::store_failure), ec.message());
        const std::string advice = store.diagnostics().advice;
        BOOST_TEST(store.diagnostics().sqlstate == sqlstate);
        for (const std::string& word : words) BOOST_TEST(advice.find(word) != std::string::npos, word << " is in: " << advice);
    };
    std::error_code ec;
    const auto begun = std::chrono::steady_clock::now();
    BOOST_TEST(!store.try_acquire("refused", "we", 10min, ec).granted());
    check(ec);
    std::vector<lh::term_request> many{{"one", "we", 10min}, {"another", "we", 10min}};
    std::vector<std::optional<lh::acquire_result>> answers(many.size());
    store.acquire_many(many, many.size(), answers, ec);
    check(ec);
    BOOST_TEST(std::chrono::steady_clock::now() - begun < store.call_timeout());
}

constexpr const char* unique_owner = ", unique (owner)";
constexpr const char* column_more = ", department varchar(64) not null";

constexpr const char* foreign_key = ", foreign key (name) references allowed_names (id)";
constexpr const char* check_of_name = ", check (name <> 'refused')";
constexpr const char* check_of_token = ", constraint tokens check (name <> 'refused' or token > 1000000)";

// Whether health() finds the table unfit before any lease is asked for, and with which words.
void check_unhealthy(const std::string& connection_string, const std::vector<std::string>& words)
{
    lh::odbc_store store{connection_string};
    const lh::store_health found = store.health();
    BOOST_TEST((found.error == lh::errc::store_failure), found.error.message());
    for (const std::string& word : words)
        BOOST_TEST(found.diagnostics.advice.find(word) != std::string::npos, word << " is in: " << found.diagnostics.advice);
    std::error_code ec;
    lh::odbc_store used{connection_string};
    BOOST_TEST(!used.try_acquire("n", "we", 10min, ec).granted());
    BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    BOOST_TEST(used.diagnostics().advice == found.diagnostics.advice);
}

}  // namespace

BOOST_AUTO_TEST_CASE(mariadb_tells_at_once_of_a_constraint_that_refuses_a_name)
{
    const mariadb_server server;
    check_each(server.connection_string(),
               "name varchar(64) primary key, owner varchar(64) not null, token bigint not null, expires_at datetime(6) not null",
               {{foreign_key, "", "23000"}, {check_of_name, "", "23000"}, {check_of_token, "", "23000"},
                {"", "create trigger refuses before insert on leasehold for each row if new.name = 'refused' then signal sqlstate '23000'"
                     " set message_text = 'a constraint of ours'; end if", "23000"}},
               [&](std::string_view sqlstate) {
                   lh::odbc_store store{server.connection_string()};
                   check_refusal_is_told_at_once(store, sqlstate);
               });
}

BOOST_AUTO_TEST_CASE(postgresql_tells_at_once_of_a_constraint_that_refuses_a_name)
{
    const postgresql_server server;
    check_each(server.connection_string(),
               "name varchar(64) primary key, owner varchar(64) not null, token bigint not null, expires_at timestamptz not null",
               {{foreign_key, "", "23503"}, {check_of_name, "", "23514"}, {check_of_token, "", "23514"},
                {", exclude using btree ((left(name, 3)) with =)", "insert into leasehold values ('ref', 'we', 1, now())", "23P01"}},
               [&](std::string_view sqlstate) {
                   lh::odbc_store store{server.connection_string()};
                   check_refusal_is_told_at_once(store, sqlstate);
               });
}

BOOST_AUTO_TEST_CASE(sqlite_tells_at_once_of_a_constraint_that_refuses_a_name)
{
    const temporary_directory folder;
    const std::string connection_string = sqlite_connection_string(folder.path() / "jobs.db");
    check_each(connection_string, "name text primary key, owner text not null, token integer not null, expires_at integer not null",
               {{foreign_key, "", "HY000"}, {check_of_name, "", "HY000"}, {check_of_token, "", "HY000"},
                {"", "create trigger refuses before insert on leasehold when new.name = 'refused'"
                     " begin select raise(abort, 'refused'); end", "HY000"}},
               [&](std::string_view sqlstate) {
                   lh::odbc_store store{connection_string, {.on_connect = {"pragma foreign_keys = on"}}};
                   check_refusal_is_told_at_once(store, sqlstate);
               });
}

BOOST_AUTO_TEST_CASE(the_generic_dialect_tells_of_a_constraint_that_refuses_a_name)
{
    const std::string columns = "name varchar(64) primary key, owner varchar(64) not null, token bigint not null, version bigint not null,"
                                " ttl_us bigint not null";
    const mariadb_server mariadb;
    const postgresql_server postgresql;
    check_each(mariadb.connection_string(), columns, {{foreign_key, "", "23000"}, {check_of_name, "", "23000"}},
               [&](std::string_view sqlstate) {
                   generic_store store{mariadb.connection_string()};
                   check_refusal_is_told_at_once(store, sqlstate);
               });
    check_each(postgresql.connection_string(), columns, {{foreign_key, "", "23503"}, {check_of_name, "", "23514"}},
               [&](std::string_view sqlstate) {
                   generic_store store{postgresql.connection_string()};
                   check_refusal_is_told_at_once(store, sqlstate);
               });
}

BOOST_AUTO_TEST_CASE(mariadb_tells_at_once_of_a_table_that_takes_no_second_row_of_an_owner_or_wants_more_columns)
{
    const mariadb_server server;
    const std::string columns =
        "name varchar(64) primary key, owner varchar(64) not null, token bigint not null, expires_at datetime(6) not null";
    const std::string taken = "insert into leasehold (name, owner, token, expires_at) values ('taken', 'we', 1, '2020-01-01')";
    check_each(server.connection_string(), columns, {{unique_owner, taken, "23000"}}, [&](std::string_view sqlstate) {
        lh::odbc_store store{server.connection_string()};
        check_failure_of_every_name(store, sqlstate, {"another unique constraint"});
        std::error_code ec;
        BOOST_TEST(store.try_acquire("refused", "others", 10min, ec).granted());
        BOOST_TEST(!store.try_acquire("taken", "others", 10min, ec).granted());  // an update meets the index too
        BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    });
    odbc_connection{server.connection_string()}.execute("drop table allowed_names");
    check_each(server.connection_string(), columns, {{column_more, "", "HY000"}}, [&](std::string_view sqlstate) {
        lh::odbc_store store{server.connection_string()};
        check_failure_of_every_name(store, sqlstate, {"another column that must have a value"});
    });
}

BOOST_AUTO_TEST_CASE(postgresql_tells_at_once_of_a_table_that_takes_no_second_row_of_an_owner_or_wants_more_columns)
{
    const postgresql_server server;
    const std::string columns =
        "name varchar(64) primary key, owner varchar(64) not null, token bigint not null, expires_at timestamptz not null";
    const std::string taken = "insert into leasehold (name, owner, token, expires_at) values ('taken', 'we', 1, '2020-01-01')";
    check_each(server.connection_string(), columns, {{unique_owner, taken, "23505"}}, [&](std::string_view sqlstate) {
        lh::odbc_store store{server.connection_string()};
        check_failure_of_every_name(store, sqlstate, {"another unique constraint"});
        std::error_code ec;
        BOOST_TEST(store.try_acquire("refused", "others", 10min, ec).granted());
        BOOST_TEST(!store.try_acquire("taken", "others", 10min, ec).granted());
        BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    });
    odbc_connection{server.connection_string()}.execute("drop table allowed_names");
    check_each(server.connection_string(), columns, {{column_more, "", "23502"}}, [&](std::string_view sqlstate) {
        lh::odbc_store store{server.connection_string()};
        check_failure_of_every_name(store, sqlstate, {"another column that must have a value"});
    });
}

BOOST_AUTO_TEST_CASE(sqlite_tells_at_once_of_a_table_that_takes_no_second_row_of_an_owner_or_wants_more_columns)
{
    const temporary_directory folder;
    const std::string connection_string = sqlite_connection_string(folder.path() / "jobs.db");
    const std::string columns = "name text primary key, owner text not null, token integer not null, expires_at integer not null";
    const std::string taken = "insert into leasehold (name, owner, token, expires_at) values ('taken', 'we', 1, 1000000)";
    check_each(connection_string, columns, {{unique_owner, taken, "HY000"}}, [&](std::string_view sqlstate) {
        lh::odbc_store store{connection_string};
        check_failure_of_every_name(store, sqlstate, {"another unique constraint"});
        std::error_code ec;
        BOOST_TEST(store.try_acquire("refused", "others", 10min, ec).granted());
        BOOST_TEST(!store.try_acquire("taken", "others", 10min, ec).granted());
        BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    });
    odbc_connection{connection_string}.execute("drop table allowed_names");
    check_each(connection_string, columns, {{column_more, "", "HY000"}}, [&](std::string_view sqlstate) {
        lh::odbc_store store{connection_string};
        check_failure_of_every_name(store, sqlstate, {"another column that must have a value"});
    });
}

BOOST_AUTO_TEST_CASE(the_generic_dialect_tells_of_a_table_that_takes_no_second_row_of_an_owner)
{
    const std::string columns = "name varchar(64) primary key, owner varchar(64) not null, token bigint not null, version bigint not null,"
                                " ttl_us bigint not null";
    const mariadb_server mariadb;
    check_each(mariadb.connection_string(), columns,
               {{unique_owner, "insert into leasehold (name, owner, token, version, ttl_us) values ('taken', 'we', 1, 1, 1)", "23000"}},
               [&](std::string_view sqlstate) {
                   generic_store store{mariadb.connection_string()};
                   check_failure_of_every_name(store, sqlstate, {"another unique constraint"});
               });
}

// No ON CONFLICT takes it, so each grant would fail.
BOOST_AUTO_TEST_CASE(a_key_that_is_checked_at_the_commit_is_no_key)
{
    const postgresql_server server;
    odbc_connection own{server.connection_string()};
    for (const char* key : {"primary key deferrable", "primary key deferrable initially deferred", "not null unique deferrable"}) {
        BOOST_TEST_CONTEXT(key)
        {
            own.execute("create table leasehold (name text " + std::string{key} +
                        ", owner text not null, token bigint not null, expires_at timestamptz not null, " + handover_columns + ")");
            check_unhealthy(server.connection_string(), {"key", "deferrable"});
            own.execute("create unique index on leasehold (name)");
            BOOST_TEST(!lh::odbc_store{server.connection_string()}.health().error);
            own.execute("drop table leasehold");
        }
    }
}

BOOST_AUTO_TEST_CASE(an_engine_without_transactions_is_unfit)
{
    const mariadb_server server;
    odbc_connection own{server.connection_string()};
    for (const char* engine : {"MyISAM", "Aria", "MEMORY"}) {
        BOOST_TEST_CONTEXT(engine)
        {
            own.execute("create table leasehold (name varbinary(64) primary key, owner varbinary(64) not null, token bigint not null,"
                        " expires_at datetime(6) not null, " + handover_columns + ") engine = " + engine);
            check_unhealthy(server.connection_string(), {"engine " + std::string{engine}, "InnoDB"});
            own.execute("drop table leasehold");
        }
    }
}

// A user who may not use all columns is told before the first lease, and not when something is said during it.
template <class Server>
void check_rights_by_column(const std::string& create_user)
{
    Server server;
    lh::odbc_store{server.connection_string()}.create_schema();
    server.execute_sql(create_user);
    const auto grant = [&server](const std::string& columns) {
        server.execute_sql("grant select (" + columns + "), insert (" + columns + "), update (" + columns + ") on leasehold to clerk");
    };
    grant("name, owner, token, expires_at");
    lh::odbc_store store{server.connection_string("clerk", "by-the-column", server.database)};
    std::error_code ec;
    BOOST_TEST(!store.try_acquire("job", "we", 10min, ec).granted());
    BOOST_TEST((ec == lh::errc::store_failure), ec.message());
    BOOST_TEST(store.diagnostics().advice.find("grant SELECT, INSERT and UPDATE") != std::string::npos, store.diagnostics().advice);
    BOOST_TEST((store.health().error == lh::errc::store_failure));
    grant("holder_data, holder_data_token, handover_request, handover_token, checkpoint, checkpoint_token");
    const auto granted = store.try_acquire("job", "we", 10min, ec);
    BOOST_TEST(granted.granted());
    BOOST_TEST(store.publish("job", "we", granted.token, "data", ec), store.diagnostics().advice);
    BOOST_TEST(!store.health().error);
}

BOOST_AUTO_TEST_CASE(rights_to_some_columns_are_not_enough_on_postgresql)
{
    check_rights_by_column<postgresql_server>("create role clerk login password 'by-the-column'");
}

BOOST_AUTO_TEST_CASE(rights_to_some_columns_are_not_enough_on_mariadb)
{
    check_rights_by_column<mariadb_server>("create user clerk@'%' identified by 'by-the-column'");
}

// psqlODBC takes it for PostgreSQL. `version`: the body of a version() that comes before PostgreSQL's own.
void check_generic_is_used(const std::string& version)
{
    postgresql_server server;
    server.execute_sql("alter role leasehold set search_path = public, pg_catalog; grant create on schema public to leasehold;"
                       " create function public.version() returns text language plpgsql as $$ begin " +
                       version + " end $$");
    lh::odbc_store store{server.connection_string()};
    store.create_schema();
    BOOST_TEST(server.execute_sql("select count(*) from information_schema.columns where column_name = 'ttl_us'") == "1\n");
    std::error_code ec;
    const auto granted = store.try_acquire("job", "we", 10min, ec);
    BOOST_TEST(granted.granted());
    BOOST_TEST(!store.try_acquire("job", "another", 10min, ec).granted());
    BOOST_TEST(!ec, store.diagnostics().advice << store.diagnostics().server_message);
    BOOST_TEST(store.renew("job", "we", granted.token, 10min, ec));
    BOOST_TEST(store.release("job", "we", granted.token, 0s, ec));
}

BOOST_AUTO_TEST_CASE(a_server_that_only_speaks_like_postgresql_gets_the_generic_dialect)
{
    check_generic_is_used("return 'HSQL Database Engine 2.7.1';");
    check_generic_is_used("raise exception 'no such function';");
}

BOOST_AUTO_TEST_CASE(a_server_that_is_out_of_memory_for_a_moment_is_postgresql_still)
{
    postgresql_server server;
    server.execute_sql("alter role leasehold set search_path = public, pg_catalog; grant create on schema public to leasehold;"
                       " create function public.version() returns text language plpgsql as"
                       " $$ begin raise exception 'out of memory' using errcode = '53200'; end $$");
    lh::odbc_store store{server.connection_string()};
    std::error_code ec;
    store.create_schema(ec);
    BOOST_TEST(ec);
    server.execute_sql("drop function public.version()");
    store.create_schema(ec);
    BOOST_TEST(!ec, store.diagnostics().advice << store.diagnostics().server_message);
    BOOST_TEST(server.execute_sql("select count(*) from information_schema.columns where column_name = 'ttl_us'") == "0\n");
    BOOST_TEST(store.try_acquire("job", "we", 10min, ec).granted());
}

BOOST_AUTO_TEST_SUITE_END()
