// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_ERRORS_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_ERRORS_HPP

#include <leasehold/detail/printable.hpp>
#include <leasehold/odbc/detail/driver/handle.hpp>
#include <leasehold/odbc/detail/driver/identifier.hpp>
#include <leasehold/odbc/detail/driver/secrets.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// One line of the tables below: it fits where every part that it names fits. Words of a message decide only where they can't
// be part of a name that the message repeats.
struct fault_rule {
    std::string_view sqlstate;  // a prefix
    std::array<int, 6> natives;  // one of them; none: any
    fault kind;
    const char* advice;
    std::string_view beginning{};  // of the message
};

namespace advice {

inline constexpr const char* table =
    "the table is not there: call create_schema() once, or check odbc_options::table and the connection's default schema";
inline constexpr const char* column =
    "a column is not there: check odbc_options::columns; a table taken over needs columns for the token, the data and the requests of a"
    " term, which the statements in docs/migrating.md add";
inline constexpr const char* log_in = "the database refuses the log-in: check user and password in the connection string";
inline constexpr const char* database =
    "the database of that name is not there, or not for this user: check Database in the connection string";
inline constexpr const char* driver =
    "the ODBC driver or data source is not there: the connection string must be keyword=value;... with a Driver= of"
    " odbcinst -q -d or a DSN= of odbcinst -q -s";
inline constexpr const char* no_server =
    "no server answers there: check Server and Port in the connection string, and that it runs";
inline constexpr const char* no_connection =
    "no connection: check Server, Port, Database, user and password in the connection string, and that the server runs and"
    " has connections left";
inline constexpr const char* tls = "the connection was lost, or the two sides do not agree on TLS";
inline constexpr const char* no_tls = "the server takes connections with TLS only: have the connection string ask for it";
inline constexpr const char* file =
    "the file can't be opened: check the path in Database, its folder, and the rights to both";
inline constexpr const char* no_file =
    "the connection string names no file, so that this database is not the one that others use: give the full path of a file as"
    " Database=; for the threads of one process there is memory_store";
inline constexpr const char* another_name =
    "the file has another name (a hard link, or a mount of this file alone), by which others would not see this one's leases: remove the"
    " link, or mount the folder";
inline constexpr const char* not_a_database = "the file is not an SQLite database, or is encrypted";
inline constexpr const char* set_up = "a statement that sets up a new connection failed: check odbc_options::on_connect";
inline constexpr const char* pooled_by_driver_manager =
    "unixODBC keeps this driver's connections for others (Pooling in odbcinst.ini, and CPTimeout of the driver), so a session would"
    " outlive its store: take one of the two away, or have ODBCSYSINI name a folder with another odbcinst.ini";
inline constexpr const char* words_of_on_connect = "not shown, since the statement may hold a secret";
inline constexpr const char* on_connect_with_pooler =
    "a pooler gives each transaction another session, so statements of odbc_options::on_connect would not last, and would be left to"
    " other clients: set what they set with ALTER ROLE ... SET";
inline constexpr const char* driver_only_reads =
    "the driver keeps this connection from writing: take ReadOnly=1, or what else says so, out of the connection string or the data source";
inline constexpr const char* line_feeds =
    "the driver changes line feeds: take LFConversion=1 out of the connection string or the data source";
inline constexpr const char* unfit_session = "a setting of the session can't be used: ";
inline constexpr const char* leave_session_alone =
    "; take what sets it out of the connection string, the data source and odbc_options::on_connect";
inline constexpr const char* lost = "the connection was lost";
inline constexpr const char* starting = "the server is starting up or shutting down";
inline constexpr const char* too_many = "the server has no connection left: lower pool_size, or raise the server's limit";
inline constexpr const char* read_only = "the database is read-only: connect to the primary, or make it writable";
inline constexpr const char* full = "the database's disk is full";
inline constexpr const char* permission =
    "the user may not do this: grant SELECT, INSERT and UPDATE on the table, DELETE for purge(), and the right to create it for"
    " create_schema()";
inline constexpr const char* conflict = "concurrent transactions kept getting in the way";
inline constexpr const char* overtaken =
    "the connection was lost before the answer to the release came, and somebody else has been granted the name since, or has opened it:"
    " whether the release ended the term, or it was over before, is unknown";
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
inline constexpr const char* other_columns =
    "the table has another column that must have a value: give it a default, or let it be NULL";
inline constexpr const char* constraint =
    "a constraint or a trigger of the table refuses the row: it must let any name, owner, token and time pass";
inline constexpr const char* no_key =
    "the column of the name has no key, or a deferrable one: make it the table's primary key, or create a unique index on it alone";
inline constexpr const char* until_there_is_a_key =
    ". Until then a name can have two rows, and so two holders. Stop what uses the table, keep the row with the greatest token of each"
    " name, and run: ";
inline constexpr const char* types =
    "a column has a type that can't be used: compare the table with what schema_sql() shows";
inline constexpr const char* expiry_is_text =
    "the expiry is kept as text, which can't be compared with a time: see odbc_options::columns, and docs/migrating.md for how"
    " to take such a table over";
inline constexpr const char* unconfirmed =
    "the wait for the synchronous standby was cancelled: this server has committed the change, but a fail-over may lose it";
inline constexpr const char* slow = "the server ended the statement because it took too long";

}  // namespace advice

