// SPDX-License-Identifier: BSL-1.0
// What is made of the words of drivers and servers; the texts are what they really say.
#include <support/printing.hpp>
#include <unit/odbc/detail/scripted_database.hpp>

#include <leasehold/odbc/detail/classify.hpp>

#include <boost/test/unit_test.hpp>

#include <string_view>

namespace {

using leasehold::odbc::detail::classify;
using leasehold::odbc::detail::fault;

fault kind_of(std::string_view sqlstate, int native, std::string_view text) { return classify(sqlstate, native, text).kind; }

}  // namespace

BOOST_AUTO_TEST_SUITE(classify_test)

BOOST_AUTO_TEST_CASE(what_another_try_may_cure_is_a_conflict)
{
    BOOST_TEST(kind_of("40001", 0, "ERROR: could not serialize access due to concurrent update") == fault::conflict);
    BOOST_TEST(kind_of("40P01", 0, "ERROR: deadlock detected") == fault::conflict);
    BOOST_TEST(kind_of("40001", 1213, "Deadlock found when trying to get lock") == fault::conflict);
    BOOST_TEST(kind_of("HY000", 1020, "Record has changed since last read in table 'leasehold'") == fault::conflict);
    BOOST_TEST(kind_of("HY000", 5, "[SQLite]database is locked (5)") == fault::conflict);
    BOOST_TEST(kind_of("HY000", 1, "[SQLite]database is locked") == fault::conflict);
}

BOOST_AUTO_TEST_CASE(sqlites_codes_count_only_where_sqlite_says_them)
{
    BOOST_TEST(kind_of("HY000", 5, "[SQLite]") == fault::conflict);
    BOOST_TEST(kind_of("HY000", 5, "something else") == fault::failure);
    BOOST_TEST(kind_of("HY000", 13, "[SQLite]database or disk is full") == fault::failure);
    BOOST_TEST(kind_of("HY000", 14, "[SQLite]unable to open database file") == fault::unavailable);
}

BOOST_AUTO_TEST_CASE(locked_row_is_told_from_a_conflict)
{
    BOOST_TEST(kind_of("55P03", 0, "ERROR: canceling statement due to lock timeout") == fault::lock_timeout);
    BOOST_TEST(kind_of("HY000", 1205, "Lock wait timeout exceeded; try restarting transaction") == fault::lock_timeout);
}

BOOST_AUTO_TEST_CASE(row_that_somebody_else_inserted_is_a_duplicate_key)
{
    BOOST_TEST(kind_of("23505", 0, "ERROR: duplicate key value violates unique constraint") == fault::duplicate_key);
    BOOST_TEST(kind_of("23000", 1062, "Duplicate entry 'n' for key 'PRIMARY'") == fault::duplicate_key);
    BOOST_TEST(kind_of("HY000", 19, "[SQLite]UNIQUE constraint failed: leasehold.name (19)") == fault::duplicate_key);
    BOOST_TEST(kind_of("23000", 0, "Duplicate key") == fault::duplicate_key);
    BOOST_TEST(kind_of("23000", 1048, "Column 'owner' cannot be null") == fault::failure);
}

BOOST_AUTO_TEST_CASE(lost_connection_is_told_from_one_that_could_not_be_made)
{
    BOOST_TEST(kind_of("57P01", 0, "FATAL: terminating connection due to administrator command") == fault::connection_lost);
    BOOST_TEST(kind_of("08S01", 0, "Could not send Query(connection dead)") == fault::connection_lost);
    BOOST_TEST(kind_of("HY000", 2006, "MySQL server has gone away") == fault::connection_lost);
    BOOST_TEST(kind_of("HY000", 2013, "Lost connection to MySQL server during query") == fault::connection_lost);
    BOOST_TEST(kind_of("08001", 101, "could not connect to server: Connection refused") == fault::unavailable);
    BOOST_TEST(kind_of("HY000", 2002, "Can't connect to MySQL server on '127.0.0.1'") == fault::unavailable);
    BOOST_TEST(kind_of("08001", 101, "FATAL:  the database system is starting up") == fault::starting);
    BOOST_TEST(kind_of("57P03", 0, "") == fault::starting);
}

BOOST_AUTO_TEST_CASE(statement_that_took_too_long_is_a_timeout)
{
    BOOST_TEST(kind_of("57014", 0, "ERROR: canceling statement due to statement timeout") == fault::timeout);
    BOOST_TEST(kind_of("HY000", 1969, "Query execution was interrupted (max_statement_time exceeded)") == fault::timeout);
    BOOST_TEST(kind_of("HYT00", 0, "") == fault::timeout);
}

BOOST_AUTO_TEST_CASE(missing_table_and_missing_column_have_different_advice)
{
    const auto table = classify("42P01", 0, "ERROR: relation \"leasehold\" does not exist");
    const auto column = classify("42703", 0, "ERROR: column \"token\" does not exist");
    BOOST_TEST(table.kind == fault::schema_missing);
    BOOST_TEST(column.kind == fault::schema_missing);
    BOOST_TEST(std::string_view{table.advice}.find("create_schema") != std::string_view::npos);
    BOOST_TEST(std::string_view{column.advice}.find("columns") != std::string_view::npos);
    BOOST_TEST(kind_of("42S02", 1146, "Table 'leasehold.leasehold' doesn't exist") == fault::schema_missing);
    BOOST_TEST(kind_of("HY000", 1, "[SQLite]no such table: leasehold (1)") == fault::schema_missing);
    BOOST_TEST(kind_of("HY000", 1, "[SQLite]no such column: token (1)") == fault::schema_missing);
}

BOOST_AUTO_TEST_CASE(refused_log_in_is_told_from_a_missing_database)
{
    const auto log_in = classify("08001", 101, "FATAL:  password authentication failed for user \"u\"");
    const auto database = classify("08001", 101, "FATAL:  database \"nothing\" does not exist");
    BOOST_TEST(log_in.kind == fault::unavailable);
    BOOST_TEST(database.kind == fault::unavailable);
    BOOST_TEST(std::string_view{log_in.advice} != std::string_view{database.advice});
    BOOST_TEST(kind_of("28000", 1045, "Access denied for user 'u'@'localhost'") == fault::unavailable);
    BOOST_TEST(kind_of("42000", 1049, "Unknown database 'nothing'") == fault::unavailable);
}

BOOST_AUTO_TEST_CASE(what_nobody_knows_is_a_failure_without_advice)
{
    const auto found = classify("HY000", 424242, "Something new");
    BOOST_TEST(found.kind == fault::failure);
    BOOST_TEST(found.advice == "");
    BOOST_TEST(kind_of("", 0, "") == fault::failure);
}

BOOST_AUTO_TEST_CASE(every_kind_has_an_error_code)
{
    using leasehold::errc;
    using leasehold::odbc::detail::errc_of;
    BOOST_TEST(errc_of(fault::conflict) == errc::store_conflict);
    BOOST_TEST(errc_of(fault::lock_timeout) == errc::store_conflict);
    BOOST_TEST(errc_of(fault::connection_lost) == errc::store_unavailable);
    BOOST_TEST(errc_of(fault::starting) == errc::store_unavailable);
    BOOST_TEST(errc_of(fault::unavailable) == errc::store_unavailable);
    BOOST_TEST(errc_of(fault::timeout) == errc::store_timeout);
    BOOST_TEST(errc_of(fault::schema_missing) == errc::schema_missing);
    BOOST_TEST(errc_of(fault::failure) == errc::store_failure);
    BOOST_TEST(errc_of(fault::duplicate_key) == errc::store_failure);
}

BOOST_AUTO_TEST_SUITE_END()
