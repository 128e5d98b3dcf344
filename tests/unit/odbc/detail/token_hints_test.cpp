// SPDX-License-Identifier: BSL-1.0
// What a store remembers for its next attempt at a name.
#include <support/printing.hpp>

#include <leasehold/odbc/detail/session/remembered_terms.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>

BOOST_AUTO_TEST_SUITE(token_hints_test)

namespace od = leasehold::odbc::detail;

BOOST_AUTO_TEST_CASE(hint_is_used_once)
{
    od::remembered_terms terms;
    BOOST_TEST(terms.take_hint("n") == 0);
    terms.put_hint("n", 5);
    BOOST_TEST(terms.take_hint("other") == 0);
    BOOST_TEST(terms.take_hint("n") == 5);
    BOOST_TEST(terms.take_hint("n") == 0);
}

BOOST_AUTO_TEST_CASE(last_hint_counts)
{
    od::remembered_terms terms;
    terms.put_hint("n", 5);
    terms.put_hint("n", 6);
    BOOST_TEST(terms.take_hint("n") == 6);
    terms.put_hint("n", 7);
    BOOST_TEST(terms.take_hint("n") == 7);
}

BOOST_AUTO_TEST_CASE(too_many_hints_are_forgotten_and_new_ones_are_kept)
{
    od::remembered_terms terms;
    for (std::size_t i = 0; i < od::max_remembered_terms; ++i) terms.put_hint("n" + std::to_string(i), 1);
    BOOST_TEST(terms.take_hint("n0") == 1);
    terms.put_hint("n1", 2);  // known, so nothing needs to go
    BOOST_TEST(terms.take_hint("n2") == 1);
    terms.put_hint("one more", 3);
    BOOST_TEST(terms.take_hint("one more") == 3);
    BOOST_TEST(terms.take_hint("n3") == 0);
}

BOOST_AUTO_TEST_CASE(hints_give_way_to_late_terms_and_late_terms_to_no_hint)
{
    od::remembered_terms terms;
    for (std::size_t i = 0; i < od::max_remembered_terms; ++i) terms.put_hint("n" + std::to_string(i), 1);
    for (std::size_t i = 0; i < od::max_remembered_terms; ++i) {
        terms.expect("late " + std::to_string(i), "a");
        terms.arrived("late " + std::to_string(i), "a", 8, false);
    }
    BOOST_TEST(terms.take_hint("n0") == 0);
    BOOST_TEST(terms.late() == od::max_remembered_terms);
    BOOST_TEST(terms.names() == od::max_remembered_terms);
    terms.put_hint("n0", 1);
    BOOST_TEST(terms.take_hint("n0") == 0);
    terms.put_hint("late 0", 1);
    BOOST_TEST(terms.take_hint("late 0") == 1);
    BOOST_TEST(terms.late() == od::max_remembered_terms);
}

BOOST_AUTO_TEST_CASE(hint_and_late_terms_of_a_name_have_nothing_to_do_with_each_other)
{
    od::remembered_terms terms;
    terms.put_hint("n", 5);
    terms.expect("n", "a");
    terms.arrived("n", "a", 8, false);
    BOOST_TEST(terms.take_hint("n") == 5);
    terms.put_hint("n", 6);
    terms.given_back("n", "a", 7);
    BOOST_TEST(terms.next_to_end("n", "a") == 8);
    BOOST_TEST(terms.late() == 0U);
    BOOST_TEST(terms.take_hint("n") == 6);
}

BOOST_AUTO_TEST_SUITE_END()
