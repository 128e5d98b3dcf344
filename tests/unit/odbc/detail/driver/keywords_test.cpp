// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/driver/keywords.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(keywords_test)

namespace {

using leasehold::odbc::detail::without_blanks_beside_keywords;

}  // namespace

BOOST_AUTO_TEST_CASE(blanks_beside_a_keyword_are_no_part_of_it)
{
    for (const char* text : {" Driver=SQLite3; Database=jobs.db", "Driver=SQLite3;\n    Database=jobs.db",
                             "Driver =SQLite3;\tDatabase = jobs.db", "Driver=SQLite3;Database=jobs.db"})
        BOOST_TEST(without_blanks_beside_keywords(text) == "Driver=SQLite3;Database=jobs.db");
}

BOOST_AUTO_TEST_CASE(values_stay_as_they_are)
{
    for (const char* text :
         {"Driver=PostgreSQL Unicode;PWD= x ;UID=a b", "PWD={a; b = c};UID=x", "PWD={a}}; b};UID=x", "pqopt={password='a; b'};UID=x",
          "PWD='a; b';UID=x", "PWD={never; closed", "PWD='never;closed", "Database=a=b", "Database=", "=x", ";;=;", "just words", ""})
        BOOST_TEST(without_blanks_beside_keywords(text) == text);
}

// Whatever somebody writes there.
BOOST_AUTO_TEST_CASE(once_is_enough)
{
    constexpr std::string_view letters = "a =;{}' ";
    std::string text;
    for (int length = 0; length < 5; ++length) {
        int all = 1;
        for (int i = 0; i < length; ++i) all *= static_cast<int>(letters.size());
        for (int which = 0; which < all; ++which) {
            text.clear();
            for (int i = 0, rest = which; i < length; ++i, rest /= static_cast<int>(letters.size()))
                text += letters[static_cast<std::size_t>(rest) % letters.size()];
            const std::string once = without_blanks_beside_keywords(text);
            BOOST_TEST_REQUIRE(without_blanks_beside_keywords(once) == once,
                               "'" << text << "' becomes '" << once << "', and that is changed again");
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
