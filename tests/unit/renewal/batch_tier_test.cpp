// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renewal/batch_tier.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

// 17 s is what a ttl of 30 s with the defaults has left when its first renewal is due.
BOOST_AUTO_TEST_SUITE(batch_tier_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using namespace lh::renewal;

BOOST_AUTO_TEST_CASE(renewal_that_is_in_time_goes_with_many)
{
    BOOST_TEST((tier_of(17s, 17s) == batch_tier::many));
    BOOST_TEST((tier_of(18s, 17s) == batch_tier::many), "sooner than planned");
    BOOST_TEST((tier_of(12'750ms, 17s) == batch_tier::many));
}

BOOST_AUTO_TEST_CASE(renewal_that_has_lost_time_goes_with_few_and_then_alone)
{
    BOOST_TEST((tier_of(12'749ms, 17s) == batch_tier::some));
    BOOST_TEST((tier_of(6'375ms, 17s) == batch_tier::some));
    BOOST_TEST((tier_of(6'374ms, 17s) == batch_tier::none));
    BOOST_TEST((tier_of(1ns, 17s) == batch_tier::none));
}

BOOST_AUTO_TEST_CASE(two_calls_that_come_to_nothing_leave_time_to_try_alone)
{
    lh::duration left = 17s;
    BOOST_TEST((tier_of(left, 17s) == batch_tier::many));
    left -= time_in_batch(left);
    BOOST_TEST((tier_of(left, 17s) == batch_tier::some));
    left -= time_in_batch(left);
    BOOST_TEST((tier_of(left, 17s) == batch_tier::none));
    BOOST_TEST((left > 4s));
}

BOOST_AUTO_TEST_CASE(calls_are_bounded_by_the_store_and_by_a_limit)
{
    BOOST_TEST(largest_batch(batch_tier::many, 256) == 256U);
    BOOST_TEST(largest_batch(batch_tier::many, 1'000'000) == max_batch);
    BOOST_TEST(largest_batch(batch_tier::some, 256) == 16U);
    BOOST_TEST(largest_batch(batch_tier::some, 1'000'000) == max_batch / 16);
    BOOST_TEST(largest_batch(batch_tier::none, 256) == 1U);
    for (const batch_tier each : {batch_tier::none, batch_tier::some, batch_tier::many})
        for (const std::size_t limit : {0U, 1U}) BOOST_TEST(largest_batch(each, limit) == 1U);
}

BOOST_AUTO_TEST_CASE(instants_of_the_grid_lie_an_eighth_of_the_pause_apart_and_half_of_it_for_a_retry)
{
    BOOST_TEST((step_of_first(10s) == 1250ms));
    BOOST_TEST((step_of_first(0s) == 0s));
    for (const lh::duration pause : {500ms, 511ms, 3000ms}) {
        BOOST_TEST((step_of_retry(pause) <= pause / 2));
        BOOST_TEST((step_of_retry(pause) > pause / 4));
    }
    BOOST_TEST((step_of_retry(500ms) == step_of_retry(511ms)));
    for (const lh::duration pause : {-1ns, 0ns, 1ns}) BOOST_TEST((step_of_retry(pause) == 0s));
}

BOOST_AUTO_TEST_SUITE_END()
