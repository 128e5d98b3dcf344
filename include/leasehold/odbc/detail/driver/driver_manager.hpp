// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_DRIVER_MANAGER_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_DRIVER_MANAGER_HPP

#include <leasehold/odbc/detail/driver/secrets.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

inline bool same_word(std::string_view a, std::string_view b)
{
    return std::ranges::equal(a, b, {}, lower, lower);
}

// The value of a keyword in a connection string, without its braces; empty if it is not there.
inline std::string_view keyword_value(std::string_view text, std::string_view keyword)
{
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of("=;"), text.size());
        const std::string_view word = without_spaces_around(text.substr(0, end));
        const bool has_value = text.substr(end).starts_with('=');
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!has_value) continue;
        if (same_word(word, keyword)) {
            const bool braces = text.starts_with('{');
            return braces ? text.substr(1, end_of_enclosed(text, 0) - 2) : text.substr(0, text.find(';'));
        }
        text.remove_prefix(std::min(text.find(';', end_of_enclosed(text, 0)), text.size()));
    }
    return {};
}

// The value of a key in the first of these files that has one; empty if none has.
inline std::string ini_value(const std::vector<std::string>& files, std::string_view section, std::string_view key)
{
    for (const std::string& file : files) {
        std::ifstream lines{file};
        bool here = false;
        for (std::string line; std::getline(lines, line);) {
            while (line.ends_with('\r') || line.ends_with('\t')) line.pop_back();
            const std::string_view text = without_spaces_around(line);
            const std::size_t equals = text.find('=');
            if (text.starts_with('['))
                here = same_word(text.substr(1, text.find(']') - 1), section);
            else if (here && equals != text.npos && same_word(without_spaces_around(text.substr(0, equals)), key))
                return std::string{without_spaces_around(text.substr(equals + 1))};
        }
    }
    return {};
}

// Settings of unixODBC that change what a connection is. It shows them nowhere but in its files.
struct driver_manager_settings {
    bool pools = false;               // SQLDisconnect keeps the session for the next connection
    bool one_call_at_a_time = false;  // in the whole process
};

inline driver_manager_settings settings_of_driver_manager(std::string_view connection_string)
{
    const auto from = [](const char* variable, const std::string& otherwise) {
        const char* const value = std::getenv(variable);
        return value ? std::string{value} : otherwise;
    };
    const std::string home = from("HOME", ""), folder = from("ODBCSYSINI", "/etc");
    const std::vector<std::string> drivers{home + "/.odbcinst.ini", folder + '/' + from("ODBCINSTINI", "odbcinst.ini")};
    const std::vector<std::string> sources{from("ODBCINI", home + "/.odbc.ini"), folder + "/odbc.ini"};
    std::string driver{keyword_value(connection_string, "Driver")};
    if (driver.empty()) driver = ini_value(sources, keyword_value(connection_string, "DSN"), "Driver");
    const std::string pooling = ini_value(drivers, "ODBC", "Pooling"), timeout = ini_value(drivers, driver, "CPTimeout");
    std::string threading = ini_value(drivers, driver, "Threading");
    if (threading.empty()) threading = ini_value(drivers, "ODBC", "Threading");
    const bool pooled = pooling.starts_with('1') || lower(pooling.c_str()[0]) == 'y' || same_word(pooling, "on");
    return {pooled && std::atoi(timeout.c_str()) > 0, threading == "3"};
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
