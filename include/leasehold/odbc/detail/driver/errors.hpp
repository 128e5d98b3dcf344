// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_ERRORS_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_ERRORS_HPP

#include <leasehold/detail/printable.hpp>
#include <leasehold/odbc/detail/driver/handle.hpp>
#include <leasehold/odbc/detail/driver/known_names.hpp>
#include <leasehold/odbc/detail/driver/nearest.hpp>
#include <leasehold/odbc/detail/driver/secrets.hpp>
#include <leasehold/odbc/detail/flow/advice.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/identifier.hpp>
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

// libsqliteodbc has HY000 for everything. SQLite's result code is the native code; where that says no more than "error" the
// beginning of its words does, which are always English.
inline constexpr std::string_view sqlite_speaks = "[SQLite]";
inline constexpr auto sqlite_rules = std::to_array<fault_rule>({
    {"", {5, 6, 17}, fault::conflict, advice::conflict},
    {"", {8}, fault::read_only, advice::read_only},
    {"", {13}, fault::failure, advice::full},
    {"", {14}, fault::unavailable, advice::file},
    {"", {26}, fault::unavailable, advice::not_a_database},
    {"", {}, fault::duplicate_key, advice::another_unique_index, "UNIQUE constraint"},
    {"", {}, fault::failure, advice::other_columns, "NOT NULL constraint"},
    {"", {19}, fault::failure, advice::constraint},
    {"", {}, fault::failure, advice::no_key, "ON CONFLICT clause does not match"},
    {"", {}, fault::schema_missing, advice::table, "no such table"},
    {"", {}, fault::schema_missing, advice::column, "no such column"},
    {"", {}, fault::schema_missing, advice::table, "unknown database"},
    {"", {}, fault::conflict, advice::conflict, "database is locked"},
});

// psqlODBC has one SQLSTATE for all that can go wrong in connecting, and no code. The server's words then name only
// what is in the connection string. In other languages than English all of these are `unavailable`, with advice for all.
inline constexpr std::string_view connecting_failed = "08001";
inline constexpr std::string_view postgresql_refuses = "FATAL:  ";
inline constexpr auto postgresql_refusals = std::to_array<fault_rule>({
    {"", {}, fault::starting, advice::starting, "the database system is "},
    {"", {}, fault::unavailable, advice::log_in, "password authentication"},
    {"", {}, fault::unavailable, advice::log_in, "no pg_hba.conf entry"},
    {"", {}, fault::unavailable, advice::log_in, "role \""},
    {"", {}, fault::unavailable, advice::database, "database \""},
    {"", {}, fault::unavailable, advice::too_many, "sorry, too many clients"},
    {"", {}, fault::unavailable, advice::too_many, "too many connections for "},
    {"", {}, fault::unavailable, advice::too_many, "remaining connection slots"},
});

// A failed commit in MariaDB or MySQL names its cause by a second number, in any language. This one is a deadlock: on Group Replication,
// another node's transaction came first.
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
    {"", {1040, 1203, 1226}, fault::unavailable, advice::too_many},
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

    {"23505", {}, fault::duplicate_key, advice::another_unique_index},
    {"", {1062}, fault::duplicate_key, advice::another_unique_index},
    {"23502", {}, fault::failure, advice::other_columns},
    {"", {1048, 1364}, fault::failure, advice::other_columns},
    {"23000", {}, fault::failure, advice::constraint, "[ma-"},
    {"23000", {}, fault::failure, advice::constraint, "[MySQL]"},
    {"HY000", {3819}, fault::failure, advice::constraint},
    {"23000", {}, fault::duplicate_key, advice::constraint},
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

inline std::string in_quotes(const std::vector<std::string>& names)
{
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + leasehold::detail::printable(name) + "'";
    return text;
}

inline std::string drivers_here(const std::vector<std::string>& drivers)
{
    return drivers.empty() ? "There is none (packages of Debian and Ubuntu: odbc-postgresql, odbc-mariadb, libsqliteodbc); what odbcinst -q"
                             " -d lists is known only to programs linked with the system's driver manager"
                           : "There are: " + in_quotes(drivers);
}

// Advice for a connection string that names neither a known driver nor a known data source.
inline std::string source_advice(const known_to_driver_manager& known)
{
    return "the connection string must be keyword=value;... with a Driver= or DSN= that is known here. " +
           (known.sources.empty() ? "There is no data source" : "There is the data source " + in_quotes(known.sources)) +
           ". Drivers: " + drivers_here(known.drivers);
}

