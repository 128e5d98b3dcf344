// SPDX-License-Identifier: BSL-1.0
// needs: server, quiet, program, mysql
// MySQL's Group Replication, three real nodes, with clients at different ones. Its nodes don't see each other's locks, and one
// that lags shows what was: whatever is granted, extended or fenced must be certified.
#include <contract/asked_once.hpp>
#include <contract/tenure.hpp>
#include <faults/fail_over_costs.hpp>
#include <faults/fenced_databases.hpp>

#include <leasehold/odbc/fence.hpp>
#include <support/eventually.hpp>
#include <support/group_replication_cluster.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace leasehold_test;
using lh::contract::tenure;

namespace {

std::unique_ptr<group_replication_cluster> the_cluster;

// Its processes must go before the program's statics do.
struct cluster_ends {
    ~cluster_ends() { the_cluster.reset(); }
};
BOOST_TEST_GLOBAL_FIXTURE(cluster_ends);

group_replication_cluster& cluster()
{
    if (!the_cluster) {
        the_cluster = std::make_unique<group_replication_cluster>(primaries::all);
        const std::string connection_string = the_cluster->node(0).connection_string();
        lh::odbc_store{connection_string}.create_schema();
        odbc_connection{connection_string}.execute(application::table);
        // What a node that lags is stuck in: see lagging_node.
        odbc_connection{connection_string}.execute("create table ballast (id integer auto_increment primary key)");
    }
    return *the_cluster;
}

lh::odbc_options options() { return mariadb_database::options(); }

/// While there is one, that node applies nothing of what the others commit, and shows what was; what it writes itself is certified.
class lagging_node {
public:
    explicit lagging_node(std::size_t number) : node_{cluster().node(number)}
    {
        sleeping_ = std::async(std::launch::async, [this] {
            try {
                node_.execute_sql("lock tables ballast read; do sleep(60)");
            } catch (const std::runtime_error&) {
                // It is ended from outside.
            }
        });
        BOOST_REQUIRE(eventually([this] { return !session().empty(); }));
        // Not a row: what comes after a change of a table is not even begun before it.
        cluster().node((number + 1) % group_replication_cluster::size).execute_sql("alter table ballast comment = 'changed'");
    }
    lagging_node(const lagging_node&) = delete;
    lagging_node& operator=(const lagging_node&) = delete;
    ~lagging_node() { node_.execute_sql("kill connection " + session()); }

private:
    std::string session()
    {
        const std::string answer = node_.execute_sql(
            "select id from information_schema.processlist where user = 'root' and info like 'do sleep%'");
        return answer.substr(0, answer.find('\n'));
    }

