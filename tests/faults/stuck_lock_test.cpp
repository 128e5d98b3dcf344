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

BOOST_AUTO_TEST_SUITE(stuck_lock)

BOOST_AUTO_TEST_CASE(a_lock_that_is_stuck_costs_the_hand_overs_less_each_time)
{
    constexpr int turns = 40;
    postgresql_server server;
    lh::odbc_store thief{server.connection_string()}, one{server.connection_string()}, two{server.connection_string()};
    thief.create_schema();
    std::error_code ec;
    // Its term is forced to end, which it never learns: so it keeps the lock.
    BOOST_REQUIRE(thief.try_acquire("n", "thief", 1h, ec).granted());
    BOOST_TEST(advisory_locks(server) == "1");
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
    // The longest patience for each turn would be 20 s.
    BOOST_TEST((std::chrono::steady_clock::now() - begun < 10s));
}

BOOST_AUTO_TEST_CASE(a_store_whose_locks_do_not_stay_with_its_sessions_gives_them_up)
{
    postgresql_server server;
    lh::odbc_store store{server.connection_string()};
    store.create_schema();
    lh::basic_lease lease{store, "n", terms};
    auto guard = lease.try_acquire();
    BOOST_REQUIRE(guard.held());
    BOOST_TEST(advisory_locks(server) == "1");
    // What the release meets is what it would meet behind a pooler that has given its session another connection.
    server.execute_sql("create function lose_locks() returns trigger language plpgsql as"
                       " $$begin perform pg_advisory_unlock_all(); return new; end$$");
    server.execute_sql("create trigger lose_locks before update on leasehold for each row execute function lose_locks()");
    BOOST_TEST(guard.release() == lh::release_outcome::released);
    server.execute_sql("drop trigger lose_locks on leasehold");
    guard = lease.try_acquire();
    BOOST_TEST(guard.held());
    BOOST_TEST(advisory_locks(server) == "0");
    lh::odbc_store other{server.connection_string()};
    lh::basic_lease waiter{other, "n", terms};
    std::jthread waiting{[&] { static_cast<void>(waiter.acquire()); }};
    BOOST_TEST(guard.release() == lh::release_outcome::released);
}

BOOST_AUTO_TEST_SUITE_END()
