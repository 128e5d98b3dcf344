// SPDX-License-Identifier: BSL-1.0
#include <leasehold/detail/backoff.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <set>

BOOST_AUTO_TEST_SUITE(backoff_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using lh::detail::backoff;

BOOST_AUTO_TEST_CASE(pauses_double_up_to_the_longest_and_are_cut_by_a_half_at_most)
{
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        backoff pauses{100ms, 1s, seed};
        for (const lh::duration whole : {100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
            const lh::duration pause = pauses.next();
            BOOST_TEST(pause <= whole);
            BOOST_TEST(pause > whole / 2);
        }
    }
}

BOOST_AUTO_TEST_CASE(pauses_without_a_seed_are_not_cut)
{
    backoff pauses{1ms, 5ms};
    for (const lh::duration pause : {1ms, 2ms, 4ms, 5ms, 5ms}) BOOST_TEST(pauses.next() == pause);
    pauses.reset();
    BOOST_TEST(pauses.next() == 1ms);
    BOOST_TEST((backoff{5ms, 1ms}.next() == 1ms));
}

BOOST_AUTO_TEST_CASE(pause_that_can_be_doubled_no_more_is_followed_by_the_longest)
{
    backoff pauses{100ns, 201ns, 1};  // too short for a random part
    for (const lh::duration pause : {100ns, 201ns, 201ns}) BOOST_TEST(pauses.next() == pause);
}

BOOST_AUTO_TEST_CASE(after_a_reset_they_begin_with_the_shortest)
{
    backoff pauses{100ms, 1s, 7};
    for (int i = 0; i < 10; ++i) pauses.next();
    pauses.reset();
    BOOST_TEST(pauses.next() <= 100ms);
    BOOST_TEST(pauses.next() > 100ms);
}

BOOST_AUTO_TEST_CASE(those_who_began_together_do_not_come_back_together)
{
    std::set<lh::duration> first;
    for (std::uint64_t seed = 0; seed < 100; ++seed) first.insert(backoff{100ms, 1s, seed * 0x9E3779B97F4A7C15ULL}.next());
    BOOST_TEST(first.size() > 40U);
}

BOOST_AUTO_TEST_CASE(bounds_of_any_size_do_not_overflow)
{
    backoff longest{lh::duration::max() / 2 + 1ns, lh::duration::max(), 1};
    backoff upside_down{1s, 100ms, 1};
    backoff one{100ms, 100ms, 1};
    for (int i = 0; i < 5; ++i) {
        BOOST_TEST(longest.next() > 0s);
        BOOST_TEST(upside_down.next() <= 100ms);
        BOOST_TEST(one.next() <= 100ms);
    }
    upside_down.reset();
    BOOST_TEST(upside_down.next() <= 100ms);
}

BOOST_AUTO_TEST_SUITE_END()