    group_replication_node& node_;
    std::future<void> sleeping_;
};

std::vector<tenure> contend(lh::odbc_store& store, const std::string& owner, lh::time_point until, std::string& errors)
{
    std::vector<tenure> mine;
    while (now() < until) {
        std::error_code ec;
        const lh::acquire_result result = store.try_acquire("contended", owner, 3s, ec);
        if (ec) errors += ec.message() + " [" + store.diagnostics().sqlstate + ' ' + store.diagnostics().server_message + "]; ";
        if (ec || !result.granted()) continue;
        tenure seen{now(), now(), result.token, owner};
        seen.end = now();
        store.release("contended", owner, result.token, 0ns, ec);
        mine.push_back(seen);
    }
    return mine;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(group_replication)

BOOST_AUTO_TEST_CASE(contenders_at_three_nodes_never_hold_at_once)
{
    std::deque<lh::odbc_store> stores;
    for (std::size_t i = 0; i < group_replication_cluster::size; ++i)
        stores.emplace_back(cluster().node(i).connection_string(), options());
    std::vector<std::vector<tenure>> found(stores.size());
    std::vector<std::string> errors(stores.size());
    std::vector<std::jthread> threads;
    const lh::time_point until = now() + 6s;
    for (std::size_t i = 0; i < stores.size(); ++i)
        threads.emplace_back([&, i] { found[i] = contend(stores[i], "owner-" + std::to_string(i), until, errors[i]); });
    threads.clear();
    std::vector<tenure> all;
    for (std::size_t i = 0; i < stores.size(); ++i) {
        BOOST_TEST_MESSAGE("    " << found[i].size() << " terms");
        BOOST_TEST(!found[i].empty());
        BOOST_TEST(errors[i] == "");
        all.insert(all.end(), found[i].begin(), found[i].end());
    }
    BOOST_TEST(lh::contract::overlaps_in(all) == "");
}

// An attempt or a renewal that would change nothing is still certified: what the node believes to extend may long be over.
BOOST_AUTO_TEST_CASE(node_that_lags_grants_and_extends_nothing_that_is_over)
{
    const std::string here = cluster().node(0).connection_string();
    const std::string there = cluster().node(1).connection_string();
    for (const bool renewing : {false, true}) BOOST_TEST_CONTEXT("renewing " << renewing) {
            const std::string name = renewing ? "renewed in the past" : "granted in the past";
            lh::odbc_store store{here, options()};
            lh::odbc_store stale{there, options()};
            std::error_code ec;
            const auto first = store.try_acquire(name, "a", 60s, ec);
            BOOST_REQUIRE(first.granted());
            BOOST_REQUIRE(eventually([&] { return stale.inspect(name, ec).has_value(); }, 20s));
            const lagging_node lags{1};
            BOOST_TEST(store.release(name, "a", first.token, 0ns, ec));
            const auto second = store.try_acquire(name, "b", 60s, ec);
            BOOST_TEST(second.granted());
            const auto seen = stale.inspect(name, ec);
            BOOST_REQUIRE(seen);
            BOOST_TEST(seen->owner == "a");
            if (renewing)
                BOOST_TEST(!stale.renew(name, "a", first.token, 1s, ec));
            else
                BOOST_TEST(!stale.try_acquire(name, "a", 1s, ec).granted());
            BOOST_TEST(store.inspect(name, ec)->owner == "b");
        }
    BOOST_TEST(cluster().wait_until_whole());
}

/// A holder at the first node, whose clock is stopped, and somebody else at the second.
struct cluster_scene {
    std::string name;
    lh::odbc_store store{cluster().node(0).connection_string(), options()};
    lh::odbc_store others_store{cluster().node(1).connection_string(), options()};
    lh::basic_lease<lh::odbc_store, lh::manual_clock, lh::random_owner_id, lh::no_renewal> lease;
    lh::basic_lease<lh::odbc_store> others{others_store, name, lh::lease_terms{.ttl = 60s}};
    application app;

    explicit cluster_scene(std::string of)
        : name{std::move(of)}, lease{store, name, lh::lease_terms{.ttl = 1s}, lh::manual_clock{}}, app{prepared(), name}
    {
    }
    std::string prepared() const
    {
        application::prepare(cluster().node(0).connection_string(), name);
        return cluster().node(0).connection_string();
    }
    bool has_run_out()
    {
        return eventually([&] { return !lease.inspect(); }, 20s);
    }
};

BOOST_AUTO_TEST_CASE(write_under_a_fence_after_a_take_over_on_another_node_is_refused)
{
    for (int i = 0; i < 3; ++i) {
        cluster_scene s{"overtaken " + std::to_string(i)};
        const auto guard = s.lease.try_acquire();
        BOOST_TEST(lh::odbc::fence(s.app.handle(), guard));
        BOOST_TEST(s.has_run_out());
        // Without it the take-over would arrive, and end the transaction by its locks alone.
        std::optional<lagging_node> lags{std::in_place, 0U};
        BOOST_TEST(token_of(s.others.try_acquire_for(10s)) > guard.token());
        BOOST_CHECK_THROW((s.app.write(guard.token()), s.app.commit()), std::runtime_error);
        lags.reset();
        s.app.roll_back();
        BOOST_TEST(s.app.last() == "0");
        s.app.roll_back();
        BOOST_TEST(eventually([&] {
            std::error_code ec;
            const bool fenced = lh::odbc::fence(s.app.handle(), guard, ec);
            s.app.roll_back();
            return !fenced && !ec;
        }));
    }
}

BOOST_AUTO_TEST_CASE(write_under_a_fence_before_a_take_over_on_another_node_lands)
{
    cluster_scene s{"in time"};
    const auto guard = s.lease.try_acquire();
    BOOST_TEST(lh::odbc::fence(s.app.handle(), guard));
    s.app.write(guard.token());
    s.app.commit();
    BOOST_TEST(s.app.last() == std::to_string(guard.token().value()));
    BOOST_TEST(s.has_run_out());
    BOOST_TEST(token_of(s.others.try_acquire_for(10s)) > guard.token());
}

BOOST_AUTO_TEST_CASE(node_that_dies_or_freezes_costs_the_others_time_and_no_term)
{
    check_fail_over_of(cluster(), 2, false);
    the_cluster.reset();
}

BOOST_AUTO_TEST_CASE(one_primary_dies_and_the_next_goes_on_with_its_tokens)
{
    the_cluster.reset();
    group_replication_cluster with_one_primary{primaries::one};
    BOOST_REQUIRE(eventually([&] { return with_one_primary.primary() < group_replication_cluster::size; }, 20s, 100ms));
    const std::size_t first = with_one_primary.primary();
    lh::odbc_store store{with_one_primary.node(first).connection_string(), options()};
    store.create_schema();
    std::error_code ec;
    const auto held = store.try_acquire("job", "a", 20s, ec);
    BOOST_REQUIRE(held.granted());
    // The others take no writes, and say so.
    lh::odbc_store replica{with_one_primary.node((first + 1) % group_replication_cluster::size).connection_string(), options()};
    BOOST_TEST(eventually([&] { return replica.inspect("job", ec).has_value(); }, 20s));
    BOOST_TEST(!replica.try_acquire("another job", "b", 1s, ec).granted());
    BOOST_TEST(ec == lh::errc::store_failure, ec.message());

    const lh::time_point killed = now();
    with_one_primary.node(first).kill();
    BOOST_REQUIRE(eventually(
        [&] {
            const std::size_t now_primary = with_one_primary.primary();
            return now_primary < group_replication_cluster::size && now_primary != first;
        },
        40s, 100ms));
    lh::odbc_store next{with_one_primary.node(with_one_primary.primary()).connection_string(), options()};
    BOOST_TEST(next.renew("job", "a", held.token, 3s, ec), ec.message());
    BOOST_TEST_MESSAGE("  one primary, killed: no renewal for " << (now() - killed) / 1ms << " ms");
    lh::acquire_result taken{};
    BOOST_TEST(eventually([&] { return (taken = next.try_acquire("job", "b", 60s, ec)).granted(); }, 40s, 100ms));
    BOOST_TEST(taken.token > held.token);
}

BOOST_AUTO_TEST_SUITE_END()
