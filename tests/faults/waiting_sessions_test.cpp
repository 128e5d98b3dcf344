// SPDX-License-Identifier: BSL-1.0
// needs: server, quiet
// The sessions and session locks behind a wait, on real servers: lost, given away, bounded, and never left behind.
#include <contract/asked_once.hpp>
#include <contract/odbc_connection.hpp>
#include <faults/waiting_scene.hpp>

#include <leasehold/odbc/detail/session/pool.hpp>
#include <leasehold/odbc/detail/session/session.hpp>
#include <leasehold/odbc/detail/session/steps.hpp>
#include <support/printing.hpp>
#include <support/tcp_gate.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <latch>
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

BOOST_AUTO_TEST_SUITE(waiting_sessions)

using namespace leasehold_test;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_waiter_whose_session_is_ended_goes_on_waiting, Server, servers)
{
    waiting_scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease waiter{s.stores[1], "n", terms};
    auto guard = holder.try_acquire();
    std::chrono::steady_clock::time_point got;
    std::jthread waiting{[&] {
        const auto next = waiter.acquire();
        got = steady_now();
    }};
    BOOST_REQUIRE(s.are_in_line(1));
    s.end_session_of_waiter();
    BOOST_REQUIRE(s.are_in_line(1));  // again
    s.end_session_of_waiter();
    const auto released = steady_now();
    guard.release();
    waiting.join();
    BOOST_TEST((got - released < 2s));
    BOOST_TEST(s.nothing_is_left(0));
    BOOST_TEST(s.stores[1].health().wakes);
}

// The rights of a line are asked for on other sessions, so nothing else is sent on the one at the head.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_waiter_at_the_head_of_a_line_whose_session_is_ended_queues_again, Server, servers)
{
    waiting_scene<Server> s;
    std::array<lh::waker, 2> to_wake;
    std::error_code ec;
    auto first = s.stores[0].enqueue("n", to_wake[0]);
    auto second = s.stores[1].enqueue("n", to_wake[1]);
    // Without a session it is the first to try, too, but need not try again at a certain time.
    const auto is_at_head = [&](std::size_t i, auto& ticket) {
        const lh::turn_answer turn = s.stores[i].turn(ticket, ec);
        return turn.status == lh::turn_status::first && turn.retry_after > 0s;
    };
    BOOST_REQUIRE(eventually([&] { return is_at_head(0, first); }));
    BOOST_TEST((s.stores[1].turn(second, ec).status == lh::turn_status::behind));
    BOOST_REQUIRE(s.are_in_line(1));
    s.end_session_of_holder();
    BOOST_REQUIRE(eventually([&] { return is_at_head(1, second); }));
    BOOST_TEST(eventually([&] { return s.stores[0].turn(first, ec).status == lh::turn_status::behind; }, 10s));
    BOOST_TEST(!ec);
    BOOST_TEST(is_at_head(1, second), "it has been asked, too");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_connection_at_the_head_of_a_line_that_was_forgotten_costs_the_place_and_is_no_outage, Server, servers)
{
    waiting_scene<Server> s;
    tcp_gate gate{s.server.port()};
    lh::odbc_store store{through_gate(gate, s.server), lh::odbc_options{.call_timeout = 1s, .session_locks = true}};
    lh::waker to_wake;
    std::error_code ec;
    auto ticket = store.enqueue("n", to_wake);
    BOOST_REQUIRE(eventually([&] {
        const lh::turn_answer turn = store.turn(ticket, ec);
        return turn.status == lh::turn_status::first && turn.retry_after > 0s;
    }));
    gate.forget();
    BOOST_TEST(eventually([&] {
        static_cast<void>(store.turn(ticket, ec));
        return ec || store.abandoned_calls() == 1U;
    }, 20s));
    BOOST_TEST(!ec);
    gate.cut();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_that_is_cancelled_on_the_server_is_no_refusal_of_locks, Server, servers)
{
    waiting_scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms}, waiter{s.stores[1], "n", terms};
    const auto guard = holder.try_acquire();
    std::stop_source stop;
    std::jthread waiting{[&] {
        std::error_code ec;
        static_cast<void>(waiter.acquire(stop.get_token(), ec));
    }};
    BOOST_REQUIRE(s.are_in_line(1));
    stop.request_stop();
    waiting.join();
    BOOST_TEST(s.nothing_is_left(1));
    BOOST_TEST(s.stores[1].health().wakes);
}

