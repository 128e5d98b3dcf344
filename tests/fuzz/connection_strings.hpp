// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_FUZZ_CONNECTION_STRINGS_HPP
#define LEASEHOLD_TESTS_FUZZ_CONNECTION_STRINGS_HPP

#include "fuzz.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fuzz {

/// A connection string around a password that is known, so that a check knows what must not be shown.
struct connection_string {
    std::string before;  ///< up to and with the =
    std::string value;   ///< the password as it stands there
    std::string after;
    std::string password;  ///< as the database gets it

    [[nodiscard]] std::string text() const { return before + value + after; }
};

/// How a password can stand in a connection string.
enum class spelling : std::size_t {
    bare,         ///< PWD=secret
    braces,       ///< PWD={se;cret}, each } doubled
    libpq,        ///< pqopt={password=secret}
    libpq_quotes  ///< pqopt={password='se cret'}, with a backslash before ' and \ as libpq reads them
};

inline std::string with(std::string_view text, char special, std::string_view instead)
{
    std::string result;
    for (const char c : text) c == special ? void(result.append(instead)) : result.push_back(c);
    return result;
}

/// Nothing where that password can't be written that way.
inline std::optional<connection_string> spell(spelling how, std::string_view keyword, std::string_view password)
{
    const std::string word{keyword};
    const bool trimmed = !password.empty() && password.front() != ' ' && password.back() != ' ';
    if (!trimmed || contains(password, std::string_view{"\0", 1}) || contains(password, "\n")) return std::nullopt;
    const std::string begin = "Driver=x;UID=lease;", end = ";Server=h", secret{password};
    switch (how) {
    case spelling::bare:
        if (contains(password, ";") || password.front() == '{') return std::nullopt;
        return connection_string{begin + word + "=", secret, end, secret};
    case spelling::braces: return connection_string{begin + word + "=", "{" + with(password, '}', "}}") + "}", end, secret};
    case spelling::libpq:
        if (password.find_first_of(" ;{}'\"`\\\t\r\v\f") != password.npos) return std::nullopt;
        return connection_string{begin + "pqopt={sslmode=require password=", secret, "}" + end, secret};
    case spelling::libpq_quotes: {
        const std::string escaped = with(with(password, '\\', "\\\\"), '\'', "\\'");
        return connection_string{begin + "pqopt={sslmode=require password=", "'" + with(escaped, '}', "}}") + "'",
                                 " connect_timeout=3}" + end, secret};
    }
    }
    return std::nullopt;
}

inline constexpr std::array<std::string_view, 6> password_keywords{"PWD",     "Password",    "pwd",
                                                                   "TLSPASS", "sslpassword", "client_secret"};

/// Reads two choices and the password, which is a line.
inline std::optional<connection_string> read_connection_string(reader& in)
{
    const auto how = static_cast<spelling>(in.choice(4));
    const std::string_view keyword = password_keywords[in.choice(password_keywords.size())];
    return spell(how, keyword, in.line());
}

}  // namespace fuzz

#endif