// libsqliteodbc has HY000 for everything. SQLite's result code is the native code; where that says no more than "error" the
// beginning of its words does, which are always English.
inline constexpr std::string_view sqlite_speaks = "[SQLite]";
inline constexpr auto sqlite_rules = std::to_array<fault_rule>({
    {"", {5, 6, 17}, fault::conflict, advice::conflict},
    {"", {8}, fault::read_only, advice::read_only},
    {"", {13}, fault::failure, advice::full},
    {"", {14}, fault::unavailable, advice::file},
    {"", {26}, fault::unavailable, advice::not_a_database},
    {"", {}, fault::duplicate_key, "", "UNIQUE constraint"},
    {"", {}, fault::failure, advice::other_columns, "NOT NULL constraint"},
    {"", {19}, fault::failure, advice::constraint},
    {"", {}, fault::failure, advice::no_key, "ON CONFLICT clause does not match"},
    {"", {}, fault::schema_missing, advice::table, "no such table"},
    {"", {}, fault::schema_missing, advice::column, "no such column"},
    {"", {}, fault::schema_missing, advice::table, "unknown database"},
    {"", {}, fault::conflict, advice::conflict, "database is locked"},
});

// psqlODBC has one SQLSTATE for all that can go wrong in connecting, and no code. The server's words then name nothing but
// what is in the connection string. In another language than English all of these are `unavailable`, with advice for all.
inline constexpr std::string_view connecting_failed = "08001";
inline constexpr std::string_view postgresql_refuses = "FATAL:  ";
inline constexpr auto postgresql_refusals = std::to_array<fault_rule>({
    {"", {}, fault::starting, advice::starting, "the database system is "},
    {"", {}, fault::unavailable, advice::log_in, "password authentication"},
    {"", {}, fault::unavailable, advice::log_in, "no pg_hba.conf entry"},
    {"", {}, fault::unavailable, advice::log_in, "role \""},
    {"", {}, fault::unavailable, advice::database, "database \""},
    {"", {}, fault::unavailable, advice::too_many, "sorry, too many clients"},
    {"", {}, fault::unavailable, advice::too_many, "remaining connection slots"},
});

// A commit that failed in MariaDB or MySQL says why by another number, in any language. That one is a deadlock: on Group Replication
// a transaction that another node's has come before.
inline constexpr int error_during_commit = 1180;
inline constexpr std::string_view deadlock_during_commit = " 149 ";

// MariaDB and MySQL: a statement names an index that is not there.
inline constexpr int no_such_index = 1176;

