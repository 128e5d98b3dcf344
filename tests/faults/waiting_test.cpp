// SPDX-License-Identifier: BSL-1.0
// needs: server, quiet
// Waiting through real servers: woken by the release, in the order of arrival, and right when the holder is gone.
#include <contract/asked_once.hpp>
#include <faults/waiting_scene.hpp>
#include <leasehold/odbc/detail/queue/queue_machine.hpp>
#include <support/printing.hpp>
#include <support/child_process.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/types.h>

BOOST_AUTO_TEST_SUITE(waiting)

using namespace leasehold_test;

namespace {

constexpr const char* connection_variable = "LEASEHOLD_TEST_HOLDER_OF";

// Waits for the lock of a name as another process does, and keeps it.
template <class Server>
class foreign_waiter {
public:
    foreign_waiter(waiting_scene<Server>& s, std::string name)
        : store_{s.stores[1]}, name_{std::move(name)}, ticket_{store_.enqueue(name_, woken_)}
    {
        std::error_code ec;
        static_cast<void>(store_.try_acquire("another", "connects", 20ms, ec));
        BOOST_REQUIRE((store_.try_acquire(ticket_, "waiter", 1min, ec).status == lh::acquire_status::queued));
    }

    // Its session has got the lock: the wake-up says so.
    bool has_lock() { return has_lock_ = has_lock_ || woken_.wait_for(0s); }

private:
    lh::odbc_store& store_;
    std::string name_;
    lh::waker woken_;
    lh::odbc::queue_ticket ticket_;
    bool has_lock_ = false;
};

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_release_wakes_the_waiter_and_a_renewal_does_not, Server, servers)
{
    waiting_scene<Server> s;
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
        got = steady_now();
        token = next.token();
    }};
    BOOST_REQUIRE(s.are_in_line(1));
    // It queues, and looks at the row after 0.25, 0.5, 1, 2 and 4 s; then it relies on being woken for 4 s.
    const auto is_quiet = [&] {
        const int before = attempts;
        return throughout([&] { return attempts == before; }, 2500ms);
    };
    BOOST_REQUIRE(eventually(is_quiet, 20s));
    const int looks = attempts;
    for (int i = 0; i < 10; ++i) BOOST_TEST(guard.renew());
    BOOST_TEST(throughout([&] { return attempts == looks; }, 1s));
    const auto first = guard.token();
    const auto released = steady_now();
    guard.release();
    waiting.join();
    BOOST_TEST((got - released < at_once));
    BOOST_TEST((token > first));
    BOOST_TEST(attempts == looks + 1);
    BOOST_TEST(s.nothing_is_left(0));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(waiters_get_their_turn_in_the_order_they_came, Server, servers)
{
    constexpr std::size_t waiters = 8;
    waiting_scene<Server> s{waiters + 1};
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
    const auto released = steady_now();
    guard.release();
    waiting.clear();
    BOOST_TEST((steady_now() - released < 4 * at_once));
    BOOST_REQUIRE(order.size() == waiters);
    BOOST_TEST(std::ranges::is_sorted(order));
    BOOST_TEST(s.nothing_is_left(0));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(releaser_that_comes_back_at_once_passes_nobody, Server, servers)
{
    waiting_scene<Server> s;
    lh::basic_lease first{s.stores[0], "n", terms};
    lh::basic_lease second{s.stores[1], "n", terms};
    for (int i = 0; i < 10; ++i) {
        { const auto alone = first.acquire(); }
        auto guard = first.acquire();
        const auto token = guard.token();
        lh::fencing_token next;
        std::jthread waits{[&] { next = token_of(second.acquire()); }};
        BOOST_REQUIRE(s.are_in_line(1));
        guard.release();
        const auto again = token_of(first.acquire());
        waits.join();
        BOOST_TEST(next.value() == token.value() + 1);
        BOOST_TEST(again.value() == token.value() + 2);
    }
    BOOST_TEST(s.nothing_is_left(0));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_that_ends_leaves_nothing_behind, Server, servers)
{
    waiting_scene<Server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease waiter{s.stores[1], "n", terms};
    auto guard = holder.try_acquire();
    const std::string row = s.row("n");

    std::chrono::steady_clock::time_point ended;
    std::stop_source stop;
    bool granted = true;
    std::jthread waiting{[&] {
        granted = is_held(waiter.acquire(stop.get_token()));
        ended = steady_now();
    }};
    BOOST_REQUIRE(s.are_in_line(1));
    const int sessions = s.sessions();
    const auto cancelled = steady_now();
    stop.request_stop();
    waiting.join();
    BOOST_TEST(!granted);
    BOOST_TEST((ended - cancelled < 100ms));
    BOOST_TEST(s.nothing_is_left(1));

    const auto begun = steady_now();
    BOOST_TEST(!is_held(waiter.try_acquire_for(300ms)));
    BOOST_TEST((steady_now() - begun < 400ms));
    BOOST_TEST(s.nothing_is_left(1));
    BOOST_TEST(s.sessions() == sessions);  // the one that waited is kept for the next wait
    BOOST_TEST(s.row("n") == row);
    guard.release();
    BOOST_TEST(s.nothing_is_left(0));
    BOOST_TEST(is_held(waiter.try_acquire()));
}

// The waiter's session is stopped while it is told to end its wait and given the lock, and finds both when it goes on.
BOOST_AUTO_TEST_CASE(a_wait_that_ends_as_it_gets_the_lock_leaves_nothing_behind)
{
    waiting_scene<postgresql_server> s;
    lh::basic_lease holder{s.stores[0], "n", terms};
    lh::basic_lease waiter{s.stores[1], "n", terms};
    auto guard = holder.acquire();
    std::stop_source stop;
    bool granted = true;
    std::jthread waiting{[&] { granted = is_held(waiter.acquire(stop.get_token())); }};
    BOOST_REQUIRE(s.are_in_line(1));
    const pid_t session = s.number(s.view.waiter);
    BOOST_REQUIRE(::kill(session, SIGSTOP) == 0);
    stop.request_stop();
    waiting.join();
    BOOST_TEST(!granted);
    guard.release();
    BOOST_REQUIRE(eventually([&] { return s.in_line() == 0; }));
    BOOST_TEST(s.locks() == 1);
    BOOST_REQUIRE(::kill(session, SIGCONT) == 0);
    BOOST_TEST(s.nothing_is_left(0));
    BOOST_TEST(is_held(waiter.try_acquire_for(at_once)));
}

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

BOOST_AUTO_TEST_CASE_TEMPLATE(after_a_holder_that_was_killed_the_first_waiter_holds_right_at_the_expiry, Server, servers)
{
    constexpr std::size_t waiters = 4;
    waiting_scene<Server> s{waiters};
    child_process child{{"/proc/self/exe", "--run_test=waiting/as_a_child_that_holds"},
                        {.environment = {{connection_variable, s.server.connection_string()}}, .capture = true}};
    std::optional<std::string> line;
    do line = child.read_line();
    while (line && *line != "holds" && *line != "busy");
    BOOST_REQUIRE((line && *line == "holds"));
    std::atomic<int> attempts = 0, next = -1;
    std::chrono::steady_clock::time_point got;
    std::vector<std::jthread> waiting;
    for (std::size_t i = 0; i < waiters; ++i) {
        waiting.emplace_back([&, i] {
            std::atomic<int> others = 0;
            lh::hooked_store counting{s.stores[i], counted{i == 0 ? attempts : others}};
            lh::basic_lease lease{counting, "n", terms};
            const auto turn = lease.acquire();
            int nobody = -1;
            if (next.compare_exchange_strong(nobody, static_cast<int>(i))) got = steady_now();
        });
        BOOST_REQUIRE(s.are_in_line(static_cast<int>(i) + 1));
    }
    // The first has known the term for so long that its holder can't be about to take the lock.
    BOOST_REQUIRE(eventually([&] { return attempts >= 2; }));
    BOOST_REQUIRE(throughout([&] { return s.in_line() == static_cast<int>(waiters); }, lh::odbc::detail::lock_taken_within, 50ms));
    child.kill();
    const auto expiry = s.expiry_of("n");
    waiting.clear();
    BOOST_TEST(next == 0);
    BOOST_TEST((got >= expiry.earliest - 5ms));
    BOOST_TEST((got - expiry.latest < 150ms));
    BOOST_TEST(s.nothing_is_left(0));
}

// Its connection, and so its lock, stays: as of a host that lost its power.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_holder_that_hangs_with_the_lock_does_not_hold_for_ever, Server, servers)
{
    waiting_scene<Server> s;
    child_process child{{"/proc/self/exe", "--run_test=waiting/as_a_child_that_holds"},
                        {.environment = {{connection_variable, s.server.connection_string()}}, .capture = true}};
    std::optional<std::string> line;
    do line = child.read_line();
    while (line && *line != "holds" && *line != "busy");
    BOOST_REQUIRE((line && *line == "holds"));
    child.signal(SIGSTOP);
    lh::basic_lease waiter{s.stores[0], "n", terms};
    const auto expiry = s.expiry_of("n");
    auto guard = waiter.acquire();
    BOOST_TEST(guard.held());
    BOOST_TEST((steady_now() >= expiry.earliest - 5ms));
    BOOST_TEST((steady_now() - expiry.latest < 150ms));
    BOOST_TEST(s.in_line() == 0);
    BOOST_TEST(guard.release() == lh::release_outcome::released);
    // A process that comes now can't have the lock either, and does not wait for it for long.
    lh::basic_lease another{s.stores[1], "n", terms};
    BOOST_TEST(is_held(another.try_acquire()));
    BOOST_TEST(is_held(another.try_acquire_for(2s)));
}

// There is room for one reader. The next is served before a writer that comes later, and both are woken.
BOOST_AUTO_TEST_CASE_TEMPLATE(readers_and_writers_are_served_in_the_order_in_which_they_came, Server, servers)
{
    waiting_scene<Server> s{3};
    const lh::reader_limit one{1};
    lh::shared_lease reads{s.stores[0], "n", terms, one}, waits{s.stores[1], "n", terms, one}, writes{s.stores[2], "n", terms, one};
    auto reader = reads.try_acquire_shared();
    BOOST_REQUIRE(reader.held());
    std::atomic<bool> read = false, wrote = false;
    std::chrono::steady_clock::time_point got;
    std::jthread waiting{[&](const std::stop_token& stop) {
        auto next = waits.try_acquire_shared_for(30s);
        got = steady_now();
        read = next.held();
        while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
    }};
    BOOST_REQUIRE(eventually([&] { return s.stores[1].local_waiters().waiting() > 0; }));
    BOOST_REQUIRE(throughout([&] { return !read.load(); }, 200ms));  // it is the first of the line by now
    std::jthread writing{[&] {
        auto writer = writes.try_acquire_for(30s);
        got = steady_now();
        wrote = writer.held();
    }};
    BOOST_REQUIRE(s.are_in_line(1));
    auto released = steady_now();
    reader.release();
    BOOST_REQUIRE(eventually([&] { return read.load(); }));
    BOOST_TEST((got - released < at_once));
    BOOST_TEST(throughout([&] { return !wrote.load(); }, 100ms));
    released = steady_now();
    waiting.request_stop();
    waiting.join();
    writing.join();
    BOOST_TEST(wrote);
    BOOST_TEST((got - released < at_once));
}

// Each comes back as soon as it has released. Turns of a few milliseconds, on a machine that does other things too: what counts is grants,
// and how many others were granted a permit while one waited.
BOOST_AUTO_TEST_CASE_TEMPLATE(processes_take_turns_at_permits, Server, servers)
{
    constexpr std::size_t processes = 4;
    constexpr int enough = 240;
    waiting_scene<Server> s{processes};
    std::array<std::vector<int>, processes> waited;  // for how many grants of others, each time
    std::atomic<int> grants = 0;
    {
        std::vector<std::jthread> takers;
        for (std::size_t i = 0; i < processes; ++i)
            takers.emplace_back([&, i](const std::stop_token& stop) {
                lh::lease_semaphore pool{s.stores[i], "pool", 2, terms};
                while (!stop.stop_requested()) {
                    const int before = grants;
                    const auto permit = pool.try_acquire_for(30s, stop);
                    if (permit.held()) waited[i].push_back(grants++ - before);
                    std::this_thread::sleep_for(2ms);
                }
            });
        BOOST_TEST(eventually([&] { return grants >= enough; }, 120s));
        for (auto& each : takers) each.request_stop();
    }
    const auto [least, most] = std::ranges::minmax(waited, {}, &std::vector<int>::size);
    std::vector<int> all;
    for (const auto& each : waited) all.insert(all.end(), each.begin(), each.end());
    std::ranges::sort(all);
    const int longest_but_few = all.at(all.size() - 1 - all.size() / 50);
    BOOST_TEST_MESSAGE("grants " << least.size() << " to " << most.size() << ", turns waited: " << all[all.size() / 2]
                                 << ", 49 of 50 at most " << longest_but_few << ", at most " << all.back());
    BOOST_TEST(most.size() <= 2 * least.size());
    BOOST_TEST(longest_but_few <= 6);
}

// The record of the count is renewed, but nobody ever waits for it.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_permit_for_which_nobody_waits_has_one_lock_at_most, Server, servers)
{
    waiting_scene<Server> s;
    lh::lease_semaphore pool{s.stores[0], "pool", 4, terms};
    auto permit = pool.try_acquire();
    BOOST_REQUIRE(permit.held());
    BOOST_REQUIRE(eventually([&] { return s.locks() >= 1; }));
    BOOST_TEST(throughout([&] { return s.locks() == 1; }, 200ms));
}

// Shares of readers, which wake the writer at the gate.
BOOST_AUTO_TEST_CASE_TEMPLATE(terms_that_wake_one_name_have_one_lock_until_the_last_is_over, Server, servers)
{
    waiting_scene<Server> s;
    std::error_code ec;
    const std::array<lh::term_request, 3> shares{{{"n 0", "we", 60s, "n"}, {"n 1", "we", 60s, "n"}, {"n 2", "we", 60s, "n"}}};
    std::array<std::optional<lh::acquire_result>, 3> answers{};
    s.stores[0].acquire_many({shares.data(), 1}, 1, {answers.data(), 1}, ec);  // one by itself, and two together
    s.stores[0].acquire_many({shares.data() + 1, 2}, 2, {answers.data() + 1, 2}, ec);
    BOOST_REQUIRE(!ec);
    for (const auto& each : answers) BOOST_REQUIRE((each && each->granted()));
    BOOST_REQUIRE(eventually([&] { return s.locks() == 1; }));
    BOOST_TEST(throughout([&] { return s.locks() == 1; }, 100ms));
    foreign_waiter<Server> waits{s, "n"};
    BOOST_REQUIRE(s.are_in_line(1));
    BOOST_TEST(s.stores[0].release("n 1", "we", answers[1]->token, 0s, ec));
    const std::array<lh::term_release, 1> one{{{"n 0", "we", answers[0]->token}}};
    std::array<lh::batch_answer, 1> released{};
    s.stores[0].release_many(one, released, ec);
    BOOST_TEST((released[0] == lh::batch_answer::yes));
    BOOST_TEST(throughout([&] { return !waits.has_lock(); }, 200ms));
    const auto last = steady_now();
    BOOST_TEST(s.stores[0].release("n 2", "we", answers[2]->token, 0s, ec));
    BOOST_TEST(eventually([&] { return waits.has_lock(); }));
    BOOST_TEST((steady_now() - last < at_once));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(term_that_is_lost_or_not_renewed_gives_the_lock_back_that_it_shares, Server, servers)
{
    waiting_scene<Server> s;
    std::error_code ec;
    const std::array<lh::term_request, 2> shares{{{"n 0", "we", 60s, "n"}, {"n 1", "we", 60s, "n"}}};
    std::array<std::optional<lh::acquire_result>, 2> answers{};
    s.stores[0].acquire_many(shares, 2, answers, ec);
    BOOST_REQUIRE((answers[0]->granted() && answers[1]->granted()));
    BOOST_REQUIRE(eventually([&] { return s.locks() == 1; }));
    BOOST_TEST(s.stores[1].force_release("n 0"));
    BOOST_TEST(s.stores[1].force_release("n 1"));
    BOOST_TEST(s.stores[1].try_acquire("n 1", "another", 60s, ec).granted());
    BOOST_REQUIRE(eventually([&] { return s.locks() == 2; }));  // that of "n 1" is one of its own
    BOOST_TEST(!s.stores[0].renew("n 0", "we", answers[0]->token, 60s, ec));
    BOOST_TEST(throughout([&] { return s.locks() == 2; }, 100ms));
    BOOST_TEST(!s.stores[0].try_acquire("n 1", "we", 60s, ec).granted());
    BOOST_TEST(eventually([&] { return s.locks() == 1; }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(term_that_wakes_nobody_takes_no_lock, Server, servers)
{
    waiting_scene<Server> s;
    std::error_code ec;
    const std::array<lh::term_request, 3> requests{{{"count", "2 permits", 60s, ""}, {"m", "we", 60s, ""}, {"n", "we", 60s, {}}}};
    std::array<std::optional<lh::acquire_result>, 3> answers{};
    s.stores[0].acquire_many(requests, 3, answers, ec);
    for (const auto& each : answers) BOOST_REQUIRE((each && each->granted()));
    BOOST_REQUIRE(eventually([&] { return s.locks() == 1; }));
    BOOST_TEST(throughout([&] { return s.locks() == 1; }, 200ms));
    BOOST_TEST(s.stores[0].health().session_locks == 1U);
    // The same name without a lock from now on.
    s.stores[0].acquire_many(std::array<lh::term_request, 1>{{{"n", "we", 60s, ""}}}, 1, {answers.data(), 1}, ec);
    BOOST_REQUIRE(answers[0]->granted());
    BOOST_TEST(s.nothing_is_left(0));
}

// One of 8 would be all that the limit leaves.
BOOST_AUTO_TEST_CASE_TEMPLATE(many_terms_that_wake_one_name_leave_the_other_locks_to_others, Server, servers)
{
    waiting_scene<Server> s;
    std::error_code ec;
    std::vector<std::string> names;
    for (int i = 0; i < 64; ++i) names.push_back("n " + std::to_string(i));
    std::vector<lh::term_request> shares;
    for (const std::string& each : names) shares.push_back({each, "we", 60s, "n"});
    std::vector<std::optional<lh::acquire_result>> answers(shares.size());
    s.stores[0].acquire_many(shares, shares.size(), answers, ec);
    lh::basic_lease holder{s.stores[0], "other", terms};
    auto guard = holder.try_acquire();
    BOOST_REQUIRE(guard.held());
    BOOST_REQUIRE(eventually([&] { return s.locks() == 2; }));
    std::vector<lh::term_release> all;
    for (std::size_t i = 0; i < names.size(); ++i) all.push_back({names[i], "we", answers[i]->token});
    std::vector<lh::batch_answer> released(all.size());
    s.stores[0].release_many(all, released, ec);
    BOOST_TEST(s.nothing_is_left(1));
}

// As one writer after another: 6 statements, times two.
BOOST_AUTO_TEST_CASE_TEMPLATE(writer_that_waits_while_many_read_asks_little, Server, servers)
{
    waiting_scene<Server> s{2};
    lh::shared_lease reads{s.stores[0], "n", terms};
    std::vector<lh::shared_lease<lh::odbc_store>::shared_guard_type> readers;
    for (int i = 0; i < 64; ++i) BOOST_REQUIRE(readers.emplace_back(reads.try_acquire_shared()).held());
    constexpr int whole = 1'000'000;
    std::atomic<int> parts = 0;  // of calls, of each of which those that it was for have one
    lh::hooked_store counting{s.stores[1], [&](const lh::store_call&, const lh::store_call_report& report) {
                                  parts += whole / static_cast<int>(report.batch_size);
                              }};
    const auto calls = [&parts] { return (parts + whole / 2) / whole; };
    lh::shared_lease writes{counting, "n", terms};
    std::jthread writing{[&] { writes.try_acquire_for(60s).release(); }};
    const bool is_quiet = eventually([&] { return calls() > 1 && throughout([&, before = calls()] { return calls() == before; }, 300ms); });
    for (auto& each : readers) each.release();
    writing.join();
    BOOST_TEST(is_quiet, "it waits to be woken");
    BOOST_TEST(calls() <= 12);
}

BOOST_AUTO_TEST_SUITE_END()
