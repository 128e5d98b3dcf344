// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_KEYWORDS_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_KEYWORDS_HPP

#include <leasehold/odbc/detail/driver/secrets.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace leasehold::inline v0::odbc::detail {

// Drivers don't know a keyword with a blank beside it, and don't say so: psqlODBC then connects to a server on its own host, and
// libsqliteodbc makes a new database. A value loses blanks only from "keyword = value".
inline std::string without_blanks_beside_keywords(std::string_view text)
{
    constexpr std::string_view blanks = " \t\r\n";
    const auto skip_blanks = [&] { text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size())); };
    const auto take = [&text](std::size_t length) {
        const std::string_view taken = text.substr(0, length);
        text.remove_prefix(taken.size());
        return taken;
    };
    std::string result;
    while (skip_blanks(), !text.empty()) {
        const std::string_view word = take(text.find_first_of("=;"));
        const std::string_view keyword = word.substr(0, word.find_last_not_of(blanks) + 1);
        result += keyword;
        if (text.starts_with('=')) {
            result += take(1);
            if (keyword != word) skip_blanks();
            result += take(text.find(';', end_of_enclosed(text, 0)));
        }
        result += take(1);
    }
    return result;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