// Behind a proxy, or after a fail-over, the number may be that of another session on another server.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_waiter_that_leaves_ends_a_wait_for_a_lock_and_no_other_statement, Server, servers)
{
    namespace od = lh::odbc::detail;
    constexpr bool postgresql = std::is_same_v<Server, postgresql_server>;
    waiting_scene<Server> s;
    odbc_connection others{s.server.connection_string()}, holder{s.server.connection_string()};
    const std::string number = others.execute(postgresql ? "select pg_backend_pid()" : "select connection_id()");
    od::session leaver{std::make_shared<const od::configuration>(s.server.connection_string(), lh::odbc_options{.session_locks = true},
                                                                 &lh::dialect::detected::describe)};
    const auto run = [&](const od::job& wanted) {
        leaver.prepare({}, wanted, steady_now() + 10s);
        leaver.perform();
        BOOST_TEST((leaver.failed().kind == od::fault::none));
    };
    run(od::connect_job());
    std::string answer;
    const auto execute = [&](const char* sql) {
        try {
            answer = others.execute(sql);
        } catch (const std::exception& e) {
            answer = e.what();
        }
    };
    {
        std::jthread sleeping{execute, postgresql ? "select 0 from pg_sleep(3)" : "select sleep(3)"};
        const std::string asleep = postgresql ? "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and pid = "
                                              : "select count(*) from information_schema.processlist where state = 'User sleep' and id = ";
        BOOST_REQUIRE(eventually([&] { return s.ask(asleep + number) == "1"; }));
        run(od::end_wait_job(std::stoll(number)));
    }
    BOOST_TEST(answer == "0");
    static_cast<void>(holder.execute(postgresql ? "select pg_advisory_lock(1)" : "select get_lock('x', 0)"));
    std::jthread waiting{execute, postgresql ? "select pg_advisory_lock(1)" : "select get_lock('x', 600)"};
    BOOST_REQUIRE(s.are_in_line(1));
    run(od::end_wait_job(std::stoll(number)));
    BOOST_TEST(s.are_in_line(0));
    if (s.in_line() != 0) s.end_session(number);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_holder_whose_session_is_ended_still_releases, Server, servers)
{
    waiting_scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease waiter{s.stores[1], "n", terms};
    auto guard = holder.try_acquire();
    std::chrono::steady_clock::time_point got;
    std::jthread waiting{[&] {
        const auto next = waiter.acquire();
        got = steady_now();
    }};
    BOOST_REQUIRE(s.are_in_line(1));
    s.end_session_of_holder();
    BOOST_REQUIRE(s.are_in_line(0));
    BOOST_TEST(guard.renew());
    const auto released = steady_now();
    BOOST_TEST(guard.release() == lh::release_outcome::released);
    waiting.join();
    BOOST_TEST((got - released < 2s));
    BOOST_TEST(s.nothing_is_left(0));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_process_has_no_more_than_so_many_locks, Server, servers)
{
    waiting_scene<Server> s;
    const std::size_t most_locks = lh::odbc_options{}.max_session_locks;
    std::deque<lh::basic_lease<lh::odbc_store, lh::steady_clock, lh::random_owner_id, lh::no_renewal>> leases;
    std::deque<typename decltype(leases)::value_type::guard_type> guards;
    for (std::size_t i = 0; i < most_locks + 20; ++i) {
        auto& lease = leases.emplace_back(s.stores[0], "n" + std::to_string(i), terms, lh::steady_clock{},
                                          lh::random_owner_id{}, lh::no_renewal{});
        BOOST_REQUIRE(guards.emplace_back(lease.try_acquire()).held());
    }
    BOOST_TEST(eventually([&] { return s.locks() == static_cast<int>(most_locks); }));
    // Held without a lock: the waiter gets the lock, and polls.
    lh::basic_lease waiter{s.stores[1], leases.back().name(), terms};
    std::jthread waiting{[&] { const auto next = waiter.acquire(); }};
    BOOST_REQUIRE(eventually([&] { return s.locks() > static_cast<int>(most_locks); }));
    guards.clear();
    waiting.join();
    BOOST_TEST(s.nothing_is_left(0));
}

