// SPDX-License-Identifier: BSL-1.0
// needs: server
// Leadership on real servers that die and come back.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <system_error>
#include <thread>

BOOST_AUTO_TEST_SUITE(leader)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;
using servers = boost::mpl::list<postgresql_server, mariadb_server>;

namespace {

struct candidate {
    std::atomic<int> elected{0};
    std::atomic<int> stepped_down{0};
    std::atomic<int> errors{0};
    std::atomic<bool> renewal_fails{false};
    std::atomic<std::int64_t> token{0};
    std::atomic<std::int64_t> observed{0};
    lh::odbc_store store;
    lh::basic_lease<lh::odbc_store> lease{store, "leader", lh::lease_terms{.ttl = 12s}};
    lh::leader_election<lh::basic_lease<lh::odbc_store>> election{
        lease,
        {.on_elected =
             [this](lh::fencing_token with) {
                 token = with.value();
                 ++elected;
             },
         .on_stepped_down = [this](lh::step_down_reason) { ++stepped_down; },
         .on_leader_observed = [this](const lh::lease_record& leader) { observed = leader.token.value(); },
         .on_error = [this](std::error_code) { ++errors; }}};
    std::jthread runs{};

    explicit candidate(const std::string& connection_string) : store{connection_string, lh::odbc_options{.call_timeout = 2s}} {}

    void campaign()
    {
        runs = std::jthread{[this](const std::stop_token& stop) {
            election.run(stop, [this](auto& term) {
                while (term.held()) {
                    renewal_fails = static_cast<bool>(term.guard().renewal_error());
                    std::this_thread::sleep_for(5ms);
                }
            });
        }};
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(an_outage_of_the_server_shorter_than_the_ttl_costs_no_leadership, Server, servers)
{
    Server server;
    candidate leader{server.connection_string()}, follower{server.connection_string()};
    leader.store.create_schema();
    leader.campaign();
    BOOST_REQUIRE(eventually([&] { return leader.elected == 1; }));
    follower.campaign();
    BOOST_REQUIRE(eventually([&] { return follower.observed == leader.token; }));
    server.stop();
    // A renewal comes at a third of the ttl.
    BOOST_REQUIRE(eventually([&] { return leader.renewal_fails.load(); }, 15s));
    server.start();
    BOOST_REQUIRE(eventually([&] { return !leader.renewal_fails; }, 15s));
    BOOST_TEST(leader.election.is_leader());
    BOOST_TEST(!follower.election.is_leader());
    BOOST_TEST(leader.stepped_down == 0);

    leader.runs.request_stop();
    BOOST_TEST(eventually([&] { return follower.election.is_leader(); }, 15s));
    BOOST_TEST(follower.token > leader.token);
}

BOOST_AUTO_TEST_SUITE_END()