// Everybody else. The first line that fits decides.
inline constexpr auto fault_rules = std::to_array<fault_rule>({
    {"01000", {}, fault::unavailable, advice::driver, "[unixODBC][Driver Manager]Can't open lib"},
    {"IM", {}, fault::unavailable, advice::driver},

    {"28", {}, fault::unavailable, advice::log_in},
    {"", {1045, 1698}, fault::unavailable, advice::log_in},
    {"3D000", {}, fault::unavailable, advice::database},
    {"", {1049, 1044}, fault::unavailable, advice::database},
    {"", {3159}, fault::unavailable, advice::no_tls},
    {"53300", {}, fault::unavailable, advice::too_many},
    {"", {1040, 1203}, fault::unavailable, advice::too_many},
    {"", {2002, 2003, 2005}, fault::unavailable, advice::no_server},
    {connecting_failed, {}, fault::unavailable, advice::no_connection},

    {"55P03", {}, fault::lock_timeout, advice::locked},
    {"40", {}, fault::conflict, advice::conflict},
    {"", {1205}, fault::lock_timeout, advice::locked},
    {"", {1213}, fault::conflict, advice::conflict},
    {"HY000", {1020}, fault::conflict, advice::conflict},
    {"", {1317}, fault::conflict, advice::conflict},
    {"57014", {}, fault::timeout, advice::slow},
    {"", {1969, 3024}, fault::timeout, advice::slow},
    {"HYT", {}, fault::timeout, advice::slow},

    {"", {1047, error_during_commit, 3100}, fault::connection_lost, advice::no_majority},
    {"57P03", {}, fault::starting, advice::starting},
    {"57P", {}, fault::connection_lost, advice::lost},
    {"08", {}, fault::connection_lost, advice::lost},
    {"", {2006, 2013, 2055, 1927, 1053, 4031}, fault::connection_lost, advice::lost},
    {"", {2026}, fault::connection_lost, advice::tls},

    {"23505", {}, fault::duplicate_key, ""},
    {"", {1062}, fault::duplicate_key, ""},
    {"23502", {}, fault::failure, advice::other_columns},
    {"", {1048, 1364}, fault::failure, advice::other_columns},
    {"23000", {}, fault::failure, advice::constraint, "[ma-"},
    {"23000", {}, fault::failure, advice::constraint, "[MySQL]"},
    {"HY000", {3819}, fault::failure, advice::constraint},
    {"23000", {}, fault::duplicate_key, ""},
    {"23", {}, fault::failure, advice::constraint},
    {"42P01", {}, fault::schema_missing, advice::table},
    {"3F000", {}, fault::schema_missing, advice::table},
    {"42S02", {}, fault::schema_missing, advice::table},
    {"", {1146}, fault::schema_missing, advice::table},
    {"42703", {}, fault::schema_missing, advice::column},
    {"42S22", {}, fault::schema_missing, advice::column},
    {"", {1054}, fault::schema_missing, advice::column},

    {"42P10", {}, fault::failure, advice::no_key},
    {"42883", {}, fault::failure, advice::types},
    {"42804", {}, fault::failure, advice::types},
    {"", {no_such_index}, fault::failure, advice::fence_index},
    {"25006", {}, fault::read_only, advice::read_only},
    {"", {1290, 1792, 1836}, fault::read_only, advice::read_only},
    {"53100", {}, fault::failure, advice::full},
    {"", {1021, 1114}, fault::failure, advice::full},
    {"42501", {}, fault::schema_missing, advice::table, "ERROR: user lacks privilege or object not found"},  // HSQLDB
    {"42501", {}, fault::failure, advice::permission},
    {"", {1142, 1143}, fault::failure, advice::permission},
    {"0A000", {}, fault::failure, advice::declare_fetch, "ERROR: DECLARE CURSOR"},
    {"2202", {}, fault::failure, advice::encoding},
    {"22P05", {}, fault::failure, advice::encoding},
    {"", {1366}, fault::failure, advice::encoding},
});

// The server refuses to run a statement as it was prepared: the table has been changed since.
inline constexpr std::string_view stale_plan = "0A000";

struct verdict {
    fault kind = fault::failure;
    const char* advice = "";
    bool known = false;  // it is in the tables
};

template <class Rules>
constexpr verdict first_that_fits(const Rules& rules, std::string_view sqlstate, int native, std::string_view text) noexcept
{
    for (const fault_rule& rule : rules) {
        const bool any = rule.natives.front() == 0;
        if (sqlstate.starts_with(rule.sqlstate) && text.starts_with(rule.beginning) &&
            (any || (native != 0 && std::ranges::find(rule.natives, native) != rule.natives.end())))
            return {rule.kind, rule.advice, true};
    }
    return {};
}

// As in "table leasehold has no column named token", where the name of the table is one of ours.
constexpr bool lacks_a_column(std::string_view sqlite_text) noexcept
{
    constexpr std::string_view before = "table ", after = " has no column named ";
    if (!sqlite_text.starts_with(before)) return false;
    sqlite_text.remove_prefix(before.size());
    const std::size_t end = std::min(sqlite_text.find(' '), sqlite_text.size());
    return is_identifier(sqlite_text.substr(0, end)) && sqlite_text.substr(end).starts_with(after);
}

constexpr verdict classify(std::string_view sqlstate, int native, std::string_view text) noexcept
{
    if (text.starts_with(sqlite_speaks)) {
        text.remove_prefix(sqlite_speaks.size());
        if (lacks_a_column(text)) return {fault::schema_missing, advice::column, true};
        return first_that_fits(sqlite_rules, sqlstate, native, text);
    }
    if (const std::size_t at = text.find(postgresql_refuses); sqlstate == connecting_failed && at != std::string_view::npos)
        if (const auto found = first_that_fits(postgresql_refusals, sqlstate, native, text.substr(at + postgresql_refuses.size()));
            found.known)
            return found;
    if (native == error_during_commit && text.find(deadlock_during_commit) != std::string_view::npos)
        return {fault::conflict, advice::conflict, true};
    return first_that_fits(fault_rules, sqlstate, native, text);
}