// A hold ends by its time, or by whoever calls unhold(): the store that made it might never learn of that, and keep the lock.
// Nothing is sent on a connection that waits, so this side's system never notices that it is dead.
BOOST_AUTO_TEST_CASE_TEMPLATE(waits_on_connections_that_were_forgotten_make_room_for_others, Server, servers)
{
    waiting_scene<Server> s;
    tcp_gate gate{s.server.port()};
    lh::odbc_store store{through_gate(gate, s.server), lh::odbc_options{.call_timeout = 1s, .session_locks = true}};
    lh::odbc_store holder{s.server.connection_string(), lh::odbc_options{.session_locks = true, .max_session_locks = 64}};
    std::error_code ec;
    std::stop_source stop;
    {
        std::vector<std::jthread> waiting;
        const std::shared_ptr<void> ends_waiting{nullptr, [&stop](void*) { stop.request_stop(); }};  // also where a check fails
        for (std::size_t i = 0; i < lh::odbc::detail::max_waiting_sessions; ++i) {
            const std::string name = std::to_string(i);
            BOOST_REQUIRE(holder.try_acquire(name, "we", 1h, ec).granted());
            waiting.emplace_back([&, name] {
                lh::basic_lease waiter{store, name, terms};
                std::error_code failed;  // a machine that is busy may not connect so many in time
                while (!stop.stop_requested()) static_cast<void>(waiter.acquire(stop.get_token(), failed));
            });
        }
        BOOST_REQUIRE(eventually([&] { return s.in_line() == static_cast<int>(lh::odbc::detail::max_waiting_sessions); }, 30s));
        gate.forget();
    }
    BOOST_REQUIRE(eventually([&] { return s.in_line() == 0; }, 30s));
    BOOST_REQUIRE(holder.try_acquire("last", "we", 1h, ec).granted());
    std::stop_source stop_last;
    const std::jthread last{[&] {
        lh::basic_lease waiter{store, "last", terms};
        std::error_code failed;
        while (!stop_last.stop_requested()) static_cast<void>(waiter.acquire(stop_last.get_token(), failed));
    }};
    BOOST_TEST(eventually([&] { return s.in_line() == 1; }, 30s));
    stop_last.request_stop();
    gate.cut();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_whose_connection_is_forgotten_before_it_is_set_up_begins_again, Server, servers)
{
    constexpr bool postgresql = std::is_same_v<Server, postgresql_server>;
    waiting_scene<Server> s;
    tcp_gate gate{s.server.port()};
    lh::odbc_store store{through_gate(gate, s.server),
                         lh::odbc_options{.call_timeout = 3s,
                                          .session_locks = true,
                                          .on_connect = {postgresql ? "do 'begin perform pg_sleep(1); end'" : "do sleep(1)"}}};
    static_cast<void>(store.list());  // the next connection is for the wait
    lh::waker to_wake;
    std::error_code ec;
    auto ticket = store.enqueue("n", to_wake);
    BOOST_TEST((store.turn(ticket, ec).status == lh::turn_status::behind));
    const std::string being_set_up = postgresql ? "select count(*) from pg_stat_activity where wait_event = 'PgSleep'"
                                                : "select count(*) from information_schema.processlist where state = 'User sleep'";
    BOOST_REQUIRE(eventually([&] { return s.number(being_set_up) == 1; }));
    gate.forget();
    BOOST_TEST(eventually([&] { return store.turn(ticket, ec).status == lh::turn_status::first; }, 30s));
    BOOST_TEST(!ec);
    gate.cut();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_hold_keeps_neither_a_lock_nor_a_session, Server, servers)
{
    waiting_scene<Server> s;
    lh::odbc_store& store = s.stores[0];
    for (const char* name : {"a", "b", "c"}) store.hold(name, 1h, "closed");
    BOOST_TEST(store.health().session_locks == 0u);
    lh::basic_lease holder{s.stores[1], "waited for", terms};
    auto guard = holder.try_acquire();
    std::jthread closing{[&] { store.hold("waited for", 1h, "closed"); }};
    BOOST_REQUIRE(s.are_in_line(1));
    guard.release();
    closing.join();
    BOOST_TEST(s.nothing_is_left(0));
    // The next one has the lock as soon as the hold has begun, and finds that it is over.
    lh::basic_lease waiter{s.stores[1], "waited for", terms};
    std::jthread waiting{[&] { const auto next = waiter.acquire(); }};
    BOOST_REQUIRE(eventually([&] { return s.locks() == 1; }));
    BOOST_TEST(store.unhold("waited for"));
    waiting.join();
    BOOST_TEST(store.health().session_locks == 0u);
    BOOST_TEST(s.nothing_is_left(0));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wake_for_no_reason_does_no_harm, Server, servers)
{
    waiting_scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    auto guard = holder.try_acquire();
    lh::waker to_wake;
    std::error_code ec;
    BOOST_REQUIRE(eventually([&] { return s.locks() == 1; }));
    {
        auto ticket = s.stores[1].enqueue("n", to_wake);
        const auto attempt = [&] { return s.stores[1].try_acquire(ticket, "waiter", 1min, ec); };
        BOOST_TEST(!attempt().granted());
        BOOST_TEST(!attempt().granted());
        BOOST_REQUIRE(s.are_in_line(1));
        for (int i = 0; i < 20; ++i) {
            const auto answer = attempt();
            BOOST_TEST((!ec && !answer.granted() && answer.token == guard.token()));
            BOOST_TEST((answer.retry_after >= 250ms));  // it relies on being woken, for as long as it has waited
        }
        BOOST_TEST(guard.renew());
        // Somebody gives the lock away although the name is held: the waiter is first in the queue, and polls.
        s.end_session_of_holder();
        BOOST_REQUIRE(to_wake.wait_for(10s));
        BOOST_TEST(!attempt().granted());  // leaves the lock to the holder for a moment
        BOOST_REQUIRE(eventually([&] {
            const auto answer = attempt();
            return !answer.granted() && s.locks() == 1 && s.in_line() == 0;
        }));
        BOOST_TEST((attempt().retry_after <= 500ms));
        BOOST_TEST(!ec);
    }
    BOOST_TEST(s.nothing_is_left(0));
    BOOST_TEST(guard.renew());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(all_threads_of_a_process_that_wait_for_a_name_are_one_session, Server, servers)
{
    waiting_scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease shared{s.stores[1], "n", terms};
    auto guard = holder.try_acquire();
    std::atomic<int> granted = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 1000; ++i)
        threads.emplace_back([&] {
            if (is_held(shared.acquire())) ++granted;
        });
    BOOST_REQUIRE(eventually([] { return lh::waiting::own_queue::threads_waiting() == 1000; }));
    BOOST_REQUIRE(s.are_in_line(1));
    BOOST_TEST(s.sessions() <= 3);  // the holder's, the one of the waiters' for calls, the one in the queue
    guard.release();
    threads.clear();
    BOOST_TEST(granted == 1000);
    BOOST_TEST(s.nothing_is_left(0));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_table_can_be_altered_while_somebody_waits, Server, servers)
{
    waiting_scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease waiter{s.stores[1], "n", terms};
    auto guard = holder.try_acquire();
    std::chrono::steady_clock::time_point got;
    std::jthread waiting{[&] {
        const auto next = waiter.acquire();
        got = steady_now();
    }};
    BOOST_REQUIRE(s.are_in_line(1));
    std::atomic<bool> altered = false;
    std::jthread altering{[&] {
        s.ask("alter table leasehold add column note varchar(10)");
        altered = true;
    }};
    BOOST_TEST(eventually([&] { return altered.load(); }));
    if (!altered) s.end_session_of_waiter();  // so that this ends
    BOOST_TEST(guard.renew());
    const auto released = steady_now();
    guard.release();
    waiting.join();
    BOOST_TEST((got - released < at_once));
    BOOST_TEST(s.nothing_is_left(0));
}

