// SPDX-License-Identifier: BSL-1.0
// What is made of the words of drivers and servers; the texts are what they really say.
#include <support/printing.hpp>
#include <unit/odbc/detail/flow/scripted_database.hpp>

#include <leasehold/odbc/detail/driver/errors.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(errors_classified_test)

namespace {

using leasehold::odbc::detail::classify;
using leasehold::odbc::detail::fault;

fault kind_of(std::string_view sqlstate, int native, std::string_view text) { return classify(sqlstate, native, text).kind; }

}  // namespace

BOOST_AUTO_TEST_CASE(failure_that_another_try_may_cure_is_a_conflict)
{
    BOOST_TEST(kind_of("40001", 0, "ERROR: could not serialize access due to concurrent update") == fault::conflict);
    BOOST_TEST(kind_of("40P01", 0, "ERROR: deadlock detected") == fault::conflict);
    BOOST_TEST(kind_of("40001", 1213, "Deadlock found when trying to get lock") == fault::conflict);
    BOOST_TEST(kind_of("HY000", 1180, "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT") == fault::conflict);
    BOOST_TEST(kind_of("HY000", 1180, "Got error 6 \"No such device or address\" during COMMIT") == fault::connection_lost);
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
    BOOST_TEST(kind_of("23000", -8, "Uniqueness violation") == fault::duplicate_key);
    BOOST_TEST(kind_of("23000", 1048, "Column 'owner' cannot be null") == fault::failure);
}

BOOST_AUTO_TEST_CASE(constraint_that_is_no_key_is_a_failure_with_advice)
{
    namespace advice = leasehold::odbc::detail::advice;
    const auto is_constraint = [](std::string_view sqlstate, int native, std::string_view text) {
        const auto found = classify(sqlstate, native, text);
        BOOST_TEST(found.kind == fault::failure, text);
        BOOST_TEST(found.advice == std::string_view{advice::constraint}, text);
    };
    is_constraint("23000", 1452, "[ma-3.1.15][10.11.6-MariaDB]Cannot add or update a child row: a foreign key constraint fails");
    is_constraint("23000", 4025, "[ma-3.1.15][10.11.6-MariaDB]CONSTRAINT `names` failed for `leasehold`.`leasehold`");
    is_constraint("23000", 1644, "[ma-3.1.15][10.11.6-MariaDB]said by a trigger");
    is_constraint("HY000", 3819, "[ma-3.1.15][9.7.4]Check constraint 'names' is violated.");
    is_constraint("23000", 1452, "[MySQL][ODBC 9.0(w) Driver]Cannot add or update a child row");
    is_constraint("23503", 1, "ERROR: insert or update on table violates foreign key constraint");
    is_constraint("23514", 1, "ERROR: new row for relation violates check constraint");
    is_constraint("23P01", 1, "ERROR: conflicting key value violates exclusion constraint");
    is_constraint("HY000", 19, "[SQLite]FOREIGN KEY constraint failed (19)");
    is_constraint("HY000", 19, "[SQLite]CHECK constraint failed: names (19)");
    BOOST_TEST(kind_of("23000", 1062, "[ma-3.1.15][10.11.6-MariaDB]Duplicate entry 'n' for key 'PRIMARY'") == fault::duplicate_key);
}

// HSQLDB has one SQLSTATE for a missing table and a missing right.
BOOST_AUTO_TEST_CASE(table_that_hsqldb_does_not_find_is_missing)
{
    BOOST_TEST(kind_of("42501", 1, "ERROR: user lacks privilege or object not found: leasehold") == fault::schema_missing);
    BOOST_TEST(kind_of("42501", 1, "ERROR: permission denied for table leasehold") == fault::failure);
}

