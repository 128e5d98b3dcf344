// SPDX-License-Identifier: BSL-1.0
#include <support/eventually.hpp>

#include <leasehold/clock/manual_clock.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(manual_clock_test)

namespace lh = leasehold;
using leasehold_test::eventually;
using namespace std::chrono_literals;

namespace {

// Counts the seconds of a clock as they come, on a thread of its own, as the library's threads do.
class second_counter
{
public:
    explicit second_counter(lh::manual_clock clock) : clock_{std::move(clock)}, next_{clock_.now() + 1s}
    {
        clock_.wait_until(waker_, clock_.now());  // known to the clock before the thread runs
        thread_ = std::thread{[this] { run(); }};
    }

    ~second_counter()
    {
        stopping_ = true;
        waker_.wake();
        thread_.join();
    }

    std::atomic<int> count = 0;

private:
    void run()
    {
        while (!stopping_) {
            if (next_ <= clock_.now()) {
                ++count;
                next_ += 1s;
            } else {
                clock_.wait_until(waker_, next_);
            }
        }
    }

    lh::manual_clock clock_;
    lh::time_point next_;
    lh::waker waker_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(stands_still_until_advanced)
{
    lh::manual_clock clock;
    const lh::time_point before = clock.now();
    BOOST_TEST((clock.now() == before));
    clock.advance(3s);
    BOOST_TEST((clock.now() == before + 3s));
    clock.advance(0s);
    BOOST_TEST((clock.now() == before + 3s));
}

BOOST_AUTO_TEST_CASE(does_not_begin_at_the_epoch) { BOOST_TEST((lh::manual_clock{}.now() > lh::time_point{})); }

BOOST_AUTO_TEST_CASE(copies_share_one_time_and_others_do_not)
{
    lh::manual_clock clock;
    const lh::manual_clock copy = clock;
    const lh::manual_clock other;
    const lh::time_point before = other.now();
    clock.advance(1h);
    BOOST_TEST((copy.now() == clock.now()));
    BOOST_TEST((other.now() == before));
    BOOST_TEST((copy == clock));
    BOOST_TEST((other != clock));
}

BOOST_AUTO_TEST_CASE(refuses_to_go_back_and_to_overflow)
{
    lh::manual_clock clock;
    const lh::time_point before = clock.now();
    BOOST_CHECK_THROW(clock.advance(-1ns), std::invalid_argument);
    BOOST_CHECK_THROW(clock.advance(lh::duration::min()), std::invalid_argument);
    BOOST_CHECK_THROW(clock.advance(lh::duration::max()), std::invalid_argument);
    BOOST_TEST((clock.now() == before));
}

BOOST_AUTO_TEST_CASE(advance_returns_when_what_was_due_is_done)
{
    lh::manual_clock clock;
    const second_counter counter{clock};
    for (int i = 1; i <= 100; ++i) {
        clock.advance(1s);
        BOOST_TEST_REQUIRE(counter.count == i);
    }
}

BOOST_AUTO_TEST_CASE(advance_over_several_instants_waits_for_all_of_them)
{
    lh::manual_clock clock;
    const second_counter a{clock}, b{clock};
    clock.advance(1h);
    BOOST_TEST(a.count == 3600);
    BOOST_TEST(b.count == 3600);
}

BOOST_AUTO_TEST_CASE(advance_waits_for_a_sleeper_that_was_woken_just_before)
{
    // It then has something to look at that the clock can't know of.
    lh::manual_clock clock;
    for (int i = 0; i < 200; ++i) {
        lh::waker w;
        std::atomic<int> got_up = 0;
        std::atomic<bool> done = false;
        clock.wait_until(w, clock.now());
        std::thread sleeper{[&] {
            while (!done) {
                clock.wait_until(w, lh::time_point::max());
                ++got_up;
            }
        }};
        clock.advance(1s);  // returns when it sleeps
        w.wake();
        clock.advance(1s);
        const int seen = got_up;
        done = true;
        w.wake();
        sleeper.join();
        BOOST_TEST_REQUIRE(seen == 1, "advance returned before it had got up, round " << i);
    }
}

BOOST_AUTO_TEST_CASE(tells_how_many_sleep_on_it)
{
    lh::manual_clock clock;
    BOOST_TEST(clock.sleepers() == 0U);
    {
        const second_counter one{clock}, other{clock};
        BOOST_TEST(eventually([&] { return clock.sleepers() == 2; }));
        clock.advance(1s);
        BOOST_TEST(clock.sleepers() == 2U);
    }
    BOOST_TEST(clock.sleepers() == 0U);
}

BOOST_AUTO_TEST_CASE(nobody_is_woken_early)
{
    lh::manual_clock clock;
    const second_counter counter{clock};
    clock.advance(999'999'999ns);
    BOOST_TEST(counter.count == 0);
    clock.advance(1ns);
    BOOST_TEST(counter.count == 1);
}

BOOST_AUTO_TEST_CASE(wait_for_what_has_come_returns_at_once)
{
    const lh::manual_clock clock;
    lh::waker w;
    clock.wait_until(w, clock.now());
    clock.wait_until(w, lh::time_point::min());
}

BOOST_AUTO_TEST_CASE(wait_takes_a_wake_that_came_before)
{
    const lh::manual_clock clock;
    lh::waker w;
    w.wake();
    clock.wait_until(w, lh::time_point::max());
    BOOST_TEST(!w.wait_for(0ns));
}

// advance() wakes it, too: the wake of somebody else must not be taken for that one.
BOOST_AUTO_TEST_CASE(sleeper_is_told_of_a_wake_though_its_time_has_come_before_it_ran)
{
    lh::manual_clock clock;
    for (int i = 0; i < 50; ++i) {
        lh::waker w;
        std::atomic<bool> told = false;
        std::thread sleeper{[&, until = clock.now() + 1s] {
            told = clock.wait_until(w, until);
            clock.wait_until(w, lh::time_point::max());
        }};
        const bool slept = eventually([&] { return clock.sleepers() == 1U; });
        w.wake();
        clock.advance(1s);
        const bool was_told = told;
        w.wake();
        sleeper.join();
        BOOST_TEST_REQUIRE(slept);
        BOOST_TEST_REQUIRE(was_told, "round " << i);
    }
}

BOOST_AUTO_TEST_CASE(sleeper_whose_time_has_come_was_not_woken)
{
    lh::manual_clock clock;
    lh::waker w;
    std::atomic<bool> told = true;
    std::thread sleeper{[&, until = clock.now() + 1s] {
        told = clock.wait_until(w, until);
        clock.wait_until(w, lh::time_point::max());
    }};
    const bool slept = eventually([&] { return clock.sleepers() == 1U; });
    clock.advance(1s);
    const bool was_told = told;
    w.wake();
    sleeper.join();
    BOOST_TEST(slept);
    BOOST_TEST(!was_told);
}

BOOST_AUTO_TEST_CASE(waker_that_is_gone_is_forgotten)
{
    // The fastest of some, since a busy machine can take that long for one.
    auto fastest = std::chrono::steady_clock::duration::max();
    for (int round = 0; round < 5; ++round) {
        lh::manual_clock clock;
        for (int i = 0; i < 20; ++i) {
            const auto w = std::make_unique<lh::waker>();
            clock.wait_until(*w, clock.now());
        }
        const auto before = std::chrono::steady_clock::now();
        for (int i = 0; i < 20; ++i) clock.advance(1s);
        fastest = std::min(fastest, std::chrono::steady_clock::now() - before);
    }
    BOOST_TEST((fastest < lh::manual_clock::patience));
}

BOOST_AUTO_TEST_CASE(advance_gives_up_on_one_who_never_sleeps_again)
{
    lh::manual_clock clock;
    lh::waker w;
    clock.wait_until(w, clock.now());  // known, and not asleep
    const auto before = std::chrono::steady_clock::now();
    std::thread{[&] { clock.advance(1s); }}.join();
    BOOST_TEST((std::chrono::steady_clock::now() - before >= lh::manual_clock::patience));
}

// As a worker does whose store's call hangs on this clock.
BOOST_AUTO_TEST_CASE(advance_does_not_wait_for_a_thread_that_sleeps_on_another_waker)
{
    lh::manual_clock clock;
    lh::waker own, elsewhere;
    std::thread sleeper{[&] {
        clock.wait_until(own, clock.now() + 1s);
        clock.wait_until(elsewhere, lh::time_point::max());
    }};
    BOOST_TEST(eventually([&] { return clock.sleepers() == 1U; }));
    const auto before = std::chrono::steady_clock::now();
    clock.advance(1s);
    BOOST_TEST((std::chrono::steady_clock::now() - before < lh::manual_clock::patience));
    elsewhere.wake();
    sleeper.join();
}

BOOST_AUTO_TEST_CASE(advance_from_several_threads_adds_up)
{
    lh::manual_clock clock;
    const second_counter counter{clock};
    const lh::time_point before = clock.now();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int n = 0; n < 50; ++n) clock.advance(500ms);
        });
    for (std::thread& t : threads) t.join();
    BOOST_TEST((clock.now() == before + 100s));
    BOOST_TEST(counter.count == 100);
}

BOOST_AUTO_TEST_SUITE_END()
