// SPDX-License-Identifier: BSL-1.0
// needs: server, quiet
// The fence on a Galera cluster, whose nodes don't see each other's locks: what is written under the fence is refused
// if another node has let somebody else in.
#include <contract/asked_once.hpp>
#include <contract/odbc_connection.hpp>
#include <faults/fenced_cluster.hpp>
#include <faults/fenced_databases.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>

BOOST_AUTO_TEST_SUITE(fence_on_cluster)

using namespace leasehold_test;

namespace {

struct cluster_scene : fenced_cluster_scene {
    application app{fenced_cluster().node(0).connection_string(), name};

    using fenced_cluster_scene::fenced_cluster_scene;

    std::string written()
    {
        app.roll_back();
        return app.last();
    }

    // A transaction that another node's write has ended is begun again, as users have to.
    bool fences(const auto& guard)
    {
        return answered([&](std::error_code& ec) {
            const bool confirmed = lh::odbc::fence(app.handle(), guard, ec);
            if (ec == lh::errc::store_conflict) app.roll_back();
            return confirmed;
        });
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(write_after_a_take_over_on_another_node_is_refused)
{
    cluster_scene s{"overtaken"};
    const auto guard = s.answered([&](std::error_code& ec) { return s.lease.try_acquire(ec); });
    BOOST_TEST(s.fences(guard));
    BOOST_TEST(s.has_run_out());
    const auto others = s.answered([&](std::error_code& ec) { return s.others.try_acquire_for(10s, ec); });
    BOOST_TEST(others.token() > guard.token());
    BOOST_CHECK_THROW((s.app.write(guard.token()), s.app.commit()), std::runtime_error);
    BOOST_TEST(s.written() == "0");
    BOOST_TEST(!s.fences(guard));
}

BOOST_AUTO_TEST_CASE(write_before_a_take_over_on_another_node_lands)
{
    cluster_scene s{"in time"};
    const auto guard = s.answered([&](std::error_code& ec) { return s.lease.try_acquire(ec); });
    BOOST_TEST(s.fences(guard));
    s.app.write(guard.token());
    s.app.commit();
    BOOST_TEST(s.written() == "1");
    BOOST_TEST(s.has_run_out());
    const auto others = s.answered([&](std::error_code& ec) { return s.others.try_acquire_for(10s, ec); });
    BOOST_TEST(others.token() > guard.token());
}

BOOST_AUTO_TEST_CASE(take_over_on_the_same_node_is_busy_until_the_transaction_ends)
{
    cluster_scene s{"same node"};
    const auto guard = s.answered([&](std::error_code& ec) { return s.lease.try_acquire(ec); });
    BOOST_TEST(s.fences(guard));
    BOOST_TEST(s.has_run_out());
    lh::basic_lease neighbour{s.store, s.name, lh::lease_terms{.ttl = 60s}};
    const auto ask = [&](std::error_code& ec) { return is_held(neighbour.try_acquire(ec)); };
    BOOST_TEST(!s.answered(ask));
    s.app.commit();
    BOOST_TEST(s.answered(ask));
}

// As in a table that was there before. A fence that makes the smallest change that a finer column would keep changes nothing
// here, and so is not certified; one that makes a larger one would let the term grow with each fence. The server sets the expiry in each
// UPDATE that does not set it, which would end the term.
BOOST_AUTO_TEST_CASE(holds_where_the_expiry_has_whole_seconds_and_does_not_lengthen_the_term)
{
    const std::string here = fenced_cluster().node(0).connection_string();
    odbc_connection{here}.execute(
        "create table whole_seconds (name varbinary(190) not null primary key, owner varbinary(190) not null,"
        " token bigint not null, expires_at datetime not null default current_timestamp on update current_timestamp, " +
        handover_columns + ", unique key leasehold_fence (name, token))");
    lh::odbc_options options = mariadb_database::options();
    options.table = "whole_seconds";
    lh::odbc_store store{here, options};
    lh::odbc_store others_store{fenced_cluster().node(1).connection_string(), options};
    application::prepare(here, "whole seconds");
    application app{here, "whole seconds"};
    {
        lh::basic_lease lease{store, "whole seconds", lh::lease_terms{.ttl = 60s}};
        const auto guard = fenced_cluster_scene::answered([&](std::error_code& ec) { return lease.try_acquire(ec); });
        for (int i = 0; i < 20; ++i) {
            BOOST_TEST(lh::odbc::fence(app.handle(), guard));
            app.commit();
        }
        BOOST_REQUIRE(lease.inspect().has_value());
        BOOST_TEST((lease.inspect()->remaining <= 62s));
        BOOST_TEST((lease.inspect()->token == guard.token()));
    }
    lh::basic_lease<lh::odbc_store, lh::manual_clock, lh::random_owner_id, lh::no_renewal> lease{
        store, "whole seconds", lh::lease_terms{.ttl = 1s}, lh::manual_clock{}};
    const auto guard = fenced_cluster_scene::answered([&](std::error_code& ec) { return lease.try_acquire(ec); });
    BOOST_TEST(lh::odbc::fence(app.handle(), guard));
    lh::basic_lease others{others_store, "whole seconds", lh::lease_terms{.ttl = 60s}};
    const auto others_guard =
        fenced_cluster_scene::answered([&](std::error_code& ec) { return others.try_acquire_for(20s, ec); });
    BOOST_TEST(others_guard.token() > guard.token());
    BOOST_CHECK_THROW((app.write(guard.token()), app.commit()), std::runtime_error);
    app.roll_back();
    BOOST_TEST(app.last() == "0");
}

BOOST_AUTO_TEST_SUITE_END()