// Its next call makes a new connection, which has no lock.
BOOST_AUTO_TEST_CASE_TEMPLATE(lock_goes_with_its_session_and_the_store_forgets_it, Server, servers)
{
    waiting_scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease other{s.stores[0], "other", terms};
    auto guard = holder.try_acquire();
    BOOST_REQUIRE(eventually([&] { return s.locks() == 1; }));
    s.end_session_of_holder();
    BOOST_REQUIRE(s.nothing_is_left(0));
    BOOST_TEST(guard.renew());
    BOOST_TEST(s.stores[0].health().session_locks == 0U);
    auto another = other.try_acquire();
    BOOST_REQUIRE(eventually([&] { return s.locks() == 1; }));
    BOOST_TEST(s.stores[0].health().session_locks == 1U);
    BOOST_TEST(s.stores[0].sessions() == 1U);
    BOOST_TEST(guard.release() == lh::release_outcome::released);
    BOOST_TEST(throughout([&] { return s.locks() == 1; }, 100ms));
    another.release();
    BOOST_TEST(s.nothing_is_left(0));
}

// Before the lock is to be taken, while it is, and after that.
BOOST_AUTO_TEST_CASE_TEMPLATE(store_that_is_destroyed_while_a_lock_is_to_be_taken_leaves_none, Server, servers)
{
    waiting_scene<Server> s{1};
    for (int i = 0; i < 60; ++i) {
        lh::odbc_store store{s.server.connection_string(), lh::odbc_options{.session_locks = true}};
        std::error_code ec;
        BOOST_REQUIRE(store.try_acquire("n" + std::to_string(i), "we", 60s, ec).granted());
        std::this_thread::sleep_for(i * 200us);
    }
    BOOST_TEST(s.nothing_is_left(0));
    BOOST_TEST(eventually([&] { return s.sessions() <= 1; }));
}

