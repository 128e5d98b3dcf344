// SPDX-License-Identifier: BSL-1.0
// Who waits for a permit, and threads and processes that want one at the same time.
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <unit/counted_rights_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <latch>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(lease_semaphore_waiting_test)

using namespace leasehold_test;
using namespace leasehold_test::counted_rights;

BOOST_AUTO_TEST_CASE(one_count_wins_the_race_of_the_first_ones)
{
    for (int round = 0; round < 50; ++round) {
        lh::memory_store store;
        std::latch together{4};
        std::atomic<int> granted_to_odd = 0, granted_to_even = 0, refused = 0;
        const auto process = [&](int permits) {
            lh::lease_semaphore semaphore{store, "licences", permits};
            together.arrive_and_wait();
            std::error_code ec;
            const auto permit = semaphore.try_acquire(ec);
            if (permit) ++(permits == 5 ? granted_to_odd : granted_to_even);
            if (ec == lh::errc::invalid_terms) ++refused;
        };
        {
            const std::jthread a{process, 5}, b{process, 6}, c{process, 5}, d{process, 6};
        }
        BOOST_TEST_REQUIRE(refused == 2);
        BOOST_TEST_REQUIRE(granted_to_odd + granted_to_even == 2);
        BOOST_TEST_REQUIRE((granted_to_odd == 0 || granted_to_even == 0));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(wait_ends_with_a_release_an_end_a_time_out_or_a_cancellation, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(2);
    auto other = s.semaphore(2);
    auto dead = s.semaphore(2, lh::no_renewal{});
    const auto waits_for = [&](auto& waiter, auto event) {
        std::atomic<bool> done = false;
        bool got = false;
        std::stop_source stop;
        std::jthread waiting{[&] {
            got = is_held(waiter.acquire(stop.get_token()));
            done = true;
        }};
        BOOST_TEST(!eventually([&] { return done.load(); }, 20ms));
        event(stop);
        BOOST_TEST(eventually([&] {
            if (!done) s.clock.advance(100ms);
            return done.load();
        }));
        waiting.join();
        return got;
    };
    auto first = semaphore.try_acquire(), second = other.try_acquire();
    BOOST_TEST(waits_for(semaphore, [&](auto&) { first.release(); }), "through the same object");
    first = semaphore.try_acquire();
    BOOST_TEST(waits_for(semaphore, [&](auto&) { second.release(); }), "through another object");
    second = other.try_acquire();
    BOOST_TEST(!waits_for(semaphore, [&](std::stop_source& stop) { stop.request_stop(); }));
    BOOST_TEST(is_empty(semaphore.try_acquire_for(0s)));
    second.release();
    const auto abandoned = dead.try_acquire();
    BOOST_TEST(waits_for(semaphore, [](auto&) {}), "the end of a dead holder's permit");
    std::stop_source stopped;
    stopped.request_stop();
    const int before = s.attempts();
    BOOST_TEST(is_empty(semaphore.acquire(stopped.get_token())));
    BOOST_TEST(s.attempts() == before);
}

BOOST_AUTO_TEST_CASE(wait_that_runs_out_of_time_is_busy)
{
    lh::memory_store store;
    lh::lease_semaphore semaphore{store, "licences", 1};
    auto permit = semaphore.acquire();
    std::error_code ec;
    BOOST_TEST(is_empty(semaphore.try_acquire_for(30ms)));
    BOOST_TEST(is_empty(semaphore.try_acquire_for(30ms, ec)));
    BOOST_TEST(!ec);
    BOOST_TEST(is_empty(semaphore.try_acquire_until(std::chrono::system_clock::now() + 30ms)));
    BOOST_TEST(is_empty(semaphore.try_acquire_until(std::chrono::system_clock::now() + 30ms, ec)));
    permit.release();
    BOOST_TEST(is_held(semaphore.try_acquire_for(30ms)));
    BOOST_TEST(is_held(semaphore.try_acquire_until(std::chrono::system_clock::now() + 30ms)));
}

BOOST_AUTO_TEST_CASE(waiters_of_one_object_are_woken_one_after_another_without_polling)
{
    lh::manual_clock clock;  // stands still, so that nobody polls
    scripted_store store{clock};
    lh::lease_semaphore semaphore{store, "licences", 2, 30s, clock};
    auto first = semaphore.try_acquire(), second = semaphore.try_acquire();
    std::atomic<int> through = 0;
    std::vector<std::jthread> waiters;
    for (int i = 0; i < 4; ++i)
        waiters.emplace_back([&] {
            if (is_held(semaphore.acquire())) ++through;
        });
    const int before = store.sent(operation::try_acquire);
    BOOST_TEST(eventually([&] { return store.sent(operation::try_acquire) >= before; }));
    BOOST_TEST(through == 0);
    first.release();
    BOOST_TEST(eventually([&] { return through == 4; }));
}

BOOST_AUTO_TEST_CASE(release_of_another_process_wakes_the_waiter_if_the_store_can_do_that)
{
    lh::manual_clock clock;  // stands still, so that nobody polls
    lh::basic_memory_store store{clock};
    lh::lease_semaphore semaphore{store, "licences", 2, 30s, clock};
    const auto mine = semaphore.try_acquire();
    const std::string theirs = "licences/" + std::to_string(1 - mine.index());
    std::error_code ec;
    const auto granted = store.try_acquire(theirs, "another process", 20s, ec);
    std::atomic<bool> got = false;
    const std::jthread waiting{[&] { got = is_held(semaphore.acquire()); }};
    BOOST_TEST(!eventually([&] { return got.load(); }, 50ms));
    BOOST_TEST(store.release(theirs, "another process", granted.token, 0s, ec));
    BOOST_TEST(eventually([&] { return got.load(); }));
}

BOOST_AUTO_TEST_CASE(release_through_another_object_of_the_process_wakes_the_waiter)
{
    scene<scripted_store> s;  // whose clock stands still, and which wakes nobody
    auto semaphore = s.semaphore(1), other = s.semaphore(1);
    auto theirs = other.try_acquire();
    std::atomic<bool> got = false;
    std::stop_source stop;
    const std::jthread waiting{[&] { got = is_held(semaphore.acquire(stop.get_token())); }};
    BOOST_TEST(!eventually([&] { return got.load(); }, 50ms));
    theirs.release();
    BOOST_TEST(eventually([&] { return got.load(); }));
    stop.request_stop();
}

BOOST_AUTO_TEST_CASE(no_wake_up_is_lost_between_threads_of_one_object)
{
    scene<scripted_store> s;  // whose clock stands still, so that nobody polls
    auto semaphore = s.semaphore(1);
    std::atomic<int> grants = 0;
    std::stop_source stop;
    const auto work = [&] {
        for (int i = 0; i < 1000; ++i)
            if (is_held(semaphore.acquire(stop.get_token()))) ++grants;
    };
    {
        const std::jthread a{work}, b{work}, c{work};
        BOOST_TEST(eventually([&] { return grants == 3000; }, 2min));
        stop.request_stop();
    }
}

BOOST_AUTO_TEST_CASE(threads_that_share_an_object_never_find_it_busy_while_there_are_permits)
{
    lh::memory_store store;
    lh::lease_semaphore semaphore{store, "licences", 5};
    std::atomic<int> busy = 0;
    const auto work = [&] {
        for (int i = 0; i < 500; ++i)
            if (!is_held(semaphore.try_acquire())) ++busy;
    };
    {
        const std::jthread a{work}, b{work}, c{work};
    }
    BOOST_TEST(busy == 0);
}

BOOST_AUTO_TEST_CASE(attempt_beside_another_threads_attempt_at_all_permits_is_not_busy)
{
    scene<scripted_batching_store> s;
    auto semaphore = s.semaphore(5);
    leasehold_test::gate hold;
    std::atomic<bool> first = true;
    s.store.before(operation::acquire_many, [&](std::string_view) {
        if (first.exchange(false)) hold.pass();
    });
    std::atomic<int> ended = 0, granted = 0;
    const auto attempt = [&] {
        const auto permit = semaphore.try_acquire();
        if (permit) ++granted;
        ++ended;
        static_cast<void>(eventually([&] { return ended == 2; }));
    };
    {
        const std::jthread one{attempt};
        BOOST_TEST(hold.reached_by());
        const std::jthread other{attempt};
        BOOST_TEST(!eventually([&] { return ended > 0; }, 50ms));
        hold.open();
    }
    BOOST_TEST(granted == 2);
}

BOOST_AUTO_TEST_CASE(contenders_never_hold_more_permits_than_there_are)
{
    lh::memory_store store;
    std::atomic<int> inside = 0, most = 0, grants = 0;
    const auto process = [&] {
        lh::lease_semaphore semaphore{store, "licences", 3};
        for (int i = 0; i < 100; ++i) {
            const auto permit = semaphore.acquire();
            const int now = ++inside;
            for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
            ++grants;
            std::this_thread::yield();
            --inside;
        }
    };
    {
        std::vector<std::jthread> processes;
        for (int i = 0; i < 6; ++i) processes.emplace_back(process);
    }
    BOOST_TEST(grants == 600);
    BOOST_TEST(most <= 3);
    BOOST_TEST(store.list("licences/").empty());
}

BOOST_AUTO_TEST_SUITE_END()
