// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/session/bounded_session.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

BOOST_AUTO_TEST_SUITE(bounded_session_spin_test)

using leasehold::odbc::detail::adaptive_spin;

namespace {

// How many of so many waits are looked at, if none is answered in that time.
unsigned looked_at(adaptive_spin& patience, unsigned waits)
{
    unsigned looks = 0;
    for (unsigned i = 0; i < waits; ++i) {
        if (patience.next() == std::chrono::microseconds::zero()) continue;
        ++looks;
        patience.miss();
    }
    return looks;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_wait_is_looked_at_while_that_is_worth_it)
{
    adaptive_spin patience;
    for (int i = 0; i < 100; ++i) {
        BOOST_TEST((patience.next() == adaptive_spin::for_an_answer));
        patience.hit();
    }
}

BOOST_AUTO_TEST_CASE(looks_that_find_nothing_become_rare_but_never_end)
{
    adaptive_spin patience;
    looked_at(patience, 200);
    BOOST_TEST(looked_at(patience, 10 * adaptive_spin::most_seldom) <= 11U);
    BOOST_TEST(looked_at(patience, 10 * adaptive_spin::most_seldom) >= 9U);
}

BOOST_AUTO_TEST_CASE(one_that_was_worth_it_makes_every_wait_looked_at_again)
{
    adaptive_spin patience;
    looked_at(patience, 200);
    patience.hit();
    BOOST_TEST((patience.next() == adaptive_spin::for_an_answer));
}

BOOST_AUTO_TEST_SUITE_END()
