// SPDX-License-Identifier: BSL-1.0
// examples/thread_service where its own test, which is on SQLite, can't take it: replicas that start at the same moment, and a
// server that hangs. docs/service.md tells readers to build theirs like this.
#include "replica.hpp"

#include <optional>

using namespace leasehold_test;

BOOST_AUTO_TEST_SUITE(thread_service)

// PostgreSQL's `create table if not exists` fails where another session creates the table at the same moment.
BOOST_AUTO_TEST_CASE(replicas_that_start_at_the_same_moment_all_start)
{
    postgresql_server server;
    BOOST_TEST((replica{THREAD_SERVICE, server.connection_string()}.says("waits for its turn")));  // the leases' table is there
    server.execute_sql("drop table service_journal");

    std::optional<replica> one, two;
    start_while_tables_cant_be_created(server, [&] {
        one.emplace(THREAD_SERVICE, server.connection_string());
        two.emplace(THREAD_SERVICE, server.connection_string());
    });
    for (replica* each : {&*one, &*two}) {
        BOOST_TEST(each->says("waits for its turn"), each->log());
        each->ends_well();
    }
}

BOOST_AUTO_TEST_CASE(the_server_s_words_are_in_what_it_says_of_a_failure)
{
    postgresql_server server;
    BOOST_TEST((replica{THREAD_SERVICE, server.connection_string()}.says("waits for its turn")));
    server.execute_sql(
        "drop table service_journal; create view service_journal as select 1 as token; grant all on service_journal to public");
    replica service{THREAD_SERVICE, server.connection_string()};
    BOOST_TEST(service.says("insert into view"), service.log());  // cannot
    BOOST_TEST(!service.end().success());
}

BOOST_AUTO_TEST_CASE(leader_whose_server_hangs_is_not_ready_once_its_term_is_over)
{
    postgresql_server server;
    replica service{THREAD_SERVICE, server.connection_string()};
    BOOST_TEST(eventually([&] { return service.ready(); }, 20s));
    server.freeze();
    BOOST_TEST(eventually([&] { return !service.ready(); }, 20s));
    server.thaw();
    service.ends_well();
}

BOOST_AUTO_TEST_SUITE_END()