BOOST_AUTO_TEST_CASE(lost_connection_is_told_from_one_that_could_not_be_made)
{
    BOOST_TEST(kind_of("57P01", 0, "FATAL: terminating connection due to administrator command") == fault::connection_lost);
    BOOST_TEST(kind_of("08S01", 0, "Could not send Query(connection dead)") == fault::connection_lost);
    BOOST_TEST(kind_of("HY000", 2006, "MySQL server has gone away") == fault::connection_lost);
    BOOST_TEST(kind_of("HY000", 2013, "Lost connection to MySQL server during query") == fault::connection_lost);
    BOOST_TEST(kind_of("08001", 101, "could not connect to server: Connection refused") == fault::unavailable);
    BOOST_TEST(kind_of("HY000", 2026, "TLS/SSL error: unexpected eof while reading") == fault::connection_lost);
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
    for (const char* word : {"odbc_options::columns", "docs/migrating.md"})
        BOOST_TEST(std::string_view{column.advice}.find(word) != std::string_view::npos);
    BOOST_TEST(kind_of("42S02", 1146, "Table 'leasehold.leasehold' doesn't exist") == fault::schema_missing);
    BOOST_TEST(kind_of("HY000", 1, "[SQLite]no such table: leasehold (1)") == fault::schema_missing);
    BOOST_TEST(kind_of("HY000", 1, "[SQLite]no such column: token (1)") == fault::schema_missing);
}

BOOST_AUTO_TEST_CASE(table_without_a_key_says_so)
{
    const auto found = classify("42P10", 1, "ERROR: there is no unique or exclusion constraint matching the ON CONFLICT specification");
    BOOST_TEST(found.kind == fault::failure);
    BOOST_TEST(std::string_view{found.advice}.find("primary key") != std::string_view::npos);
    const auto sqlite = classify("HY000", 1, "[SQLite]ON CONFLICT clause does not match any PRIMARY KEY or UNIQUE constraint (1)");
    BOOST_TEST(sqlite.advice == found.advice);
}

