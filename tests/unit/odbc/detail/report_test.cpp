// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/report.hpp>

#include <boost/test/unit_test.hpp>

using leasehold::odbc::detail::is_unmarked_sqlite_text;

BOOST_AUTO_TEST_SUITE(report_test)

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

BOOST_AUTO_TEST_SUITE_END()
