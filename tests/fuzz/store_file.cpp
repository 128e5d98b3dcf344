// SPDX-License-Identifier: BSL-1.0
// A store file is read, and its connection string is shown without its password. Input: a mistake (choice), how the password is
// written (two choices), the password; then the text of a file.
#include "connection_strings.hpp"
#include "targets.hpp"

#include <exit_code.hpp>
#include <failure.hpp>
#include <store_choice.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

constexpr std::string_view blanks = " \t\r\v\f";

std::string_view trimmed(std::string_view line)
{
    const std::size_t begin = line.find_first_not_of(blanks);
    return begin == line.npos ? std::string_view{} : line.substr(begin, line.find_last_not_of(blanks) - begin + 1);
}

bool has_nul(std::string_view line) { return fuzz::contains(line, std::string_view{"\0", 1}); }

// The line that decides, and its number: the first that says something, or has a NUL.
std::pair<std::size_t, std::string_view> line_that_counts(std::string_view text)
{
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    fuzz::reader lines{text};
    for (std::size_t number = 1; !lines.empty(); ++number) {
        const std::string_view line = trimmed(lines.line());
        if (has_nul(line) || (!line.empty() && !line.starts_with('#'))) return {number, line};
    }
    return {0, {}};
}

void is_read(std::string_view text)
{
    const auto [number, line] = line_that_counts(text);
    try {
        const std::string got = tool::connection_string_in(text);
        fuzz::require(!has_nul(line), "ODBC would cut a connection string at a NUL", line);
        fuzz::require(got == line, "the first line that says something is the connection string", got, line);
    } catch (const tool::failure& refused) {
        fuzz::require(has_nul(line), "a line without a NUL is a connection string", line);
        fuzz::require(refused.status() == tool::exit_code::usage &&
                          fuzz::contains(refused.what(), "line " + std::to_string(number) + " "),
                      "a refusal names the line", refused.what());
    }
}

// A password in a connection string that is right, or has the mistakes that people make.
void password_is_not_shown(fuzz::reader& in)
{
    const std::size_t mistake = in.choice(5);
    const auto known = fuzz::read_connection_string(in);
    if (!known) return;
    const std::string& password = known->password;
    if (mistake == 0) {
        const std::string shown = tool::shown(known->text());
        const bool within_pqopt = fuzz::contains(known->before, "pqopt");
        const std::string expected =
            within_pqopt ? "Driver=x;UID=lease;pqopt=***;Server=h" : known->before + "***" + known->after;
        fuzz::require(shown == expected, "all is shown but the password", known->text(), shown);
        return;
    }
    const bool can_be_told = password.size() >= 4 && password.find_first_of(";{}=* ") == password.npos &&
                             fuzz::is_harmless(password) &&
                             !fuzz::contains("Driver=x;UID=lease;Server=h;PWD=***;DSN=;trailing;", password);
    if (!can_be_told) return;
    const std::array<std::string, 5> mistakes{"", "Driver={x;PWD=" + password + ";Server=h",  // a brace is forgotten
                                              "Driver=x;UID=lease PWD=" + password +
                                                  ";Server=h",                                    // a semicolon is forgotten
                                              "Driver=x;PWD=trailing;" + password + ";Server=h",  // braces are forgotten
                                              "DSN={x}PWD=" + password};
    const std::string shown = tool::shown(mistakes[mistake]);
    fuzz::require(!fuzz::contains(shown, password), "a password is not shown, whatever was forgotten", mistakes[mistake],
                  shown);
}

}  // namespace

void fuzz::store_file(std::string_view input)
{
    reader in{input};
    password_is_not_shown(in);
    is_read(in.rest());
    require(is_harmless(tool::shown(in.rest())), "what is shown is one line without controls", in.rest());
}
