// SPDX-License-Identifier: BSL-1.0
#include <leasehold/clock/waker.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <thread>

BOOST_AUTO_TEST_SUITE(waker_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(wake_before_the_wait_is_kept)
{
    lh::waker w;
    w.wake();
    w.wait();
    w.wake();
    BOOST_TEST(w.wait_for(1h));
}

BOOST_AUTO_TEST_CASE(several_wakes_are_one)
{
    lh::waker w;
    w.wake();
    w.wake();
    BOOST_TEST(w.wait_for(0ns));
    BOOST_TEST(!w.wait_for(0ns));
}

BOOST_AUTO_TEST_CASE(wait_that_is_over_says_that_nobody_woke_it)
{
    lh::waker w;
    BOOST_TEST(!w.wait_for(1ms));
}

BOOST_AUTO_TEST_CASE(durations_of_any_size_are_taken)
{
    lh::waker w;
    BOOST_TEST(!w.wait_for(lh::duration::min()));
    BOOST_TEST(!w.wait_for(-1ns));
    w.wake();
    BOOST_TEST(w.wait_for(lh::duration::max()));
    w.wake();
    BOOST_TEST(w.wait_for(lh::duration::min()), "a wake is taken also where there is no time to wait");
}

BOOST_AUTO_TEST_CASE(wakes_another_thread)
{
    for (int i = 0; i < 200; ++i) {
        lh::waker w;
        std::thread waits{[&] { w.wait(); }};
        w.wake();
        waits.join();
    }
}

BOOST_AUTO_TEST_CASE(may_be_destroyed_by_who_was_woken)
{
    for (int i = 0; i < 200; ++i) {
        auto* w = new lh::waker;
        std::thread waits{[w] {
            w->wait();
            delete w;
        }};
        w->wake();
        waits.join();
    }
}

BOOST_AUTO_TEST_CASE(counts_wakes_also_those_that_were_taken)
{
    lh::waker w;
    BOOST_TEST(!w.woken());
    BOOST_TEST(w.wakes() == 0U);
    w.wake();
    w.wake();
    BOOST_TEST(w.woken());
    BOOST_TEST(w.wakes() == 2U);
    w.wait();
    BOOST_TEST(!w.woken());
    BOOST_TEST(w.wakes() == 2U);
}

BOOST_AUTO_TEST_CASE(lifetime_expires_with_the_waker)
{
    std::weak_ptr<const void> lifetime;
    {
        lh::waker w;
        lifetime = w.lifetime();
        BOOST_TEST(!lifetime.expired());
        BOOST_TEST((lifetime.lock() == w.lifetime().lock()));
    }
    BOOST_TEST(lifetime.expired());
}

BOOST_AUTO_TEST_SUITE_END()