BOOST_AUTO_TEST_CASE(columns_of_other_types_are_told_from_missing_ones)
{
    const auto found = classify("42883", 1, "ERROR: operator does not exist: text > timestamp with time zone");
    BOOST_TEST(found.kind == fault::failure);
    BOOST_TEST(std::string_view{found.advice}.find("schema_sql()") != std::string_view::npos);
    BOOST_TEST(classify("42804", 1, "ERROR: column \"expires_at\" is of type text").advice == found.advice);
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

BOOST_AUTO_TEST_CASE(server_that_demands_tls_says_so)
{
    const auto refused = classify("08004", 3159, "Connections using insecure transport are prohibited");
    BOOST_TEST(refused.kind == fault::unavailable);
    BOOST_TEST(std::string_view{refused.advice}.find("TLS") != std::string_view::npos);
}

// A lease, its owner, a table and a database may be called anything, and messages quote them.
BOOST_AUTO_TEST_CASE(names_in_a_message_decide_nothing)
{
    constexpr std::array<std::string_view, 18> names{"password",
                                                     "password authentication failed",
                                                     "FATAL:  the database system is starting up",
                                                     "the database system is",
                                                     "sorry, too many clients",
                                                     "too many clients",
                                                     "remaining connection slots",
                                                     "no pg_hba.conf entry",
                                                     "[SQLite]no such table",
                                                     "has no column named",
                                                     "Can't open lib",
                                                     "cached plan must not change",
                                                     "DECLARE CURSOR",
                                                     "server closed the connection",
                                                     "terminating connection",
                                                     "connection has been lost",
                                                     "no connection to the server",
                                                     "Duplicate"};
    for (const std::string_view name : names) {
        const std::string quoted = "\"" + std::string{name} + "\"";
        const auto unchanged = [&](std::string_view sqlstate, int native, const std::string& before, const std::string& after) {
            const auto plain = classify(sqlstate, native, before + "\"n\"" + after);
            const auto named = classify(sqlstate, native, before + quoted + after);
            BOOST_TEST(named.kind == plain.kind, sqlstate << ' ' << before << quoted);
            BOOST_TEST(named.advice == std::string_view{plain.advice}, sqlstate << ' ' << before << quoted);
        };
        unchanged("42P01", 1, "ERROR: relation ", " does not exist;\nError while executing the query");
        unchanged("23505", 1, "ERROR: duplicate key value violates unique constraint \"leasehold_pkey\";\nKey (name)=(",
                  ") already exists.;\nError while executing the query");
        unchanged("23000", 1062, "[ma-3.1.15][10.11.6-MariaDB]Duplicate entry ", " for key 'PRIMARY'");
        unchanged("42S02", 1146, "[ma-3.1.15][10.11.6-MariaDB]Table ", " doesn't exist");
        unchanged("42000", 1044, "[ma-3.1.15]Access denied for user 'u'@'h' to database ", "");
        unchanged("08S01", 35, "", ";\nThe connection has been lost");
        unchanged("0A000", 1, "ERROR: ", " is not supported");
        unchanged("HY000", 1, "[SQLite]no such table: ", " (1)");
        unchanged("HY000", 19, "[SQLite]UNIQUE constraint failed: ", " (19)");
        unchanged("HY000", 1, "[SQLite]near ", ": syntax error (1)");
        unchanged("01000", 0, "[unixODBC][Driver Manager]Can't open lib ", " : file not found");
        unchanged("XX000", 1, "ERROR: ", "");
        unchanged("HY000", 4711, "", "");
    }
}

BOOST_AUTO_TEST_CASE(postgresql_tells_why_it_refuses_a_connection_in_words_alone)
{
    const auto refused = [](std::string_view why) {
        return classify("08001", 101, "connection to server at \"h\" (10.0.0.1), port 5432 failed: FATAL:  " + std::string{why});
    };
    namespace advice = leasehold::odbc::detail::advice;
    BOOST_TEST(refused("the database system is in recovery mode").kind == fault::starting);
    BOOST_TEST(refused("password authentication failed for user \"u\"").advice == std::string_view{advice::log_in});
    BOOST_TEST(refused("no pg_hba.conf entry for host \"h\"").advice == std::string_view{advice::log_in});
    BOOST_TEST(refused("role \"u\" does not exist").advice == std::string_view{advice::log_in});
    BOOST_TEST(refused("database \"password\" does not exist").advice == std::string_view{advice::database});
    BOOST_TEST(refused("sorry, too many clients already").advice == std::string_view{advice::too_many});
    BOOST_TEST(refused("too many connections for role \"app\"").advice == std::string_view{advice::too_many});
    BOOST_TEST(refused("remaining connection slots are reserved").advice == std::string_view{advice::too_many});
    BOOST_TEST(refused("Passwort-Authentifizierung fehlgeschlagen").kind == fault::unavailable);
    BOOST_TEST(refused("Passwort-Authentifizierung fehlgeschlagen").advice == std::string_view{advice::no_connection});
}

BOOST_AUTO_TEST_CASE(sqlites_missing_column_is_known_by_the_shape_of_its_words)
{
    BOOST_TEST(kind_of("HY000", 1, "[SQLite]table leasehold has no column named token (1)") == fault::schema_missing);
    BOOST_TEST(kind_of("HY000", 1, "[SQLite]table a has no column named b already exists (1)") == fault::schema_missing);
    BOOST_TEST(kind_of("HY000", 1, "[SQLite]table \"x has no column named y\" already exists (1)") == fault::failure);
    BOOST_TEST(kind_of("HY000", 1, "[SQLite]table") == fault::failure);
}

BOOST_AUTO_TEST_CASE(only_what_is_in_the_tables_is_known)
{
    BOOST_TEST(classify("42P01", 1, "").known);
    BOOST_TEST(classify("HY000", 5, "[SQLite]database is locked (5)").known);
    BOOST_TEST(!classify("HY000", 1, "SSL SYSCALL error: EOF detected").known);
    BOOST_TEST(!classify("HY000", 1, "Server beendete die Verbindung unerwartet").known);
}

BOOST_AUTO_TEST_CASE(server_that_refuses_to_write_is_read_only)
{
    BOOST_TEST(kind_of("25006", 1, "ERROR: cannot execute INSERT in a read-only transaction") == fault::read_only);
    BOOST_TEST(kind_of("HY000", 1290, "The MariaDB server is running with the --read-only option") == fault::read_only);
    BOOST_TEST(kind_of("HY000", 1836, "Running in read-only mode") == fault::read_only);
    BOOST_TEST(kind_of("HY000", 8, "[SQLite]attempt to write a readonly database (8)") == fault::read_only);
}

BOOST_AUTO_TEST_CASE(unknown_failure_has_no_advice)
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
    BOOST_TEST(errc_of(fault::read_only) == errc::store_failure);
    BOOST_TEST(errc_of(fault::failure) == errc::store_failure);
    BOOST_TEST(errc_of(fault::duplicate_key) == errc::store_failure);
}