// What helps where unixODBC says that it can't open a driver. It says "file not found" whatever the reason is. A program can
// be linked with another driver manager than the system's, as Conan and vcpkg build one: that reads another odbcinst.ini and
// looks into other folders, so what odbcinst lists is of no use to it.
inline std::string driver_advice(std::string_view message)
{
    constexpr std::string_view before = "Can't open lib '";
    const std::size_t begin = message.find(before);
    if (begin == std::string_view::npos) return advice::driver;
    std::string_view named = message.substr(begin + before.size());
    named = named.substr(0, named.find('\''));
    if (named.find_first_of("/\\") == std::string_view::npos)
        return "the driver manager of this program knows no such ODBC driver, or finds its file in none of its folders: write the"
               " driver's full path as Driver= in the connection string; what odbcinst -q -d lists is known only to programs"
               " linked with the system's driver manager";
    if (std::ifstream{std::string{named}}.is_open())
        return "the ODBC driver's file is there, but can't be loaded: ldd shows whether a library that it needs is missing; or it"
               " was made for another processor";
    return "there is no such file, or it may not be read: check the path of the ODBC driver in the connection string, or in"
           " odbcinst.ini";
}

// Most diagnostic records read after one failure.
inline constexpr SQLSMALLINT max_diagnostic_records = 4;

// What the driver, or the store, says of a failure.
using report = failure;

inline report own_report(fault kind, const char* advice) { return {kind, {{}, 0, advice, {}}}; }

// Through iODBC libsqliteodbc's words come without the "[SQLite]" that tells whose they are, but with the native code at the
// end, which no other driver has there.
inline bool is_unmarked_sqlite_text(std::string_view words, int native)
{
    return !words.starts_with('[') && words.ends_with(" (" + std::to_string(native) + ")");
}

// A server's words on one line, without secrets. Drivers put line feeds between sentences, so those become spaces; whatever
// else a name may hold to deceive a reader is escaped.
inline std::string shown(std::string words, const std::vector<std::string>& secrets)
{
    words = redacted(std::move(words), secrets);
    for (char& c : words)
        if (c == '\n' || c == '\r' || c == '\t') c = ' ';
    return leasehold::detail::printable(words);
}

// Whether the driver knows that this connection, if any, is lost. psqlODBC answers from memory; MariaDB's driver asks the
// server, and so may take as long as any other call.
inline bool is_dead(SQLHDBC connection) noexcept
{
    SQLUINTEGER dead = SQL_CD_FALSE;
    return connection != SQL_NULL_HANDLE &&
           SQL_SUCCEEDED(::SQLGetConnectAttr(connection, SQL_ATTR_CONNECTION_DEAD, &dead, SQL_IS_UINTEGER, nullptr)) &&
           dead == SQL_CD_TRUE;
}

// Reads what the driver has to say about its last call on that handle. Where that is nothing known, it is asked whether
// `connection` is lost: drivers tell that in many words and languages. Never contains a password of `secrets`.
inline report driver_report(SQLSMALLINT type, SQLHANDLE of, SQLHDBC connection, const std::vector<std::string>& secrets)
{
    report result{fault::failure, {}};
    for (SQLSMALLINT record = 1; record <= max_diagnostic_records; ++record) {
        std::array<SQLCHAR, 6> state{};
        std::array<SQLCHAR, 1024> text{};
        SQLINTEGER native = 0;
        SQLSMALLINT length = 0;
        if (!SQL_SUCCEEDED(::SQLGetDiagRec(type, of, record, state.data(), &native, text.data(),
                                           static_cast<SQLSMALLINT>(text.size()), &length)))
            break;
        std::string words{reinterpret_cast<const char*>(text.data())};
        while (!words.empty() && (words.back() == '\n' || words.back() == ' ')) words.pop_back();
        if (record == 1) {
            result.details.sqlstate = reinterpret_cast<const char*>(state.data());
            result.details.native_error = native;
            if (is_unmarked_sqlite_text(words, result.details.native_error)) words.insert(0, "[SQLite]");
            result.details.server_message = std::move(words);
        } else if (!words.empty()) {
            result.details.server_message.append("; ").append(words);
        }
    }
    verdict found = classify(result.details.sqlstate, result.details.native_error, result.details.server_message);
    if (!found.known && is_dead(connection)) found = {fault::connection_lost, advice::lost, true};
    result.kind = found.kind;
    // By its text: each translation unit may have a literal of its own.
    const bool needs_driver = std::string_view{found.advice} == advice::driver;
    result.details.advice = needs_driver ? driver_advice(result.details.server_message) : found.advice;
    result.details.server_message = shown(std::move(result.details.server_message), secrets);
    return result;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
