// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/spin_patience.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

BOOST_AUTO_TEST_SUITE(spin_patience_test)

using leasehold::odbc::detail::spin_patience;

namespace {

// Of so many waits, how many are looked at, all in vain.
unsigned looked_at(spin_patience& patience, unsigned waits)
{
    unsigned looks = 0;
    for (unsigned i = 0; i < waits; ++i) {
        if (patience.next() == std::chrono::microseconds::zero()) continue;
        ++looks;
        patience.was_in_vain();
    }
    return looks;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_wait_is_looked_at_while_that_is_worth_it)
{
    spin_patience patience;
    for (int i = 0; i < 100; ++i) {
        BOOST_TEST((patience.next() == spin_patience::for_an_answer));
        patience.was_worth_it();
    }
}

BOOST_AUTO_TEST_CASE(looking_in_vain_becomes_rare_but_never_ends)
{
    spin_patience patience;
    looked_at(patience, 200);
    BOOST_TEST(looked_at(patience, 10 * spin_patience::most_seldom) <= 11U);
    BOOST_TEST(looked_at(patience, 10 * spin_patience::most_seldom) >= 9U);
}

BOOST_AUTO_TEST_CASE(one_that_was_worth_it_makes_every_wait_looked_at_again)
{
    spin_patience patience;
    looked_at(patience, 200);
    patience.was_worth_it();
    BOOST_TEST((patience.next() == spin_patience::for_an_answer));
}

BOOST_AUTO_TEST_SUITE_END()
