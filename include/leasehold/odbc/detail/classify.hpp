// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_CLASSIFY_HPP
#define LEASEHOLD_ODBC_DETAIL_CLASSIFY_HPP

#include <leasehold/odbc/detail/fault.hpp>

#include <array>
#include <string_view>

namespace leasehold::inline v0::odbc::detail {

// One line of the table below: it fits where every part that it names fits.
struct fault_rule {
    std::string_view sqlstate;  // a prefix
    int native;                 // 0: any
    std::string_view text;      // somewhere in the message
    fault kind;
    const char* advice;
};

namespace advice {

inline constexpr const char* table =
    "the table is not there: call create_schema() once, or check odbc_options::table and the connection's default schema";
inline constexpr const char* column =
    "a column is not there: check odbc_options::columns, and add the token column (a 64-bit integer) to a table taken over";
inline constexpr const char* log_in = "the database refuses the log-in: check user and password in the connection string";
inline constexpr const char* database = "the database of that name is not there, or not for this user: check Database in the connection string";
inline constexpr const char* driver =
    "the ODBC driver or data source is not there: the connection string must be keyword=value;... with a Driver= of"
    " odbcinst -q -d or a DSN= of odbcinst -q -s";
inline constexpr const char* no_server =
    "no server answers there: check Server and Port in the connection string, and that it runs";
inline constexpr const char* file =
    "the file can't be opened: check the path in Database, its folder, and the rights to both";
inline constexpr const char* not_a_database = "the file is not an SQLite database, or is encrypted";
inline constexpr const char* set_up = "a statement that sets up a new connection failed: check odbc_options::on_connect";
inline constexpr const char* lost = "the connection was lost";
inline constexpr const char* starting = "the server is starting up or shutting down";
inline constexpr const char* too_many = "the server has no connection left: lower pool_size, or raise the server's limit";
inline constexpr const char* read_only = "the database is read-only: connect to the primary, or make it writable";
inline constexpr const char* full = "the database's disk is full";
inline constexpr const char* permission =
    "the user may not do this: grant SELECT, INSERT and UPDATE on the table, DELETE for purge(), and the right to create it for"
    " create_schema()";
inline constexpr const char* conflict = "concurrent transactions kept getting in the way";
inline constexpr const char* locked = "another transaction has the row locked";
inline constexpr const char* encoding = "the database can't store this text: its encoding, or the column's, must be UTF-8";
inline constexpr const char* declare_fetch =
    "psqlODBC's UseDeclareFetch can't be used here: take it out of the connection string";
inline constexpr const char* no_majority = "this node of the cluster is cut off from the majority, or still joining";
inline constexpr const char* fence_index =
    "a fence needs the index leasehold_fence on name and token: create it, as schema_sql() shows";
inline constexpr const char* no_integers =
    "the driver answers with success, but gives no 64-bit integers (SQL_C_SBIGINT): it can't be used";
inline constexpr const char* no_count =
    "the driver does not count the rows that a statement changes (SQLRowCount): use dialect::generic, which reads them back";
inline constexpr const char* numbers_not_kept =
    "what was written is not what is read: the columns of token, version and ttl must be 64-bit integers, and the driver must"
    " pass such (SQL_C_SBIGINT)";
inline constexpr const char* texts_not_kept =
    "what was written is not what is read: names and owners must come back byte by byte, so no CHAR, no padding, no change of"
    " case or encoding";
inline constexpr const char* row_not_kept = "what was written can't be read back";
inline constexpr const char* not_committed =
    "what one connection has written another one does not see: the driver does not commit (SQL_ATTR_AUTOCOMMIT)";
inline constexpr const char* slow = "the server ended the statement because it took too long";

}  // namespace advice

// The first line that fits decides. SQLSTATE goes first, the native code where a driver gives only HY000 or 42000, the
// text where it gives neither. psqlODBC has one SQLSTATE, 08001, for all that can go wrong in connecting; libsqliteodbc has
// HY000 for everything and SQLite's result code as native code, which is why its lines ask for its name in the text.
inline constexpr auto fault_rules = std::to_array<fault_rule>({
    {"", 5, "[SQLite]", fault::conflict, advice::conflict},
    {"", 6, "[SQLite]", fault::conflict, advice::conflict},
    {"", 17, "[SQLite]", fault::conflict, advice::conflict},
    {"", 8, "[SQLite]", fault::failure, advice::read_only},
    {"", 13, "[SQLite]", fault::failure, advice::full},
    {"", 14, "[SQLite]", fault::unavailable, advice::file},
    {"", 26, "[SQLite]", fault::unavailable, advice::not_a_database},
    {"", 0, "[SQLite]UNIQUE constraint", fault::duplicate_key, ""},
    {"", 0, "[SQLite]no such table", fault::schema_missing, advice::table},
    {"", 0, "[SQLite]no such column", fault::schema_missing, advice::column},
    {"", 0, "[SQLite]unknown database", fault::schema_missing, advice::table},
    {"", 0, "has no column named", fault::schema_missing, advice::column},
    {"", 0, "[SQLite]database is locked", fault::conflict, advice::conflict},

    {"01000", 0, "Can't open lib", fault::unavailable, advice::driver},
    {"IM", 0, "", fault::unavailable, advice::driver},

    {"", 0, "the database system is", fault::starting, advice::starting},
    {"", 0, "password", fault::unavailable, advice::log_in},
    {"28", 0, "", fault::unavailable, advice::log_in},
    {"", 1045, "", fault::unavailable, advice::log_in},
    {"", 1698, "", fault::unavailable, advice::log_in},
    {"", 0, "no pg_hba.conf entry", fault::unavailable, advice::log_in},
    {"08001", 0, "FATAL:  role", fault::unavailable, advice::log_in},
    {"08001", 0, "FATAL:  database", fault::unavailable, advice::database},
    {"3D000", 0, "", fault::unavailable, advice::database},
    {"", 1049, "", fault::unavailable, advice::database},
    {"53300", 0, "", fault::unavailable, advice::too_many},
    {"", 0, "too many clients", fault::unavailable, advice::too_many},
    {"", 0, "remaining connection slots", fault::unavailable, advice::too_many},
    {"", 1040, "", fault::unavailable, advice::too_many},
    {"", 1203, "", fault::unavailable, advice::too_many},
    {"", 2002, "", fault::unavailable, advice::no_server},
    {"", 2003, "", fault::unavailable, advice::no_server},
    {"", 2005, "", fault::unavailable, advice::no_server},
    {"08001", 0, "", fault::unavailable, advice::no_server},

    {"55P03", 0, "", fault::lock_timeout, advice::locked},
    {"", 1205, "", fault::lock_timeout, advice::locked},
    {"40", 0, "", fault::conflict, advice::conflict},
    {"0A000", 0, "cached plan must not change", fault::conflict, advice::conflict},
    {"", 1213, "", fault::conflict, advice::conflict},
    {"HY000", 1020, "", fault::conflict, advice::conflict},
    {"", 1317, "", fault::conflict, advice::conflict},
    {"57014", 0, "", fault::timeout, advice::slow},
    {"", 1969, "", fault::timeout, advice::slow},
    {"", 3024, "", fault::timeout, advice::slow},
    {"HYT", 0, "", fault::timeout, advice::slow},

    {"", 1047, "", fault::connection_lost, advice::no_majority},
    {"", 1180, "", fault::connection_lost, advice::no_majority},
    {"57P03", 0, "", fault::starting, advice::starting},
    {"57P", 0, "", fault::connection_lost, advice::lost},
    {"08", 0, "", fault::connection_lost, advice::lost},
    {"", 2006, "", fault::connection_lost, advice::lost},
    {"", 2013, "", fault::connection_lost, advice::lost},
    {"", 2055, "", fault::connection_lost, advice::lost},
    {"", 1927, "", fault::connection_lost, advice::lost},
    {"", 1053, "", fault::connection_lost, advice::lost},
    {"", 4031, "", fault::connection_lost, advice::lost},
    {"", 0, "server closed the connection", fault::connection_lost, advice::lost},
    {"", 0, "terminating connection", fault::connection_lost, advice::lost},
    {"", 0, "connection has been lost", fault::connection_lost, advice::lost},
    {"", 0, "no connection to the server", fault::connection_lost, advice::lost},
    {"", 0, "SSL connection has been closed", fault::connection_lost, advice::lost},

    {"23505", 0, "", fault::duplicate_key, ""},
    {"", 1062, "", fault::duplicate_key, ""},
    {"23000", 0, "uplicate", fault::duplicate_key, ""},
    {"42P01", 0, "", fault::schema_missing, advice::table},
    {"3F000", 0, "", fault::schema_missing, advice::table},
    {"42S02", 0, "", fault::schema_missing, advice::table},
    {"", 1146, "", fault::schema_missing, advice::table},
    {"42703", 0, "", fault::schema_missing, advice::column},
    {"42S22", 0, "", fault::schema_missing, advice::column},
    {"", 1054, "", fault::schema_missing, advice::column},

    {"", 1176, "", fault::failure, advice::fence_index},
    {"25006", 0, "", fault::failure, advice::read_only},
    {"", 1290, "", fault::failure, advice::read_only},
    {"", 1792, "", fault::failure, advice::read_only},
    {"", 1836, "", fault::failure, advice::read_only},
    {"53100", 0, "", fault::failure, advice::full},
    {"", 1021, "", fault::failure, advice::full},
    {"", 1114, "", fault::failure, advice::full},
    {"42501", 0, "", fault::failure, advice::permission},
    {"", 1044, "", fault::unavailable, advice::database},
    {"", 1142, "", fault::failure, advice::permission},
    {"", 1143, "", fault::failure, advice::permission},
    {"0A000", 0, "DECLARE CURSOR", fault::failure, advice::declare_fetch},
    {"2202", 0, "", fault::failure, advice::encoding},
    {"22P05", 0, "", fault::failure, advice::encoding},
    {"", 1366, "", fault::failure, advice::encoding},
});

struct verdict {
    fault kind;
    const char* advice;
};

constexpr verdict classify(std::string_view sqlstate, int native, std::string_view text) noexcept
{
    for (const fault_rule& rule : fault_rules)
        if (sqlstate.starts_with(rule.sqlstate) && (rule.native == 0 || rule.native == native) &&
            text.find(rule.text) != std::string_view::npos)
            return {rule.kind, rule.advice};
    return {fault::failure, ""};
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
