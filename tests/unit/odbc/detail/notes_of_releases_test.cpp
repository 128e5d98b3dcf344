// SPDX-License-Identifier: BSL-1.0
// What a store remembers of its releases: those that went well, and those of which nobody knows.
#include <support/printing.hpp>

#include <leasehold/odbc/detail/token_hints.hpp>
#include <leasehold/odbc/detail/unfinished_releases.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <string>

using namespace std::chrono_literals;
namespace od = leasehold::odbc::detail;

BOOST_AUTO_TEST_SUITE(notes_of_releases_test)

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

BOOST_AUTO_TEST_CASE(unfinished_release_is_remembered_for_its_name_and_owner_until_it_is_done)
{
    od::unfinished_releases unfinished;
    BOOST_TEST(!unfinished.find("n", "a").has_value());
    unfinished.put("n", "a", {5, 2s});
    BOOST_TEST(!unfinished.find("n", "b").has_value());
    BOOST_TEST(!unfinished.find("m", "a").has_value());
    BOOST_REQUIRE(unfinished.find("n", "a").has_value());
    BOOST_TEST(unfinished.find("n", "a")->token == 5);
    BOOST_TEST(unfinished.find("n", "a")->keep_closed == 2s);
    unfinished.put("n", "a", {6, 0s});
    BOOST_TEST(unfinished.find("n", "a")->token == 6);
    unfinished.erase("n", "b");
    BOOST_TEST(unfinished.find("n", "a").has_value());
    unfinished.erase("n", "a");
    BOOST_TEST(!unfinished.find("n", "a").has_value());
}

BOOST_AUTO_TEST_CASE(where_the_name_ends_and_the_owner_begins_matters)
{
    od::unfinished_releases unfinished;
    unfinished.put("ab", "c", {1, 0s});
    BOOST_TEST(!unfinished.find("a", "bc").has_value());
}

BOOST_AUTO_TEST_CASE(number_of_unfinished_releases_is_bounded)
{
    od::unfinished_releases unfinished;
    for (std::size_t i = 0; i < od::max_unfinished_releases + 10; ++i) unfinished.put("n" + std::to_string(i), "a", {1, 0s});
    std::size_t remembered = 0;
    for (std::size_t i = 0; i < od::max_unfinished_releases + 10; ++i)
        remembered += unfinished.find("n" + std::to_string(i), "a").has_value();
    BOOST_TEST(remembered == od::max_unfinished_releases);
    BOOST_TEST(unfinished.find("n" + std::to_string(od::max_unfinished_releases + 9), "a").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
