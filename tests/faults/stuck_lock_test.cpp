// SPDX-License-Identifier: BSL-1.0
// needs: server
// A session lock that somebody has and makes no use of: a frozen process, or a connection of a pooler in transaction mode.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(stuck_lock)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr lh::lease_terms terms{.ttl = 60s};

std::string advisory_locks(postgresql_server& server)
{
    std::string answer = server.execute_sql("select count(*) from pg_locks where locktype = 'advisory' and granted");
    while (!answer.empty() && answer.back() == '\n') answer.pop_back();
    return answer;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_lock_that_is_stuck_costs_each_hand_over_a_short_delay)
{
    constexpr int turns = 40;
    postgresql_server server;
    lh::odbc_store thief{server.connection_string()}, one{server.connection_string()}, two{server.connection_string()};
    thief.create_schema();
    std::error_code ec;
    // Its term is forced to end, which it never learns: so it keeps the lock.
    BOOST_REQUIRE(thief.try_acquire("n", "thief", 1h, ec).granted());
    BOOST_TEST(eventually([&] { return advisory_locks(server) == "1"; }));
    BOOST_TEST(one.force_release("n"));
    std::atomic<int> inside = 0, overlaps = 0;
    const auto take_turns = [&](lh::odbc_store& store) {
        lh::basic_lease lease{store, "n", terms};
        for (int i = 0; i < turns; ++i) {
            const auto guard = lease.acquire();
            if (++inside != 1) ++overlaps;
            std::this_thread::sleep_for(1ms);
            --inside;
        }
    };
    const auto begun = std::chrono::steady_clock::now();
    {
        const std::jthread beside{[&] { take_turns(one); }};
        take_turns(two);
    }
    BOOST_TEST(overlaps == 0);
    BOOST_TEST(advisory_locks(server) == "1");
    // Each of the 80 turns costs the other one a look, a delay and another look.
    BOOST_TEST((std::chrono::steady_clock::now() - begun < 60s));
}

BOOST_AUTO_TEST_CASE(a_store_whose_locks_do_not_stay_with_its_sessions_gives_them_up)
{
    postgresql_server server;
    // What a store meets behind a pooler that gives each of its statements another session: a lock, and then none to be given back.
    server.execute_sql("create schema pooled");
    server.execute_sql("grant all on schema pooled to public");
    server.execute_sql("create function pooled.pg_try_advisory_lock(bigint) returns boolean language sql as 'select true'");
    lh::odbc_store store{server.connection_string(), lh::odbc_options{.on_connect = {"set search_path = pooled, pg_catalog, public"}}};
    store.create_schema();
    lh::basic_lease lease{store, "n", terms};
    auto guard = lease.try_acquire();
    BOOST_REQUIRE(guard.held());
    lh::waker to_wake;
    std::error_code ec;
    const auto is_queued = [&] {
        auto ticket = store.enqueue("other", to_wake);
        return store.try_acquire(ticket, "o", 1s, ec).retry_after > 0s;
    };
    BOOST_TEST(is_queued());
    std::this_thread::sleep_for(20 * 5ms);  // until the term has its lock, as the store believes
    BOOST_TEST(guard.release() == lh::release_outcome::released);
    BOOST_TEST(eventually([&] { return !is_queued(); }));
}

BOOST_AUTO_TEST_SUITE_END()
