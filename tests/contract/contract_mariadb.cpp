// SPDX-License-Identifier: BSL-1.0
#include <contract/contract.hpp>
#include <contract/odbc_errors.hpp>
#include <contract/odbc_fixture.hpp>
#include <contract/odbc_handover.hpp>
#include <contract/odbc_health.hpp>
#include <contract/odbc_purge.hpp>

#include <support/mariadb_server.hpp>
#include <support/surroundings.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace contract_mariadb {
namespace {

namespace lh = leasehold;
using namespace std::chrono_literals;

struct mariadb_database {
    leasehold_test::surroundings around = leasehold_test::surroundings::of_environment(leasehold_test::server_family::mysql);
    leasehold_test::mariadb_server server;
    lh::odbc_store store{connection_string()};
    lh::odbc_store another{connection_string()};

    explicit mariadb_database(std::vector<std::string> server_arguments = {})
        : server{around.server_arguments(std::move(server_arguments))}
    {
        around.check(server);
        store.create_schema();
    }
    std::string connection_string() const { return server.connection_string() + around.connection_attributes(); }
};

struct mariadb_fixture : leasehold_test::odbc_fixture<mariadb_database> {
    using odbc_fixture::database;

    auto open_transaction() { return leasehold_test::odbc_transaction{database().connection_string()}; }

    // Read-only: to rename the table would have to wait for those who use it.
    class outage {
    public:
        explicit outage(leasehold_test::mariadb_server& server) : server_{server} { set("1"); }
        outage(const outage&) = delete;
        outage& operator=(const outage&) = delete;
        ~outage() { set("0"); }

    private:
        void set(const std::string& value) { server_.execute_sql("set global read_only = " + value); }

        leasehold_test::mariadb_server& server_;
    };
    outage begin_outage() { return outage{database().server}; }

    std::vector<lh::duration> wrong_clocks() const
    {
        return leasehold_test::sanitized ? std::vector<lh::duration>(4, 0h) : std::vector<lh::duration>{0h, 5h, -3h, 0h};
    }
};

struct serializable_database : mariadb_database {
    serializable_database() : mariadb_database{{"--transaction-isolation=SERIALIZABLE"}} {}
};

struct serializable_fixture : leasehold_test::odbc_fixture<serializable_database> {
    auto open_transaction() { return leasehold_test::odbc_transaction{database().connection_string()}; }
};

const lh::contract::suite<mariadb_fixture> contract{"mariadb"};
const leasehold_test::purge_suite purging{"mariadb_purge", [] { return mariadb_fixture::database().connection_string(); },
                                          {"MySQL", " - interval ", " second", "'1970-01-02 00:00:00'",
                                           "concat('job-', a.n, '-', b.n)", "varchar(255) collate utf8mb4_general_ci", "timestamp"}};
const lh::contract::suite<serializable_fixture> contract_serializable{
    "mariadb_with_serializable_sessions", {"renewals", "races", "races_at_expiry", "contention", "transactions"}};

BOOST_AUTO_TEST_SUITE(mariadb_errors)

leasehold_test::mariadb_server& server() { return mariadb_fixture::database().server; }

// Another user's connection string.
std::string as(const std::string& user, const std::string& password)
{
    return server().connection_string(user, password, server().database) + mariadb_fixture::database().around.connection_attributes();
}

BOOST_AUTO_TEST_CASE(table_that_lacks_a_column_is_told)
{
    leasehold_test::check_missing_columns(mariadb_fixture::database().connection_string(), {"42S22"});
}

BOOST_AUTO_TEST_CASE(health_says_what_a_probe_wants_to_know)
{
    leasehold_test::check_health(mariadb_fixture::database().connection_string(), {.has_clock = true, .wakes = true});
}

BOOST_AUTO_TEST_CASE(table_that_is_of_a_later_version_is_refused)
{
    leasehold_test::check_schema_version(mariadb_fixture::database().connection_string());
}

BOOST_AUTO_TEST_CASE(wrong_connection_strings_are_named)
{
    leasehold_test::check_connection_strings(mariadb_fixture::database().connection_string());
}

BOOST_AUTO_TEST_CASE(wrong_log_in_database_address_and_table_are_named)
{
    leasehold_test::check_servers_errors(server(), mariadb_fixture::database().around.connection_attributes(), "42S02");
}

// With the collation such tables have as a rule, which takes owners for equal that differ in case or spaces.
BOOST_AUTO_TEST_CASE(table_from_before_is_taken_over_by_adding_a_token_column)
{
    leasehold_test::odbc_connection own{mariadb_fixture::database().connection_string()};
    leasehold_test::check_taking_a_table_over(
        mariadb_fixture::database().connection_string(), [&own](const std::string& sql) { own.execute(sql); },
        "varchar(64) collate utf8mb4_general_ci", "timestamp(3)", "utc_timestamp() - interval 1 day",
        "utc_timestamp() + interval 1 day", {"42S22"});
}

BOOST_AUTO_TEST_CASE(read_only_database_is_named)
{
    lh::odbc_store store{mariadb_fixture::database().connection_string()};
    leasehold_test::check_works(store, "before");
    server().execute_sql("set global read_only = 1");
    leasehold_test::check_failure(store, {.code = lh::errc::store_failure, .words = {"read-only"}, .can_read = true});
    server().execute_sql("set global read_only = 0");
    leasehold_test::check_works(store, "after");
}

BOOST_AUTO_TEST_CASE(missing_rights_are_named)
{
    server().execute_sql(
        "create user stranger@'%' identified by 'no-rights'; grant create on leasehold.nothing to stranger@'%'");
    lh::odbc_store store{as("stranger", "no-rights")};
    leasehold_test::check_failure(
        store, {.code = lh::errc::store_failure, .sqlstates = {"42000"}, .words = {"grant"}, .secrets = {"no-rights"}});
}

BOOST_AUTO_TEST_CASE(missing_right_to_delete_is_named_by_a_purge)
{
    server().execute_sql("create user keeper@'%' identified by 'no-purge';"
                         " grant select, insert, update on leasehold.leasehold to keeper@'%'");
    lh::odbc_store store{as("keeper", "no-purge")};
    leasehold_test::check_works(store, "kept");
    server().execute_sql("update leasehold.leasehold set expires_at = '1970-01-02 00:00:00' where name = 'kept'");
    leasehold_test::check_purge_without_the_right(store);
}

// As clients and administrators set it who fear an UPDATE without WHERE.
BOOST_AUTO_TEST_CASE(purge_works_with_safe_updates)
{
    lh::odbc_store store{mariadb_fixture::database().connection_string(), {.table = "safely", .on_connect = {"set sql_safe_updates = 1"}}};
    store.create_schema();
    for (const char* name : {"a", "b", "c"}) lh::contract::grant(store, name, "o");
    server().execute_sql("update leasehold.safely set expires_at = '2020-01-01 00:00:00' where name in ('a', 'c')");
    BOOST_TEST(store.purge(1h) == 2U);
    BOOST_TEST(store.list().size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace contract_mariadb