// The lock goes with the connection, when the driver comes back.
BOOST_AUTO_TEST_CASE_TEMPLATE(session_that_hangs_in_a_call_loses_its_locks, Server, servers)
{
    waiting_scene<Server> s;
    tcp_gate gate{s.server.port()};
    lh::odbc_store store{through_gate(gate, s.server), lh::odbc_options{.call_timeout = 2s, .session_locks = true}};
    std::error_code ec;
    const auto granted = store.try_acquire("n", "we", 60s, ec);
    BOOST_REQUIRE(granted.granted());
    BOOST_REQUIRE(eventually([&] { return s.locks() == 1; }));
    gate.stall();
    BOOST_TEST(!store.renew("n", "we", granted.token, 60s, ec));
    BOOST_TEST(ec == lh::errc::store_timeout);
    gate.pass();
    BOOST_TEST(s.nothing_is_left(0));
    BOOST_TEST(eventually([&] { return store.hanging_calls() == 0; }));
    BOOST_TEST(store.renew("n", "we", granted.token, 60s, ec));
    BOOST_TEST(store.health().session_locks == 0U);
    BOOST_TEST(store.release("n", "we", granted.token, 0s, ec));
    // Or it hangs while it takes the lock, and is in nobody's way.
    BOOST_REQUIRE(store.try_acquire("m", "we", 60s, ec).granted());
    gate.stall();
    std::this_thread::sleep_for(50ms);
    gate.pass();
    BOOST_TEST(eventually([&] { return s.locks() == 1; }));
}

