// SPDX-License-Identifier: BSL-1.0
// needs: server, quiet
// Waiting through real servers: woken by the release, in the order of arrival, and correct when the wake never comes.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/child_process.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;
using servers = boost::mpl::list<postgresql_server, mariadb_server>;

namespace {

constexpr lh::lease_terms terms{.ttl = 60s};
constexpr const char* connection_variable = "LEASEHOLD_TEST_HOLDER_OF";
// "At once", on a machine that does other things too; a poll's longest pause is half a second, a ttl a minute.
constexpr auto at_once = 400ms;

// What a server says about those who wait for a session lock.
struct postgresql_view {
    static constexpr const char* waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted";
    static constexpr const char* locks = "select count(*) from pg_locks where locktype = 'advisory'";
    static constexpr const char* sessions = "select count(*) from pg_stat_activity where usename = 'leasehold'";
    static constexpr const char* waiter = "select pid from pg_locks where locktype = 'advisory' and not granted limit 1";
    static constexpr const char* holder = "select pid from pg_locks where locktype = 'advisory' and granted limit 1";
    static std::string end(const std::string& session) { return "select pg_terminate_backend(" + session + ")"; }
};

struct mariadb_view {
    static constexpr const char* waiting = "select count(*) from information_schema.processlist where state = 'User lock'";
    static constexpr const char* locks =
        "select count(*) from information_schema.metadata_lock_info where lock_type = 'User lock'";
    static constexpr const char* sessions = "select count(*) from information_schema.processlist where user = 'leasehold'";
    static constexpr const char* waiter = "select id from information_schema.processlist where state = 'User lock' limit 1";
    static constexpr const char* holder =
        "select thread_id from information_schema.metadata_lock_info where lock_type = 'User lock' limit 1";
    static std::string end(const std::string& session) { return "kill connection " + session; }
};

template <class Server>
struct view_of_server;
template <>
struct view_of_server<postgresql_server> {
    using type = postgresql_view;
    static std::vector<std::string> arguments() { return {}; }
};
template <>
struct view_of_server<mariadb_server> {
    using type = mariadb_view;
    static std::vector<std::string> arguments() { return {"--plugin-load-add=metadata_lock_info"}; }
};

template <class Server>
struct scene {
    using view = typename view_of_server<Server>::type;

    Server server{view_of_server<Server>::arguments()};
    std::deque<lh::odbc_store> stores;  // as many processes

    explicit scene(std::size_t processes = 2)
    {
        for (std::size_t i = 0; i < processes; ++i) stores.emplace_back(server.connection_string(), lh::odbc_options{.session_locks = true});
        stores.front().create_schema();
    }