// Advice if a driver or data source is missing. unixODBC says "file not found" whatever the reason is. A program can be linked with
// another driver manager than the system's, such as Conan's and vcpkg's: it reads another odbcinst.ini and looks into other folders.
// The message, where secrets are hidden, has the name that was tried; here are names of this machine only.
inline std::string driver_advice(std::string_view message, const known_to_driver_manager& known)
{
    constexpr std::string_view before = "Can't open lib '";
    const std::size_t begin = message.find(before);
    if (begin == std::string_view::npos) return source_advice(known);
    std::string_view named = message.substr(begin + before.size());
    named = named.substr(0, named.find('\''));
    if (named.find_first_of("/\\") == std::string_view::npos) {
        const std::string meant = nearest(named, known.drivers);
        return "the driver manager of this program knows no such ODBC driver, or finds its file in none of its folders" +
               (meant.empty() ? ". " : ": did you mean " + in_quotes({meant}) + "? ") + drivers_here(known.drivers) +
               ". Or write the driver's full path as Driver= in the connection string";
    }
    if (std::ifstream{std::string{named}}.is_open())
        return "the ODBC driver's file is there, but can't be loaded: ldd shows whether a library that it needs is missing; or it"
               " was made for another processor";
    return "there is no such file, or it may not be read: check the path of the ODBC driver in the connection string, or in"
           " odbcinst.ini";
}

// Most diagnostic records read after one failure.
inline constexpr SQLSMALLINT max_diagnostic_records = 4;

// A failure as the driver, or the store, reports it.
using report = failure;

// XtraDB Cluster in its strict mode has the code for all that has none.
inline constexpr int unknown_error = 1105;
inline constexpr std::string_view strict_mode_refuses = "Percona-XtraDB-Cluster prohibits use of ";

// Whether the server has no such function, or the user may not call it, so that asking again is useless. Narrow: memory that has run out, a
// server in offline mode and what nobody knows are failures too, and may pass.
inline bool is_refused_function(const report& last)
{
    if (last.kind != fault::failure) return false;
    const store_diagnostics& details = last.details;
    switch (details.native_error) {
    case 1128:  // no such function
    case 1305:  // the same
    case 1227:  // not allowed
    case 1370:  // the same
    case 1235: return true;  // not supported: MariaDB on Galera
    case unknown_error: return details.server_message.find(strict_mode_refuses) != std::string::npos;
    default: return details.sqlstate == "42883" || details.sqlstate == "42501" || details.sqlstate == "0A000";
    }
}

inline report own_report(fault kind, const char* advice) { return {kind, {{}, 0, advice, {}}}; }

// Through iODBC, libsqliteodbc's words come without the "[SQLite]" that names the speaker. But they have the native code at the
// end, as no other driver's have.
inline bool is_unmarked_sqlite_text(std::string_view words, int native)
{
    return !words.starts_with('[') && words.ends_with(" (" + std::to_string(native) + ")");
}

// A server's words on one line, without secrets. Drivers put line feeds between sentences, so line feeds become spaces. All else
// in a name that may deceive a reader is escaped.
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

// Reads what the driver says about its last call on that handle. If that is nothing known, the driver is asked whether
// `connection` is lost: drivers tell that in many words and languages. Never contains a password of `secrets`.
inline report driver_report(SQLSMALLINT type, SQLHANDLE handle, SQLHDBC connection, const std::vector<std::string>& secrets)
{
    report result{fault::failure, {}};
    for (SQLSMALLINT record = 1; record <= max_diagnostic_records; ++record) {
        std::array<SQLCHAR, 6> state{};
        std::array<SQLCHAR, 1024> text{};
        SQLINTEGER native = 0;
        SQLSMALLINT length = 0;
        if (!SQL_SUCCEEDED(::SQLGetDiagRec(type, handle, record, state.data(), &native, text.data(),
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
    // Compares the text, since each translation unit may have a literal of its own.
    const bool needs_driver = std::string_view{found.advice} == advice::driver;
    result.details.advice = needs_driver ? driver_advice(result.details.server_message, what_is_known()) : found.advice;
    result.details.server_message = shown(std::move(result.details.server_message), secrets);
    return result;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
