// SPDX-License-Identifier: BSL-1.0
// Terms that were granted after their caller had left: which are ended, and when.
#include <leasehold/odbc/detail/session/remembered_terms.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>

namespace late_terms_test {

using leasehold::odbc::detail::max_remembered_terms;
using leasehold::odbc::detail::remembered_terms;

namespace {

constexpr bool free_name = true;
constexpr bool own_term = false;

struct scene {
    remembered_terms late;

    void expect(int attempts = 1)
    {
        for (int i = 0; i < attempts; ++i) late.expect("n", "a");
    }
    std::int64_t arrived(std::int64_t token, bool fresh)
    {
        late.arrived("n", "a", token, fresh);
        return next();
    }
    std::int64_t given_back(std::int64_t token)
    {
        late.given_back("n", "a", token);
        return next();
    }
    std::int64_t next() { return late.next_to_end("n", "a"); }
};

}  // namespace
}  // namespace late_terms_test

BOOST_FIXTURE_TEST_SUITE(late_terms_test, scene)

BOOST_AUTO_TEST_CASE(term_of_a_free_name_is_ended_at_once)
{
    expect();
    BOOST_TEST(arrived(7, free_name) == 7);
    BOOST_TEST(next() == 0);
    BOOST_TEST(late.late() == 0U);
}

BOOST_AUTO_TEST_CASE(attempt_that_was_not_granted_leaves_nothing)
{
    expect();
    BOOST_TEST(arrived(0, free_name) == 0);
    BOOST_TEST(late.late() == 0U);
}

BOOST_AUTO_TEST_CASE(term_that_took_over_its_owners_own_is_left_until_that_one_is_given_back)
{
    expect();
    BOOST_TEST(arrived(8, own_term) == 0);
    BOOST_TEST(given_back(6) == 0);
    BOOST_TEST(given_back(7) == 8);
    BOOST_TEST(late.late() == 0U);
}

BOOST_AUTO_TEST_CASE(term_is_ended_on_arrival_if_the_one_it_took_over_was_given_back_meanwhile)
{
    expect();
    BOOST_TEST(given_back(7) == 0);
    BOOST_TEST(arrived(8, own_term) == 8);
    BOOST_TEST(late.late() == 0U);
}

BOOST_AUTO_TEST_CASE(term_is_left_if_only_an_earlier_one_was_given_back_meanwhile)
{
    expect();
    BOOST_TEST(given_back(6) == 0);
    BOOST_TEST(arrived(8, own_term) == 0);
}

// As when a frozen server goes on and carries out what it had been sent.
BOOST_AUTO_TEST_CASE(terms_that_took_over_each_other_are_all_ended_whichever_is_told_first)
{
    expect(3);
    BOOST_TEST(arrived(5, free_name) == 5);
    BOOST_TEST(arrived(6, own_term) == 6);
    BOOST_TEST(arrived(7, own_term) == 7);
    BOOST_TEST(late.late() == 0U);

    expect(3);
    BOOST_TEST(arrived(7, own_term) == 0);
    BOOST_TEST(arrived(6, own_term) == 0);
    BOOST_TEST(arrived(5, free_name) == 5);
    BOOST_TEST(next() == 6);
    BOOST_TEST(next() == 7);
    BOOST_TEST(next() == 0);
    BOOST_TEST(late.late() == 0U);
}

BOOST_AUTO_TEST_CASE(term_that_the_owner_was_told_of_ends_the_care_for_those_before_it)
{
    expect();
    BOOST_TEST(arrived(8, own_term) == 0);
    late.told("n", "a", 7);
    BOOST_TEST(late.late() == 1U);
    late.told("n", "a", 9);
    BOOST_TEST(late.late() == 0U);
}

BOOST_AUTO_TEST_CASE(other_names_and_owners_have_nothing_to_do_with_it)
{
    expect();
    BOOST_TEST(arrived(8, own_term) == 0);
    late.given_back("n", "b", 7);
    late.given_back("na", "", 7);
    late.given_back("m", "a", 7);
    BOOST_TEST(next() == 0);
    BOOST_TEST(late.next_to_end("n", "b") == 0);
    BOOST_TEST(given_back(7) == 8);
}

BOOST_AUTO_TEST_CASE(number_of_names_is_bounded_and_those_under_way_are_kept)
{
    expect();
    for (std::size_t i = 0; i < max_remembered_terms + 10; ++i) {
        const std::string name = "other " + std::to_string(i);
        late.expect(name, "a");
        late.arrived(name, "a", 8, own_term);
    }
    BOOST_TEST(late.late() <= max_remembered_terms);
    BOOST_TEST(late.names() <= max_remembered_terms + 1);
    BOOST_TEST(arrived(5, free_name) == 5);
}

BOOST_AUTO_TEST_CASE(number_of_owners_of_a_name_is_bounded_too)
{
    expect();
    for (std::size_t i = 0; i < max_remembered_terms + 10; ++i) {
        const std::string owner = "other " + std::to_string(i);
        late.expect("n", owner);
        late.arrived("n", owner, 8, own_term);
    }
    BOOST_TEST(late.late() <= max_remembered_terms);
    BOOST_TEST(arrived(5, free_name) == 5);
}

BOOST_AUTO_TEST_SUITE_END()
