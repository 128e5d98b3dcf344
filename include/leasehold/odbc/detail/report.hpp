// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_REPORT_HPP
#define LEASEHOLD_ODBC_DETAIL_REPORT_HPP

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

// Reads what the driver has to say about its last call on that handle. Never contains a password of `secrets`.
inline report driver_report(SQLSMALLINT type, SQLHANDLE of, const std::vector<std::string>& secrets)
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
    const verdict found = classify(result.details.sqlstate, result.details.native_error, result.details.server_message);
    result.kind = found.kind;
    result.details.advice = found.advice == advice::driver ? driver_advice(result.details.server_message) : found.advice;
    result.details.server_message = redacted(std::move(result.details.server_message), secrets);
    return result;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
