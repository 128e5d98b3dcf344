// SPDX-License-Identifier: BSL-1.0
// What a store remembers for its next attempt at a name.
#include <support/printing.hpp>

#include <leasehold/odbc/detail/session/token_hints.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>

BOOST_AUTO_TEST_SUITE(token_hints_test)

namespace od = leasehold::odbc::detail;

BOOST_AUTO_TEST_CASE(hint_is_used_once)
{
    od::token_hints hints;
    BOOST_TEST(hints.take("n") == 0);
    hints.put("n", 5);
    BOOST_TEST(hints.take("other") == 0);
    BOOST_TEST(hints.take("n") == 5);
    BOOST_TEST(hints.take("n") == 0);
}

BOOST_AUTO_TEST_CASE(last_hint_counts)
{
    od::token_hints hints;
    hints.put("n", 5);
    hints.put("n", 6);
    BOOST_TEST(hints.take("n") == 6);
    hints.put("n", 7);
    BOOST_TEST(hints.take("n") == 7);
}

BOOST_AUTO_TEST_CASE(too_many_hints_are_forgotten_and_new_ones_are_kept)
{
    od::token_hints hints;
    for (std::size_t i = 0; i < od::max_token_hints; ++i) hints.put("n" + std::to_string(i), 1);
    BOOST_TEST(hints.take("n0") == 1);
    hints.put("n1", 2);  // known, so nothing needs to go
    BOOST_TEST(hints.take("n2") == 1);
    hints.put("one more", 3);
    BOOST_TEST(hints.take("one more") == 3);
    BOOST_TEST(hints.take("n3") == 0);
}

BOOST_AUTO_TEST_SUITE_END()
