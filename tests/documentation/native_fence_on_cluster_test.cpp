// SPDX-License-Identifier: BSL-1.0
// The fence without ODBC on a Galera cluster, whose nodes don't see each other's locks.
#include "native_connections.hpp"

#include <contract/asked_once.hpp>
#include <faults/fenced_cluster.hpp>

#include <leasehold/leasehold.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>

using namespace leasehold_test;

namespace {

struct cluster_scene : fenced_cluster_scene {
    over_libmariadb app{fenced_cluster().node(0), "galera"};

    using fenced_cluster_scene::fenced_cluster_scene;

    void write(lh::fencing_token token)
    {
        app.execute("update written set token = " + std::to_string(token.value()) + " where name = '" + name + "'");
    }
    std::string written() { return app.execute("select token from written where name = '" + name + "'"); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(native_fence_on_cluster)

BOOST_AUTO_TEST_CASE(write_after_a_take_over_on_another_node_is_refused)
{
    cluster_scene s{"overtaken"};
    const auto guard = s.answered([&](std::error_code& ec) { return s.lease.try_acquire(ec); });
    s.app.begin();
    BOOST_TEST_REQUIRE(s.app.fence(guard));
    BOOST_TEST(s.has_run_out());
    const auto others = s.answered([&](std::error_code& ec) { return s.others.try_acquire_for(10s, ec); });
    BOOST_TEST(others.token() > guard.token());
    BOOST_CHECK_THROW((s.write(guard.token()), s.app.commit()), std::runtime_error);
    s.app.roll_back();
    BOOST_TEST(s.written() == "0");
    s.app.begin();
    BOOST_TEST(!s.app.fence(guard));
    s.app.roll_back();
}

BOOST_AUTO_TEST_CASE(write_before_a_take_over_on_another_node_lands)
{
    cluster_scene s{"in time"};
    const auto guard = s.answered([&](std::error_code& ec) { return s.lease.try_acquire(ec); });
    s.app.begin();
    BOOST_TEST_REQUIRE(s.app.fence(guard));
    s.write(guard.token());
    s.app.commit();
    BOOST_TEST(s.written() == std::to_string(guard.token().value()));
    BOOST_TEST(s.has_run_out());
    const auto others = s.answered([&](std::error_code& ec) { return s.others.try_acquire_for(10s, ec); });
    BOOST_TEST(others.token() > guard.token());
}

BOOST_AUTO_TEST_CASE(take_over_on_the_same_node_is_busy_until_the_transaction_ends)
{
    cluster_scene s{"same node"};
    const auto guard = s.answered([&](std::error_code& ec) { return s.lease.try_acquire(ec); });
    s.app.begin();
    BOOST_TEST_REQUIRE(s.app.fence(guard));
    BOOST_TEST(s.has_run_out());
    lh::basic_lease neighbour{s.store, s.name, lh::lease_terms{.ttl = 60s}};
    const auto ask = [&](std::error_code& ec) { return is_held(neighbour.try_acquire(ec)); };
    BOOST_TEST(!s.answered(ask));
    s.app.commit();
    BOOST_TEST(s.answered(ask));
}

BOOST_AUTO_TEST_CASE(the_statement_for_a_single_server_confirms_no_term_here)
{
    cluster_scene s{"single server"};
    const auto guard = s.answered([&](std::error_code& ec) { return s.lease.try_acquire(ec); });
    over_libmariadb misled{fenced_cluster().node(0), "mariadb"};
    misled.begin();
    BOOST_TEST(!misled.fence(guard));
}

BOOST_AUTO_TEST_SUITE_END()