// Chores are in no call's way for longer than a statement.
BOOST_AUTO_TEST_CASE_TEMPLATE(sessions_with_locks_are_used_for_calls, Server, servers)
{
    waiting_scene<Server> s;
    lh::odbc_store store{s.server.connection_string(), lh::odbc_options{.pool_size = 1, .session_locks = true}};
    std::error_code ec;
    std::vector<std::int64_t> tokens;
    for (int i = 0; i < 8; ++i) tokens.push_back(store.try_acquire("n" + std::to_string(i), "we", 60s, ec).token.value());
    BOOST_REQUIRE(eventually([&] { return s.locks() == 8; }));
    for (int i = 0; i < 100; ++i) BOOST_TEST(store.renew("n0", "we", lh::fencing_token{tokens[0]}, 60s, ec));
    for (std::size_t i = 0; i < 8; ++i) {
        BOOST_TEST(store.release("n" + std::to_string(i), "we", lh::fencing_token{tokens[i]}, 0s, ec));
        BOOST_TEST(!store.inspect("n" + std::to_string(i), ec).has_value());
    }
    BOOST_TEST(s.nothing_is_left(0));
    BOOST_TEST(store.sessions() == 1U);
}

// A lock may be counted, and given back by another session than it was taken by, in a dozen ways: none must be left.
BOOST_AUTO_TEST_CASE_TEMPLATE(no_lock_outlives_its_term, Server, servers)
{
    waiting_scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease other{s.stores[0], "n", terms};
    for (int i = 0; i < 5; ++i) {
        auto guard = holder.try_acquire();
        BOOST_TEST(!is_held(other.try_acquire()));
        BOOST_TEST(guard.renew());
        std::error_code ec;
        const auto again = s.stores[0].try_acquire("n", holder.owner(), 1min, ec);  // the lock goes with the new term
        BOOST_TEST(again.granted());
        BOOST_TEST(guard.release() == lh::release_outcome::lost);
        BOOST_TEST(eventually([&] { return s.locks() == 1; }));
        BOOST_TEST(s.stores[0].release("n", holder.owner(), again.token, {}, ec));
    }
    BOOST_TEST(s.nothing_is_left(0));
    lh::basic_lease elsewhere{s.stores[1], "n", terms};
    for (int i = 0; i < 3; ++i) {
        auto guard = holder.acquire();
        BOOST_TEST(s.locks() == 1);
        guard.release();
        BOOST_TEST(s.nothing_is_left(0));
        if (i == 1) elsewhere.acquire().release();  // what `holder` remembers is no longer so
        BOOST_TEST(s.nothing_is_left(0));
    }
    {
        auto lost = holder.try_acquire();
        BOOST_TEST(s.stores[1].force_release("n"));
        BOOST_TEST(lost.release() == lh::release_outcome::lost);
        BOOST_TEST(s.nothing_is_left(0));
    }
    {
        std::error_code ec;
        BOOST_REQUIRE(s.stores[0].try_acquire("n", "left to expire", 20ms, ec).granted());
        BOOST_REQUIRE(eventually([&] { return s.stores[1].try_acquire("n", "next", 20ms, ec).granted(); }));
        BOOST_REQUIRE(eventually([&] { return s.stores[0].try_acquire("n", "last", 1min, ec).granted(); }));
        const auto held = s.stores[0].inspect("n", ec);
        BOOST_REQUIRE((held && held->owner == "last"));
        BOOST_TEST(!s.stores[1].try_acquire("n", "next", 20ms, ec).granted());  // learns that its term is over
        BOOST_TEST(s.stores[0].release("n", "last", held->token, 0s, ec));
        BOOST_TEST(s.nothing_is_left(0));
    }
    {
        lh::basic_lease once{s.stores[0], "n", lh::lease_terms{.ttl = 5s, .min_hold = 1s}};
        auto guard = once.try_acquire();
        guard.release();
        BOOST_TEST(s.nothing_is_left(0));
    }
}

