// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/driver/connect_gate.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

BOOST_AUTO_TEST_SUITE(connect_gate_test)

using namespace leasehold::odbc::detail;
using namespace std::chrono_literals;

namespace {

const reconnect_schedule::time_point start{1h};

const report outage{.kind = fault::unavailable};

reconnect_schedule uncut() { return reconnect_schedule{{first_reconnect_pause, longest_reconnect_pause}}; }

}  // namespace

BOOST_AUTO_TEST_CASE(connections_are_tried_at_once_as_long_as_none_failed)
{
    reconnect_schedule schedule = uncut();
    BOOST_TEST(schedule.free());
    schedule.trying(start);
    BOOST_TEST(schedule.free());
}

BOOST_AUTO_TEST_CASE(pauses_double_up_to_the_longest)
{
    reconnect_schedule schedule = uncut();
    auto expected = first_reconnect_pause;
    for (int i = 0; i < 10; ++i) {
        schedule.failed(start);
        BOOST_TEST(!schedule.free());
        BOOST_TEST((schedule.next() == start + expected));
        expected = std::min(expected * 2, longest_reconnect_pause);
    }
    BOOST_TEST((schedule.next() == start + longest_reconnect_pause));
}

BOOST_AUTO_TEST_CASE(a_pause_is_cut_by_up_to_a_half)
{
    auto earliest = reconnect_schedule::time_point::max();
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        reconnect_schedule schedule{{first_reconnect_pause, longest_reconnect_pause, seed}};
        schedule.failed(start);
        BOOST_TEST((schedule.next() <= start + first_reconnect_pause));
        BOOST_TEST((schedule.next() >= start + first_reconnect_pause / 2));
        earliest = std::min(earliest, schedule.next());
    }
    BOOST_TEST((earliest < start + std::chrono::microseconds{first_reconnect_pause} * 51 / 100));
}

BOOST_AUTO_TEST_CASE(while_one_tries_the_others_wait_for_a_pause)
{
    reconnect_schedule schedule = uncut();
    schedule.failed(start);
    schedule.trying(start + 20ms);
    BOOST_TEST((schedule.next() == start + 20ms + first_reconnect_pause));
}

BOOST_AUTO_TEST_CASE(a_connection_that_succeeds_ends_the_pauses)
{
    reconnect_schedule schedule = uncut();
    for (int i = 0; i < 10; ++i) schedule.failed(start);
    schedule.succeeded();
    BOOST_TEST(schedule.free());
    schedule.failed(start);
    BOOST_TEST((schedule.next() == start + first_reconnect_pause));
}

// A wait that has ended must not connect.
BOOST_AUTO_TEST_CASE(turn_that_nobody_wants_is_not_waited_for)
{
    connect_gate gate{0};
    const auto is_wanted = [] { return false; };
    BOOST_TEST(!gate.wait_for_turn(connect_gate::time_point::max(), is_wanted).has_value(), "there is no failure to tell of");
    gate.failed(outage);
    const auto why_not = gate.wait_for_turn(connect_gate::time_point::max(), is_wanted);
    BOOST_TEST((why_not && why_not->kind == outage.kind));
}

BOOST_AUTO_TEST_CASE(turn_that_is_not_wanted_any_longer_is_left_to_others)
{
    connect_gate gate{0};
    int asked = 0;
    std::optional<report> why_not;
    for (int tries = 0; tries < 20 && asked != 2; ++tries) {  // again where the pause was over before the wait began
        asked = 0;
        gate.failed(outage);
        why_not = gate.wait_for_turn(connect_gate::time_point::max(), [&asked] { return ++asked == 1; });
    }
    BOOST_TEST((why_not && why_not->kind == outage.kind));
    BOOST_TEST(asked == 2);
    const auto wanted = gate.wait_for_turn(connect_gate::time_point::max(), [] { return true; });
    BOOST_TEST(!wanted.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
