// SPDX-License-Identifier: BSL-1.0
// examples/asio_service on a server: what its own test does on SQLite, and replicas that create the table at the same moment.
#include "replica.hpp"

#include <optional>

using namespace leasehold_test;

BOOST_AUTO_TEST_SUITE(asio_service)

BOOST_AUTO_TEST_CASE(leadership_goes_on_after_an_end_and_after_a_kill)
{
    postgresql_server server;
    child_process test{{"bash", ASIO_SERVICE_TEST, ASIO_SERVICE, server.connection_string()}};
    BOOST_TEST(test.wait(5min) == exit_status{});
}

BOOST_AUTO_TEST_CASE(replicas_that_start_at_the_same_moment_all_start_and_one_leads)
{
    postgresql_server server;
    std::optional<replica> one, two;
    start_while_tables_cant_be_created(server, [&] {
        one.emplace(ASIO_SERVICE, server.connection_string(), "0");
        two.emplace(ASIO_SERVICE, server.connection_string(), "0");
    });
    for (replica* each : {&*one, &*two}) BOOST_TEST(each->says("listens on port"), each->log());
    const auto lead = [&] { return (one->log() + two->log()).find("leads with token 1") != std::string::npos; };
    BOOST_TEST(eventually(lead, 20s), one->log() + two->log());
    for (replica* each : {&*one, &*two}) each->ends_well();
}

BOOST_AUTO_TEST_SUITE_END()