namespace {

bool is_refused(std::string_view sqlstate, int native, std::string_view text)
{
    using leasehold::odbc::detail::is_refused_function;
    return is_refused_function({kind_of(sqlstate, native, text), {std::string{sqlstate}, native, "", std::string{text}}});
}

}  // namespace

BOOST_AUTO_TEST_CASE(function_that_the_server_has_not_or_the_user_may_not_call_is_refused)
{
    BOOST_TEST(is_refused("42883", 1, "ERROR: function pg_try_advisory_lock(bigint) does not exist"));
    BOOST_TEST(is_refused("42501", 1, "ERROR: permission denied for function pg_advisory_lock"));
    BOOST_TEST(is_refused("0A000", 1, "ERROR: advisory locks are not supported"));
    BOOST_TEST(is_refused("42000", 1235, "[ma-3.1.15][10.11.3-MariaDB]This version of MariaDB doesn't yet support 'GET_LOCK in cluster'"));
    BOOST_TEST(is_refused("42000", 1305, "FUNCTION jobs.get_lock does not exist"));
    BOOST_TEST(is_refused("42000", 1128, "Function 'get_lock' is not defined"));
    BOOST_TEST(is_refused("42000", 1227, "Access denied; you need (at least one of) the SUPER privilege(s) for this operation"));
    BOOST_TEST(is_refused("42000", 1370, "execute command denied to user 'u'@'%' for routine 'jobs.get_lock'"));
    BOOST_TEST(is_refused("HY000", 1105, "[ma-3.1.15][8.0.36-28.1]Percona-XtraDB-Cluster prohibits use of GET_LOCK with"
                                         " pxc_strict_mode = ENFORCING"));
}

BOOST_AUTO_TEST_CASE(failure_that_may_pass_refuses_no_function)
{
    BOOST_TEST(!is_refused("57014", 1, "ERROR: canceling statement due to user request"));
    BOOST_TEST(!is_refused("70100", 1317, "Query execution was interrupted"));
    BOOST_TEST(!is_refused("55P03", 1, "ERROR: canceling statement due to lock timeout"));
    BOOST_TEST(!is_refused("HYT00", 0, "Timeout expired"));
    BOOST_TEST(!is_refused("57P01", 1, "FATAL: terminating connection due to administrator command"));
    BOOST_TEST(!is_refused("57P03", 1, "FATAL: the database system is starting up"));
    BOOST_TEST(!is_refused("08S01", 1053, "Server shutdown in progress"));
    BOOST_TEST(!is_refused("08S01", 1047, "WSREP has not yet prepared node for application use"));
    BOOST_TEST(!is_refused("08004", 1040, "Too many connections"));
    BOOST_TEST(!is_refused("53300", 1, "FATAL: sorry, too many clients already"));
    BOOST_TEST(!is_refused("25006", 1, "ERROR: cannot execute SELECT FOR UPDATE in a read-only transaction"));
    BOOST_TEST(!is_refused("HY000", 1290, "The MariaDB server is running with the --read-only option so it cannot execute this statement"));
    BOOST_TEST(!is_refused("42501", 1, "ERROR: user lacks privilege or object not found: leasehold"));
    // Failures, as those that are refused.
    BOOST_TEST(!is_refused("53200", 1, "ERROR: out of memory"));
    BOOST_TEST(!is_refused("XX000", 1, "ERROR: cache lookup failed"));
    BOOST_TEST(!is_refused("HY001", 1041, "Out of memory"));
    BOOST_TEST(!is_refused("HY000", 3032, "The server is currently in offline mode"));
    BOOST_TEST(!is_refused("42000", 1461, "Can't create more than max_prepared_stmt_count statements (current value: 16382)"));
    BOOST_TEST(!is_refused("HY000", 3058, "Deadlock found when trying to get user-level lock"));
    BOOST_TEST(!is_refused("HY000", 1105, "Unknown error"));
    BOOST_TEST(!is_refused("", 0, ""));
}

BOOST_AUTO_TEST_SUITE_END()
