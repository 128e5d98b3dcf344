// SPDX-License-Identifier: BSL-1.0
#include "store_choice.hpp"

#include "exit_code.hpp"
#include "failure.hpp"
#include "message.hpp"
#include "odbc_connection.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <sys/stat.h>

namespace tool {

namespace {

namespace fs = std::filesystem;

std::string variable(const char* name)
{
    const char* value = std::getenv(name);
    return value ? value : "";
}

std::string trimmed(std::string_view text)
{
    const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return std::string{text};
}

std::string lower_case(std::string_view text)
{
    std::string result;
    for (const char c : text) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

std::string from_file(const std::string& file)
{
    struct stat found {};
    std::ifstream stream{file};
    if (!stream || ::stat(file.c_str(), &found) != 0) throw failure{exit_code::usage, "can't read the store's file " + file};
    std::string text = connection_string_in(std::string{std::istreambuf_iterator<char>{stream}, {}});
    if (text.empty()) throw failure{exit_code::usage, "there is no connection string in " + file};
    if ((found.st_mode & (S_IRGRP | S_IROTH)) != 0 && lower_case(text).find("pwd=") != std::string::npos)
        complain("others can read " + file + ", which has a password in it: chmod 600 it");
    return text;
}

fs::path state_folder()
{
    const std::string state = variable("XDG_STATE_HOME");
    if (state.starts_with('/')) return fs::path{state} / "leasehold";
    const std::string home = variable("HOME");
    if (home.empty())
        throw failure{exit_code::usage,
                      "no database is named, and there is no HOME for a file: say --store, or set LEASEHOLD_STORE"};
    return fs::path{home} / ".local" / "state" / "leasehold";
}

std::string sqlite_file_of_user()
{
    const fs::path folder = state_folder();
    const std::string file = (folder / "leases.db").string();
    if (file.find_first_of(";{}") != std::string::npos)
        throw failure{exit_code::usage, "a connection string can't have this file in it, because of ; { or }: " + file};
    std::error_code ec;
    fs::create_directories(folder.parent_path(), ec);
    if (::mkdir(folder.c_str(), 0700) != 0 && !fs::is_directory(folder, ec))
        throw failure{exit_code::store, "can't make the folder " + folder.string()};
    const std::string driver = installed_sqlite_driver();
    if (driver.empty())
        throw failure{exit_code::store, "no database is named, and there is no ODBC driver for SQLite (Debian: "
                                        "libsqliteodbc): install one, or say --store"};
    return "Driver=" + driver + ";Database=" + file;
}

bool is_no_secret(const std::string& keyword)
{
    constexpr std::array<std::string_view, 9> known{"driver", "dsn", "server", "servername", "database",
                                                    "port",   "uid", "user",   "socket"};
    return std::find(known.begin(), known.end(), lower_case(trimmed(keyword))) != known.end();
}

}  // namespace

std::string connection_string_in(std::string_view file_text)
{
    while (!file_text.empty()) {
        const std::size_t end = std::min(file_text.find('\n'), file_text.size());
        std::string line = trimmed(file_text.substr(0, end));
        if (!line.empty() && line.front() != '#') return line;
        file_text.remove_prefix(std::min(end + 1, file_text.size()));
    }
    return {};
}

chosen_store choose_store(const asked_store& asked)
{
    chosen_store chosen;
    const std::string table = asked.table.empty() ? variable("LEASEHOLD_TABLE") : asked.table;
    if (!table.empty()) chosen.table = table;
    std::string text = trimmed(asked.store);
    if (text.empty() && !asked.file.empty()) text = from_file(asked.file);
    if (text.empty()) text = trimmed(variable("LEASEHOLD_STORE"));
    if (text.empty() && !variable("LEASEHOLD_STORE_FILE").empty()) text = from_file(variable("LEASEHOLD_STORE_FILE"));
    if (text.empty()) {
        chosen.is_default = true;
        text = sqlite_file_of_user();
    }
    chosen.connection_string = text.find('=') == std::string::npos ? "DSN=" + text : text;
    return chosen;
}

std::string shown(std::string_view text)
{
    std::string result;
    while (!text.empty()) {
        const std::size_t equals = std::min(text.find('='), text.size());
        const std::string keyword = trimmed(text.substr(0, equals));
        text.remove_prefix(std::min(equals + 1, text.size()));
        // A value in braces may have semicolons in it, and braces twice.
        std::size_t end = 0;
        for (bool braces = text.starts_with('{'); end < text.size() && (braces || text[end] != ';'); ++end)
            if (braces && text[end] == '}') braces = text.substr(end).starts_with("}}") && ++end > 0;
        if (!keyword.empty())
            result.append(result.empty() ? "" : ";")
                .append(printable(keyword))
                .append("=")
                .append(is_no_secret(keyword) ? printable(text.substr(0, end)) : "***");
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return result;
}

}  // namespace tool
