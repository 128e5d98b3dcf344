// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/turn_patience.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(turn_patience_test)

using leasehold::odbc::detail::turn_patience;

BOOST_AUTO_TEST_CASE(patience_that_was_in_vain_shrinks_to_the_shortest)
{
    turn_patience patience;
    BOOST_TEST((patience.now() == turn_patience::longest));
    BOOST_TEST(patience.is_whole());
    patience.was_in_vain();
    BOOST_TEST(!patience.is_whole());
    BOOST_TEST((patience.now() < turn_patience::longest / 2));
    for (int i = 0; i < 10; ++i) patience.was_in_vain();
    BOOST_TEST((patience.now() == turn_patience::shortest));
}

BOOST_AUTO_TEST_CASE(a_turn_that_was_handed_over_restores_it)
{
    turn_patience patience;
    for (int i = 0; i < 10; ++i) patience.was_in_vain();
    patience.was_worth_it();
    BOOST_TEST(patience.is_whole());
    BOOST_TEST((patience.now() == turn_patience::longest));
}

BOOST_AUTO_TEST_SUITE_END()