// Else it would wait for a lock that its own process has, which no reader gives back.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_writer_that_waits_for_a_reader_has_no_lock_but_that_of_its_gate, Server, servers)
{
    waiting_scene<Server> s;
    lh::odbc_store without_locks{s.server.connection_string(), lh::odbc_options{.session_locks = false}};
    lh::shared_lease reads{without_locks, "n", terms};
    lh::shared_lease writes{s.stores[0], "n", terms};
    auto reader = reads.try_acquire_shared();
    const auto locks = [&] { return s.stores[0].health().session_locks; };
    std::jthread waiting{[&] {
        const auto writer = writes.acquire();
        BOOST_TEST(writer.held());
        BOOST_TEST(throughout([&] { return locks() <= 1; }, 100ms));
    }};
    BOOST_TEST(eventually([&] { return locks() == 1; }));
    BOOST_TEST(throughout([&] { return locks() == 1; }, 300ms));
    reader.release();
    waiting.join();
    BOOST_TEST(s.nothing_is_left(0));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(first_grants_of_a_name_at_the_same_instant_leave_no_lock_without_a_term, Server, servers)
{
    waiting_scene<Server> s;
    std::error_code ec;
    for (auto& store : s.stores) static_cast<void>(store.inspect("n", ec));  // connects
    for (int i = 0; i < 1000; ++i) {
        const std::string name = "n" + std::to_string(i);
        std::array<lh::acquire_result, 2> answers{};
        {
            std::latch start{2};
            std::vector<std::jthread> threads;
            for (std::size_t each = 0; each < 2; ++each)
                threads.emplace_back([&, each] {
                    std::error_code failed;
                    start.arrive_and_wait();
                    answers[each] = s.stores[each].try_acquire(name, "owner " + std::to_string(each), 1min, failed);
                });
        }
        for (std::size_t each = 0; each < 2; ++each)
            if (answers[each].granted()) s.stores[each].release(name, "owner " + std::to_string(each), answers[each].token, {}, ec);
    }
    BOOST_TEST(s.nothing_is_left(0));
}

// The memory for locks is the whole server's, for tables and new connections too.
// Not all releases have these.
BOOST_AUTO_TEST_CASE(no_time_out_of_the_server_ends_a_session_with_a_lock_or_a_wait)
{
    waiting_scene<postgresql_server> s;
    s.server.execute_sql("do $$ declare each text; begin for each in select name from pg_settings where name in ('idle_session_timeout',"
                         " 'transaction_timeout') loop execute format('alter role leasehold set %I = %L', each, '1s'); end loop; end $$");
    lh::odbc_store holds{s.server.connection_string()}, waits{s.server.connection_string()};
    lh::basic_lease holder{holds, "n", terms}, waiter{waits, "n", terms};
    auto guard = holder.acquire();
    BOOST_REQUIRE(eventually([&] { return s.locks() == 1; }));
    std::jthread waiting{[&] { static_cast<void>(waiter.acquire()); }};
    BOOST_REQUIRE(s.are_in_line(1));
    const std::string holding = s.ask(s.view.holder), in_line = s.ask(s.view.waiter);
    BOOST_TEST(throughout([&] { return s.ask(s.view.holder) == holding && s.ask(s.view.waiter) == in_line; }, 3s));
    guard.release();
}

BOOST_AUTO_TEST_CASE(many_stores_leave_room_for_the_locks_of_others)
{
    const postgresql_server server{{"-c", "max_locks_per_transaction=10"}};
    std::deque<lh::odbc_store> stores;
    for (int i = 0; i < 60; ++i) stores.emplace_back(server.connection_string(), lh::odbc_options{.pool_size = 1});
    stores.front().create_schema();
    std::error_code ec;
    for (std::size_t i = 0; i < stores.size(); ++i)
        for (int n = 0; n < 40; ++n) {
            BOOST_REQUIRE(stores[i].try_acquire(std::to_string(i) + '-' + std::to_string(n), "a", 1h, ec).granted());
            BOOST_REQUIRE(!ec);
        }
    odbc_connection other{server.connection_string()};
    BOOST_CHECK_NO_THROW(other.execute("create table of_somebody_else (n int primary key)"));
}

BOOST_AUTO_TEST_CASE(store_gives_its_locks_back_where_the_server_has_no_room_for_more)
{
    const postgresql_server server{{"-c", "max_locks_per_transaction=10"}};
    std::deque<lh::odbc_store> stores;
    for (int i = 0; i < 8; ++i)
        stores.emplace_back(server.connection_string(), lh::odbc_options{.pool_size = 1, .max_session_locks = 256});
    stores.front().create_schema();
    std::error_code ec;
    for (std::size_t i = 0; i < stores.size(); ++i)
        for (int n = 0; n < 256; ++n) {
            BOOST_REQUIRE(stores[i].try_acquire(std::to_string(i) + '-' + std::to_string(n), "a", 1h, ec).granted());
            BOOST_REQUIRE_MESSAGE(!ec, ec.message());
        }
    odbc_connection other{server.connection_string()};
    // Some have all of theirs; the others gave theirs back.
    BOOST_TEST(eventually([&] {
        const int locks = std::stoi(other.execute("select count(*) from pg_locks where locktype = 'advisory'"));
        return locks > 0 && locks % 256 == 0;
    }));
    BOOST_TEST(stores.back().try_acquire("7-0", "b", 1h, ec).token.value() == 1);
    BOOST_CHECK_NO_THROW(other.execute("create table of_somebody_else (n int primary key)"));
}

// The session may be used for calls: the server ends what these have stopped waiting for.
BOOST_AUTO_TEST_CASE(wait_that_ends_since_locks_are_no_longer_used_leaves_the_session_its_time_outs)
{
    namespace od = lh::odbc::detail;
    waiting_scene<postgresql_server> s;
    const od::session_lock_key key{"leasehold", "n"};
    odbc_connection holder{s.server.connection_string()};
    static_cast<void>(holder.execute("select pg_advisory_lock(" + std::to_string(key.number()) + ")"));
    const auto config = std::make_shared<const od::configuration>(s.server.connection_string(), lh::odbc_options{.session_locks = true},
                                                                  &lh::dialect::detected::describe);
    od::session waiter{config};
    waiter.prepare({}, od::lock_job(od::lock_use::waits), steady_now() + 1min);
    waiter.lock().set(key);
    std::jthread waiting{[&] { waiter.perform(); }};
    BOOST_REQUIRE(s.are_in_line(1));
    config->disable_session_locks();
    waiting.join();
    BOOST_TEST((waiter.failed().kind == od::fault::none));
    BOOST_TEST(!od::has_taken_lock(waiter));
    BOOST_TEST(s.in_line() == 0);
    const auto has_limit = [&](const std::string& setting) {
        const std::string limit = "select 1 / case when current_setting('" + setting + "') = '0' then 0 else 1 end";
        return waiter.database().run_text(limit) == od::fault::none;
    };
    BOOST_TEST(has_limit("statement_timeout"));
    BOOST_TEST(has_limit("lock_timeout"));
}

BOOST_AUTO_TEST_CASE(waiters_poll_where_the_user_may_not_take_locks)
{
    postgresql_server server;
    lh::odbc_store holds{server.connection_string()}, waits{server.connection_string()};
    holds.create_schema();
    server.execute_sql("do 'declare f regprocedure; begin"
                       " for f in select oid from pg_proc where strpos(proname, ''_advisory_'') > 0 loop"
                       " execute ''revoke execute on function '' || f || '' from public''; end loop; end'");
    lh::basic_lease holder{holds, "n", terms}, waiter{waits, "n", terms};
    auto guard = holder.try_acquire();
    BOOST_REQUIRE(guard.held());
    BOOST_TEST(eventually([&] { return !holds.health().wakes; }));
    BOOST_TEST(holds.health().session_locks == 0U);
    std::atomic<bool> served = false;
    const std::jthread waiting{[&] { served = is_held(waiter.try_acquire_for(30s)); }};
    BOOST_TEST(eventually([&] { return !waits.health().wakes; }));
    BOOST_TEST(!served);
    guard.release();
    BOOST_TEST(eventually([&] { return served.load(); }));
}

BOOST_AUTO_TEST_SUITE_END()
