// SPDX-License-Identifier: BSL-1.0
// How long a name that nobody holds is left to whoever has its lock.
#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <leasehold/odbc/detail/place_in_line.hpp>
#include <leasehold/odbc/detail/turn_patience.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>

namespace place_in_line_test {

namespace lh = leasehold;
namespace od = leasehold::odbc::detail;
using namespace std::chrono_literals;

namespace {

struct place_fixture {
    lh::waker to_wake;
    od::place_in_line place{nullptr, od::session_lock_key{"leasehold", "n"}, to_wake};

    std::optional<lh::duration> leave(std::int64_t token, lh::duration remaining)
    {
        return place.leave_to_others({lh::acquire_status::busy, lh::fencing_token{token}, remaining}, lh::odbc::detail::turn_patience::longest);
    }
};

// What a released row's expiry long ago looks like.
constexpr lh::duration released = -1000h;

}  // namespace
}  // namespace place_in_line_test

BOOST_FIXTURE_TEST_SUITE(place_in_line_test, place_fixture)

BOOST_AUTO_TEST_CASE(term_that_ran_out_is_left_to_the_first_in_line_for_a_moment_and_then_taken)
{
    BOOST_TEST((leave(7, 0ms) == od::line_grace));
    BOOST_TEST((leave(7, -2ms) == od::line_grace - 2ms));
    BOOST_TEST(!leave(7, -od::line_grace + 1ms).has_value());
    BOOST_TEST(!leave(7, -1min).has_value());
}

BOOST_AUTO_TEST_CASE(released_name_is_left_to_who_has_the_lock_for_as_long_as_one_may_be_patient)
{
    const auto first = leave(7, released);
    BOOST_REQUIRE(first.has_value());
    BOOST_TEST(*first <= od::turn_patience::longest);
    BOOST_TEST(*first > od::turn_patience::longest - 50ms);
    BOOST_TEST(leasehold_test::eventually([&] { return !leave(7, released).has_value(); }));
}

BOOST_AUTO_TEST_CASE(name_that_was_held_in_between_is_left_for_as_long_again)
{
    BOOST_TEST(leave(7, released).has_value());
    BOOST_REQUIRE(leasehold_test::eventually([&] { return !leave(7, released).has_value(); }));
    const auto after_another_term = leave(8, released);
    BOOST_REQUIRE(after_another_term.has_value());
    BOOST_TEST(*after_another_term > od::turn_patience::longest - 50ms);
}

BOOST_AUTO_TEST_CASE(name_without_a_term_is_not_taken_for_one_that_ran_out)
{
    const auto pause = leave(0, -1min);
    BOOST_REQUIRE(pause.has_value());
    BOOST_TEST((*pause > od::line_grace));
}

BOOST_AUTO_TEST_CASE(who_is_not_in_line_has_nothing_to_lend_and_nobody_who_wakes_it)
{
    od::lock_order order;
    BOOST_TEST((place.borrow(order, 0) == nullptr));
    BOOST_TEST(!place.live());
    BOOST_TEST((!place.end()));
    BOOST_TEST(!to_wake.woken());
}

BOOST_AUTO_TEST_SUITE_END()
