// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/session/retries.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

BOOST_AUTO_TEST_SUITE(reconnect_schedule_test)

using namespace leasehold::odbc::detail;
using namespace std::chrono_literals;

namespace {

const reconnect_schedule::time_point start{1h};
constexpr std::uint64_t no_cut = 0;
constexpr std::uint64_t greatest_cut = 1023;

}  // namespace

BOOST_AUTO_TEST_CASE(connections_are_tried_at_once_as_long_as_none_failed)
{
    reconnect_schedule schedule;
    BOOST_TEST(schedule.free());
    schedule.trying(start, no_cut);
    BOOST_TEST(schedule.free());
}

BOOST_AUTO_TEST_CASE(pauses_double_up_to_the_longest)
{
    reconnect_schedule schedule;
    auto expected = first_reconnect_pause;
    for (int i = 0; i < 10; ++i) {
        schedule.failed(start, no_cut);
        BOOST_TEST(!schedule.free());
        BOOST_TEST((schedule.next() == start + expected));
        expected = std::min(expected * 2, longest_reconnect_pause);
    }
    BOOST_TEST((schedule.next() == start + longest_reconnect_pause));
}

BOOST_AUTO_TEST_CASE(a_pause_is_cut_by_up_to_a_half)
{
    reconnect_schedule schedule;
    schedule.failed(start, greatest_cut);
    BOOST_TEST((schedule.next() < start + std::chrono::microseconds{first_reconnect_pause} * 51 / 100));
    BOOST_TEST((schedule.next() >= start + first_reconnect_pause / 2));
}

BOOST_AUTO_TEST_CASE(while_one_tries_the_others_wait_for_a_pause)
{
    reconnect_schedule schedule;
    schedule.failed(start, no_cut);
    schedule.trying(start + 20ms, no_cut);
    BOOST_TEST((schedule.next() == start + 20ms + first_reconnect_pause));
}

BOOST_AUTO_TEST_CASE(a_connection_that_succeeds_ends_the_pauses)
{
    reconnect_schedule schedule;
    for (int i = 0; i < 10; ++i) schedule.failed(start, no_cut);
    schedule.succeeded();
    BOOST_TEST(schedule.free());
    schedule.failed(start, no_cut);
    BOOST_TEST((schedule.next() == start + first_reconnect_pause));
}

BOOST_AUTO_TEST_SUITE_END()