    std::string ask(const std::string& sql)
    {
        std::string answer = server.execute_sql(sql);
        while (!answer.empty() && answer.back() == '\n') answer.pop_back();
        return answer;
    }
    int number(const std::string& sql) { return std::stoi(ask(sql)); }
    bool are_in_line(int waiters)
    {
        return eventually([&] { return number(view::waiting) == waiters; });
    }
    bool nothing_is_left(int locks)
    {
        return eventually([&] { return number(view::waiting) == 0 && number(view::locks) == locks; });
    }
    std::string row(const std::string& name)
    {
        return ask("select owner, token, expires_at from leasehold where name = '" + name + "'");
    }
};

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

struct counted {
    std::atomic<int>& attempts;
    void operator()(const lh::store_call& call, const lh::store_call_report&) const
    {
        if (call.operation == lh::store_operation::try_acquire) ++attempts;
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(waiting)

// Not a test by itself: what the child of another one does. It holds until it is killed.
BOOST_AUTO_TEST_CASE(as_a_child_that_holds)
{
    const char* connection_string = std::getenv(connection_variable);
    if (!connection_string) return;
    lh::odbc_store store{connection_string, lh::odbc_options{.session_locks = true}};
    lh::basic_lease lease{store, "n", lh::lease_terms{.ttl = 2s}};
    const auto guard = lease.try_acquire();
    std::cout << (guard ? "holds" : "busy") << std::endl;
    for (;;) std::this_thread::sleep_for(1h);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_release_wakes_the_waiter_and_a_renewal_does_not, Server, servers)
{
    scene<Server> s;
    std::atomic<int> attempts = 0;
    lh::hooked_store counting{s.stores[1], counted{attempts}};
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease waiter{counting, "n", terms};
    auto guard = holder.try_acquire();
    BOOST_REQUIRE(guard.held());
    std::chrono::steady_clock::time_point got;
    lh::fencing_token token;
    std::jthread waiting{[&] {
        const auto next = waiter.acquire();
        got = now();
        token = next.token();
    }};
    BOOST_REQUIRE(s.are_in_line(1));
    for (int i = 0; i < 10; ++i) BOOST_TEST(guard.renew());
    BOOST_TEST(throughout([&] { return attempts == 1; }, 1200ms));
    const auto first = guard.token();
    const auto released = now();
    guard.release();
    waiting.join();
    BOOST_TEST((got - released < at_once));
    BOOST_TEST((token > first));
    BOOST_TEST(attempts == 2);
    BOOST_TEST(s.nothing_is_left(0));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(waiters_get_their_turn_in_the_order_they_came, Server, servers)
{
    constexpr std::size_t waiters = 8;
    scene<Server> s{waiters + 1};
    lh::basic_lease holder{s.stores[waiters], "n", terms};
    auto guard = holder.try_acquire();
    std::vector<std::size_t> order;
    std::mutex order_mutex;
    std::vector<std::jthread> waiting;
    for (std::size_t i = 0; i < waiters; ++i) {
        waiting.emplace_back([&, i] {
            lh::basic_lease lease{s.stores[i], "n", terms};
            const auto turn = lease.acquire();
            const std::lock_guard lock{order_mutex};
            order.push_back(i);
        });
        BOOST_REQUIRE(s.are_in_line(static_cast<int>(i) + 1));
    }
    const auto released = now();
    guard.release();
    waiting.clear();
    BOOST_TEST((now() - released < 4 * at_once));
    BOOST_REQUIRE(order.size() == waiters);
    BOOST_TEST(std::ranges::is_sorted(order));
    BOOST_TEST(s.nothing_is_left(0));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_that_ends_leaves_nothing_behind, Server, servers)
{
    scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease waiter{s.stores[1], "n", terms};
    auto guard = holder.try_acquire();
    const std::string row = s.row("n");

    std::chrono::steady_clock::time_point ended;
    std::stop_source stop;
    bool granted = true;
    std::jthread waiting{[&] {
        granted = static_cast<bool>(waiter.acquire(stop.get_token()));
        ended = now();
    }};
    BOOST_REQUIRE(s.are_in_line(1));
    const int sessions = s.number(scene<Server>::view::sessions);
    const auto cancelled = now();
    stop.request_stop();
    waiting.join();
    BOOST_TEST(!granted);
    BOOST_TEST((ended - cancelled < 100ms));
    BOOST_TEST(s.nothing_is_left(1));
    BOOST_TEST(eventually([&] { return s.number(scene<Server>::view::sessions) < sessions; }));

    const auto begun = now();
    BOOST_TEST(!waiter.try_acquire_for(300ms));
    BOOST_TEST((now() - begun < 400ms));
    BOOST_TEST(s.nothing_is_left(1));
    BOOST_TEST(eventually([&] { return s.number(scene<Server>::view::sessions) < sessions; }));
    BOOST_TEST(s.row("n") == row);
    guard.release();
    BOOST_TEST(s.nothing_is_left(0));
    BOOST_TEST(static_cast<bool>(waiter.try_acquire()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_waiter_whose_session_is_ended_goes_on_waiting, Server, servers)
{
    scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease waiter{s.stores[1], "n", terms};
    auto guard = holder.try_acquire();
    std::chrono::steady_clock::time_point got;
    std::jthread waiting{[&] {
        const auto next = waiter.acquire();
        got = now();
    }};
    BOOST_REQUIRE(s.are_in_line(1));
    s.ask(scene<Server>::view::end(s.ask(scene<Server>::view::waiter)));
    BOOST_REQUIRE(s.are_in_line(1));  // again
    s.ask(scene<Server>::view::end(s.ask(scene<Server>::view::waiter)));
    const auto released = now();
    guard.release();
    waiting.join();
    BOOST_TEST((got - released < 2s));
    BOOST_TEST(s.nothing_is_left(0));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_holder_whose_session_is_ended_still_releases, Server, servers)
{
    scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease waiter{s.stores[1], "n", terms};
    auto guard = holder.try_acquire();
    std::chrono::steady_clock::time_point got;
    std::jthread waiting{[&] {
        const auto next = waiter.acquire();
        got = now();
    }};
    BOOST_REQUIRE(s.are_in_line(1));
    s.ask(scene<Server>::view::end(s.ask(scene<Server>::view::holder)));
    BOOST_REQUIRE(s.are_in_line(0));
    BOOST_TEST(guard.renew());
    const auto released = now();
    BOOST_TEST(guard.release() == lh::release_outcome::released);
    waiting.join();
    BOOST_TEST((got - released < 2s));
    BOOST_TEST(s.nothing_is_left(0));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(after_a_holder_that_was_killed_the_first_waiter_holds_right_at_the_expiry, Server, servers)
{
    constexpr std::size_t waiters = 4;
    scene<Server> s{waiters};
    child_process child{{"/proc/self/exe", "--run_test=waiting/as_a_child_that_holds"},
                        {.environment = {{connection_variable, s.server.connection_string()}}, .capture = true}};
    std::optional<std::string> line;
    do line = child.read_line();
    while (line && *line != "holds" && *line != "busy");
    BOOST_REQUIRE((line && *line == "holds"));
    std::atomic<int> next = -1;
    std::chrono::steady_clock::time_point got;
    std::vector<std::jthread> waiting;
    for (std::size_t i = 0; i < waiters; ++i) {
        waiting.emplace_back([&, i] {
            lh::basic_lease lease{s.stores[i], "n", terms};
            const auto turn = lease.acquire();
            int nobody = -1;
            if (next.compare_exchange_strong(nobody, static_cast<int>(i))) got = now();
        });
        BOOST_REQUIRE(s.are_in_line(static_cast<int>(i) + 1));
    }
    child.kill();
    std::error_code ec;
    const auto left = s.stores[0].inspect("n", ec);
    BOOST_REQUIRE((!ec && left));
    const auto expiry = now() + left->remaining;
    waiting.clear();
    BOOST_TEST(next == 0);
    BOOST_TEST((got >= expiry - 5ms));
    BOOST_TEST((got - expiry < 150ms));
    BOOST_TEST(s.nothing_is_left(0));
}

// Its connection, and so its lock, stays: as of a host that lost its power.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_holder_that_hangs_with_the_lock_does_not_hold_for_ever, Server, servers)
{
    scene<Server> s;
    child_process child{{"/proc/self/exe", "--run_test=waiting/as_a_child_that_holds"},
                        {.environment = {{connection_variable, s.server.connection_string()}}, .capture = true}};
    std::optional<std::string> line;
    do line = child.read_line();
    while (line && *line != "holds" && *line != "busy");
    BOOST_REQUIRE((line && *line == "holds"));
    child.signal(SIGSTOP);
    lh::basic_lease waiter{s.stores[0], "n", terms};
    std::error_code ec;
    const auto left = s.stores[1].inspect("n", ec);
    BOOST_REQUIRE((!ec && left));
    const auto expiry = now() + left->remaining;
    auto guard = waiter.acquire();
    BOOST_TEST(guard.held());
    BOOST_TEST((now() >= expiry - 5ms));
    BOOST_TEST((now() - expiry < 150ms));
    BOOST_TEST(s.number(scene<Server>::view::waiting) == 0);
    BOOST_TEST(guard.release() == lh::release_outcome::released);
    // Whoever comes now can't have the lock either, and is not kept waiting for it for long.
    lh::basic_lease another{s.stores[1], "n", terms};
    BOOST_TEST(static_cast<bool>(another.try_acquire()));
    BOOST_TEST(static_cast<bool>(another.try_acquire_for(2s)));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_process_has_no_more_than_so_many_locks, Server, servers)
{
    scene<Server> s;
    std::deque<lh::basic_lease<lh::odbc_store, lh::steady_clock, lh::random_owner_id, lh::no_renewal>> leases;
    std::deque<typename decltype(leases)::value_type::guard_type> guards;
    for (std::size_t i = 0; i < lh::odbc::detail::max_held_locks + 20; ++i) {
        auto& lease = leases.emplace_back(s.stores[0], "n" + std::to_string(i), terms, lh::steady_clock{}, lh::random_owner_id{},
                                          lh::no_renewal{});
        BOOST_REQUIRE(guards.emplace_back(lease.try_acquire()).held());
    }
    BOOST_TEST(s.number(scene<Server>::view::locks) == static_cast<int>(lh::odbc::detail::max_held_locks));
    // Held without a lock: whoever waits gets it, and polls.
    lh::basic_lease waiter{s.stores[1], leases.back().name(), terms};
    std::jthread waiting{[&] { const auto next = waiter.acquire(); }};
    BOOST_REQUIRE(eventually([&] { return s.number(scene<Server>::view::locks) > static_cast<int>(lh::odbc::detail::max_held_locks); }));
    guards.clear();
    waiting.join();
    BOOST_TEST(s.nothing_is_left(0));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wake_for_no_reason_does_no_harm, Server, servers)
{
    scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    auto guard = holder.try_acquire();
    lh::waker to_wake;
    std::error_code ec;
    {
        auto watch = s.stores[1].watch_release("n", to_wake);
        BOOST_TEST(!s.stores[1].try_acquire("n", "waiter", 1min, ec).granted());
        BOOST_REQUIRE(s.are_in_line(1));
        for (int i = 0; i < 20; ++i) {
            const auto answer = s.stores[1].try_acquire("n", "waiter", 1min, ec);
            BOOST_TEST((!ec && !answer.granted() && answer.token == guard.token()));
            BOOST_TEST(watch.live());
        }
        BOOST_TEST(guard.renew());
        // Somebody gives the lock away although the name is held: the waiter stays first in line, and polls.
        s.ask(scene<Server>::view::end(s.ask(scene<Server>::view::holder)));
        BOOST_REQUIRE(to_wake.wait_for(10s));
        BOOST_TEST(!s.stores[1].try_acquire("n", "waiter", 1min, ec).granted());
        BOOST_TEST(!watch.live());
        BOOST_TEST(!s.stores[1].try_acquire("n", "waiter", 1min, ec).granted());
        BOOST_TEST(s.number(scene<Server>::view::locks) == 1);
    }
    BOOST_TEST(s.nothing_is_left(0));
    BOOST_TEST(guard.renew());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(all_threads_of_a_process_that_wait_for_a_name_are_one_session, Server, servers)
{
    scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease shared{s.stores[1], "n", terms};
    auto guard = holder.try_acquire();
    std::atomic<int> granted = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 200; ++i)
        threads.emplace_back([&] {
            if (shared.acquire()) ++granted;
        });
    BOOST_REQUIRE(eventually([] { return lh::waiting::wait_queues::waiting() == 200; }));
    BOOST_REQUIRE(s.are_in_line(1));
    BOOST_TEST(s.number(scene<Server>::view::sessions) <= 3);  // the holder's, one of the waiters' pool, the one in line
    guard.release();
    threads.clear();
    BOOST_TEST(granted == 200);
    BOOST_TEST(s.nothing_is_left(0));
}

// A lock may be counted, and given back by another session than it was taken by, in a dozen ways: none must be left.
BOOST_AUTO_TEST_CASE_TEMPLATE(no_lock_outlives_its_term, Server, servers)
{
    scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease other{s.stores[0], "n", terms};
    for (int i = 0; i < 5; ++i) {
        auto guard = holder.try_acquire();
        BOOST_TEST(!other.try_acquire());
        BOOST_TEST(guard.renew());
        std::error_code ec;
        BOOST_TEST(s.stores[0].try_acquire("n", holder.owner(), 1min, ec).granted());  // the same term again
        guard.release();
    }
    BOOST_TEST(s.number(scene<Server>::view::locks) == 0);
    {
        auto lost = holder.try_acquire();
        BOOST_TEST(s.stores[1].force_release("n"));
        BOOST_TEST(lost.release() == lh::release_outcome::lost);
        BOOST_TEST(s.number(scene<Server>::view::locks) == 0);
    }
    {
        std::error_code ec;
        BOOST_REQUIRE(s.stores[0].try_acquire("n", "left to expire", 20ms, ec).granted());
        BOOST_REQUIRE(eventually([&] { return s.stores[1].try_acquire("n", "next", 20ms, ec).granted(); }));
        BOOST_REQUIRE(eventually([&] { return s.stores[0].try_acquire("n", "last", 1min, ec).granted(); }));
        const auto held = s.stores[0].inspect("n", ec);
        BOOST_REQUIRE((held && held->owner == "last"));
        BOOST_TEST(s.stores[0].release("n", "last", held->token, 0s, ec));
        BOOST_TEST(s.number(scene<Server>::view::locks) == 0);
    }
    {
        lh::basic_lease once{s.stores[0], "n", lh::lease_terms{.ttl = 5s, .min_hold = 1s}};
        auto guard = once.try_acquire();
        guard.release();
        BOOST_TEST(s.number(scene<Server>::view::locks) == 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()
