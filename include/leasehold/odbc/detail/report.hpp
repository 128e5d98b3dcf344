// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_REPORT_HPP
#define LEASEHOLD_ODBC_DETAIL_REPORT_HPP

#include <leasehold/detail/printable.hpp>
#include <leasehold/odbc/detail/classify.hpp>
#include <leasehold/odbc/detail/driver_advice.hpp>
#include <leasehold/odbc/detail/handle.hpp>
#include <leasehold/odbc/detail/secrets.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// Most diagnostic records read after one failure.
inline constexpr SQLSMALLINT max_diagnostic_records = 4;

// A failure: what to do about it, and what to tell.
struct report {
    fault kind = fault::none;
    store_diagnostics details{};
};

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
            result.details.native_error = static_cast<int>(native);
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
