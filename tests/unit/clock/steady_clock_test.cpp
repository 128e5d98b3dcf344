// SPDX-License-Identifier: BSL-1.0
#include <leasehold/clock/steady_clock.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <ctime>

BOOST_AUTO_TEST_SUITE(steady_clock_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(never_goes_back)
{
    const lh::steady_clock clock;
    lh::time_point before = clock.now();
    for (int i = 0; i < 10'000; ++i) {
        const lh::time_point now = clock.now();
        BOOST_TEST_REQUIRE((now >= before));
        before = now;
    }
}

#if defined(__linux__)
BOOST_AUTO_TEST_CASE(counts_the_time_that_the_host_was_suspended)
{
    const auto boot_time = [] {
        std::timespec t{};
        ::clock_gettime(CLOCK_BOOTTIME, &t);
        return lh::time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
    };
    const lh::time_point before = boot_time();
    const lh::time_point now = lh::steady_clock{}.now();
    BOOST_TEST((before <= now && now <= boot_time()));
}
#endif

BOOST_AUTO_TEST_CASE(wait_takes_a_wake_that_came_before)
{
    const lh::steady_clock clock;
    lh::waker w;
    w.wake();
    clock.wait_until(w, lh::time_point::max());
    w.wake();
    clock.wait_until(w, clock.now() + 1h);
    BOOST_TEST(!w.wait_for(0ns));
}

BOOST_AUTO_TEST_CASE(wait_for_the_past_returns_at_once)
{
    const lh::steady_clock clock;
    lh::waker w;
    clock.wait_until(w, clock.now() - 1h);
    clock.wait_until(w, lh::time_point{});
    clock.wait_until(w, lh::time_point::min());
}

BOOST_AUTO_TEST_CASE(wait_ends_when_the_time_has_come)
{
    const lh::steady_clock clock;
    lh::waker w;
    const lh::time_point end = clock.now() + 20ms;
    int waits = 0;
    for (; clock.now() < end && waits < 100; ++waits) clock.wait_until(w, end);
    BOOST_TEST((clock.now() >= end));
    BOOST_TEST(waits < 100, "a wait that returns at once is a busy loop");
}

BOOST_AUTO_TEST_CASE(long_wait_is_cut_so_that_a_suspended_host_is_noticed)
{
    const lh::steady_clock clock;
    lh::waker w;
    const lh::time_point before = clock.now();
    clock.wait_until(w, lh::time_point::max() - 1ns);
    BOOST_TEST((clock.now() - before < 20 * lh::steady_clock::longest_sleep));
}

BOOST_AUTO_TEST_CASE(all_are_one_clock) { BOOST_TEST((lh::steady_clock{} == lh::steady_clock{})); }

BOOST_AUTO_TEST_SUITE_END()
