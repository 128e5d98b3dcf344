// SPDX-License-Identifier: BSL-1.0
#include <support/printing.hpp>

#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/waiting/deadline.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <limits>

namespace lh = leasehold;
using namespace std::chrono_literals;
using lh::waiting::deadline_after;
using lh::waiting::deadline_at;

BOOST_AUTO_TEST_SUITE(deadline_test)

BOOST_AUTO_TEST_CASE(durations_of_any_unit_are_counted_from_now)
{
    const lh::manual_clock clock;
    BOOST_TEST((deadline_after(clock, 5s) == clock.now() + 5s));
    BOOST_TEST((deadline_after(clock, std::chrono::duration<double>{0.5}) == clock.now() + 500ms));
    BOOST_TEST((deadline_after(clock, std::chrono::duration<std::int64_t, std::pico>{1}) == clock.now() + 1ns));  // rounded up
}

BOOST_AUTO_TEST_CASE(what_is_not_positive_is_now)
{
    const lh::manual_clock clock;
    BOOST_TEST((deadline_after(clock, 0s) == clock.now()));
    BOOST_TEST((deadline_after(clock, -5s) == clock.now()));
    BOOST_TEST((deadline_after(clock, std::chrono::hours::min()) == clock.now()));
    BOOST_TEST((deadline_after(clock, std::chrono::duration<double>{std::numeric_limits<double>::quiet_NaN()}) == clock.now()));
}

BOOST_AUTO_TEST_CASE(what_is_too_long_to_count_is_for_ever)
{
    const lh::manual_clock clock;
    BOOST_TEST((deadline_after(clock, std::chrono::hours::max()) == lh::time_point::max()));
    BOOST_TEST((deadline_after(clock, lh::duration::max()) == lh::time_point::max()));
    BOOST_TEST((deadline_after(clock, std::chrono::duration<double>{1e300}) == lh::time_point::max()));
}

BOOST_AUTO_TEST_CASE(an_instant_of_the_lease_clock_is_taken_as_it_is)
{
    const lh::manual_clock clock;
    BOOST_TEST((deadline_at(clock, clock.now() + 3s) == clock.now() + 3s));
    BOOST_TEST((deadline_at(clock, lh::time_point::max()) == lh::time_point::max()));
}

BOOST_AUTO_TEST_CASE(an_instant_of_another_clock_counts_by_its_distance_from_that_clocks_now)
{
    const lh::manual_clock clock;
    const auto at = deadline_at(clock, std::chrono::system_clock::now() + 1h);
    BOOST_TEST((at > clock.now() + 59min));
    BOOST_TEST((at <= clock.now() + 1h));
    BOOST_TEST((deadline_at(clock, std::chrono::steady_clock::now() - 1s) == clock.now()));
}

BOOST_AUTO_TEST_SUITE_END()
