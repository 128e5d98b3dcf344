// SPDX-License-Identifier: BSL-1.0
#include <contract/contract.hpp>
#include <contract/odbc_errors.hpp>
#include <contract/odbc_fixture.hpp>
#include <contract/odbc_handover.hpp>
#include <contract/odbc_health.hpp>
#include <contract/odbc_purge.hpp>

#include <support/postgresql_server.hpp>
#include <support/surroundings.hpp>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace contract_postgresql {
namespace {

namespace lh = leasehold;
using namespace std::chrono_literals;

template <class Store>
struct postgresql_database {
    leasehold_test::surroundings around = leasehold_test::surroundings::of_environment(leasehold_test::server_family::postgresql);
    leasehold_test::postgresql_server server;
    Store store;
    Store another;

    explicit postgresql_database(std::vector<std::string> server_arguments = {}, lh::odbc_options options = {})
        : server{around.server_arguments(std::move(server_arguments))}, store{connection_string(), options},
          another{connection_string(), options}
    {
        around.check(server);
        store.create_schema();
    }
    std::string connection_string() const { return server.connection_string() + around.connection_attributes(); }
};

struct default_database : postgresql_database<lh::odbc_store> {};

struct postgresql_fixture : leasehold_test::odbc_fixture<default_database> {
    using odbc_fixture::database;

    auto open_transaction() { return leasehold_test::odbc_transaction{database().connection_string()}; }

    std::vector<lh::duration> wrong_clocks() const
    {
        return leasehold_test::sanitized ? std::vector<lh::duration>(4, 0h) : std::vector<lh::duration>{0h, 5h, -3h, 0h};
    }
};

struct serializable_database : postgresql_database<lh::odbc_store> {
    serializable_database() : postgresql_database{{"-c", "default_transaction_isolation=serializable"}} {}
};

struct serializable_fixture : leasehold_test::odbc_fixture<serializable_database> {
    auto open_transaction() { return leasehold_test::odbc_transaction{database().connection_string()}; }
};

const lh::contract::suite<postgresql_fixture> contract{"postgresql"};
const leasehold_test::purge_suite purging{"postgresql_purge", [] { return postgresql_fixture::database().connection_string(); },
                                          {"PostgreSQL", " - interval '", " seconds'", "'1970-01-02 00:00:00+00'",
                                           "'job-' || a.n || '-' || b.n", "varchar(255)", "timestamp(0)"}};
const lh::contract::suite<serializable_fixture> contract_serializable{
    "postgresql_with_serializable_sessions", {"renewals", "races", "races_at_expiry", "contention", "transactions"}};

BOOST_AUTO_TEST_SUITE(postgresql_errors)

leasehold_test::postgresql_server& server() { return postgresql_fixture::database().server; }

// Another user's connection string.
std::string as(const std::string& user, const std::string& password)
{
    return server().connection_string(user, password, server().database) + postgresql_fixture::database().around.connection_attributes();
}

BOOST_AUTO_TEST_CASE(table_that_lacks_a_column_is_told)
{
    leasehold_test::check_missing_columns(postgresql_fixture::database().connection_string(), {"42703"});
}

BOOST_AUTO_TEST_CASE(health_says_what_a_probe_wants_to_know)
{
    leasehold_test::check_health(postgresql_fixture::database().connection_string(), {.has_clock = true, .wakes = true});
}

BOOST_AUTO_TEST_CASE(table_that_is_of_a_later_version_is_refused)
{
    leasehold_test::check_schema_version(postgresql_fixture::database().connection_string());
}

BOOST_AUTO_TEST_CASE(wrong_connection_strings_are_named)
{
    leasehold_test::check_connection_strings(postgresql_fixture::database().connection_string());
}

BOOST_AUTO_TEST_CASE(wrong_log_in_database_address_and_table_are_named)
{
    leasehold_test::check_servers_errors(server(), postgresql_fixture::database().around.connection_attributes(), "42P01");
}

BOOST_AUTO_TEST_CASE(table_from_before_is_taken_over_by_adding_a_token_column)
{
    leasehold_test::odbc_connection own{postgresql_fixture::database().connection_string()};
    leasehold_test::check_taking_a_table_over(postgresql_fixture::database().connection_string(),
                                              [&own](const std::string& sql) { own.execute(sql); }, "varchar(64)", "timestamptz",
                                              "now() - interval '1 minute'", "now() + interval '1 hour'", {"42703"});
}

BOOST_AUTO_TEST_CASE(read_only_database_is_named)
{
    server().execute_sql("create role reader login password 'only-reading' in role leasehold;"
                         "alter role reader set default_transaction_read_only = on");
    lh::odbc_store store{as("reader", "only-reading")};
    leasehold_test::check_failure(store, {.code = lh::errc::store_failure,
                                          .sqlstates = {"25006"},
                                          .words = {"read-only"},
                                          .secrets = {"only-reading"},
                                          .can_read = true});
}

BOOST_AUTO_TEST_CASE(missing_rights_are_named)
{
    server().execute_sql("create role stranger login password 'no-rights'");
    lh::odbc_store store{as("stranger", "no-rights")};
    leasehold_test::check_failure(
        store, {.code = lh::errc::store_failure, .sqlstates = {"42501"}, .words = {"grant"}, .secrets = {"no-rights"}});
}

BOOST_AUTO_TEST_CASE(missing_right_to_delete_is_named_by_a_purge)
{
    server().execute_sql("create role keeper login password 'no-purge'; grant select, insert, update on leasehold to keeper");
    lh::odbc_store store{as("keeper", "no-purge")};
    leasehold_test::check_works(store, "kept");
    server().execute_sql("update leasehold set expires_at = '1970-01-02 00:00:00+00' where name = 'kept'");
    leasehold_test::check_purge_without_the_right(store);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(postgresql_grants)

// The grant has seen the row, and waits for its removal: that what it inserts then is above what was there is its own doing,
// for it has read the floor before.
BOOST_AUTO_TEST_CASE(grant_that_saw_a_row_which_is_removed_meanwhile_goes_on_with_its_tokens)
{
    const std::string where = postgresql_fixture::database().connection_string();
    lh::odbc_store store{where, {.call_timeout = 1min, .lock_timeout = 30s}};
    lh::fencing_token last;
    for (int i = 0; i < 3; ++i) lh::contract::release(store, "removed", "a", last = lh::contract::grant(store, "removed", "a"));
    leasehold_test::odbc_connection remover{where};
    leasehold_test::odbc_connection watcher{where};
    lh::odbc_store late{where, {.call_timeout = 1min, .lock_timeout = 30s}};
    const auto waiting = [&] { return watcher.execute("select count(*) from pg_locks where not granted") == "1"; };
    remover.begin();
    remover.execute("delete from leasehold where name = 'removed'");
    lh::fencing_token next;
    lh::contract::at_once(2, [&](std::size_t i) {
        if (i == 0) {
            next = lh::contract::grant(late, "removed", "b");
        } else {
            if (!leasehold_test::eventually(waiting)) throw std::logic_error{"the grant does not wait"};
            remover.commit();
        }
    });
    BOOST_TEST(next.value() == last.value() + 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace contract_postgresql
