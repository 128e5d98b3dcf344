// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/driver/errors.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(errors_reported_test)

using leasehold::odbc::detail::is_unmarked_sqlite_text;

BOOST_AUTO_TEST_CASE(sqlites_words_are_known_without_its_name_in_front)
{
    BOOST_TEST(is_unmarked_sqlite_text("no such table: leasehold (1)", 1));
    BOOST_TEST(is_unmarked_sqlite_text("UNIQUE constraint failed: leasehold.name (19)", 19));
    BOOST_TEST(!is_unmarked_sqlite_text("[SQLite]no such table: leasehold (1)", 1));
}

BOOST_AUTO_TEST_CASE(other_drivers_words_are_not_taken_for_sqlites)
{
    BOOST_TEST(
        !is_unmarked_sqlite_text("ERROR: relation \"leasehold\" does not exist;\nError while executing the query", 1));
    BOOST_TEST(!is_unmarked_sqlite_text("[ma-3.1.15][10.11.6-MariaDB]Table 'jobs.leasehold' doesn't exist (1146)", 1146));
    BOOST_TEST(!is_unmarked_sqlite_text("connection to server at \"127.0.0.1\", port 1 failed: Connection refused", 101));
    BOOST_TEST(!is_unmarked_sqlite_text("code (2)", 1));
    BOOST_TEST(!is_unmarked_sqlite_text("", 0));
}

BOOST_AUTO_TEST_CASE(servers_words_are_shown_on_one_line_with_nothing_hidden_in_them_but_secrets)
{
    using leasehold::odbc::detail::shown;
    BOOST_TEST(shown("ERROR: no;\nError while executing", {}) == "ERROR: no; Error while executing");
    BOOST_TEST(shown("Key (name)=(a\r\nb\tc)", {}) == "Key (name)=(a  b c)");
    BOOST_TEST(shown("name \u202e\x1b[2J\xff", {}) == "name \\u{202e}\\u{1b}[2J\\xff");
    BOOST_TEST(shown("user \"u pwd=x\"\n, hunter2", {"hunter2", "x"}) == "user \"u pwd=***\" , ***");
}

BOOST_AUTO_TEST_SUITE_END()
