// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SECRETS_HPP
#define LEASEHOLD_ODBC_DETAIL_SECRETS_HPP

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

constexpr std::string_view without_spaces_around(std::string_view text) noexcept
{
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

constexpr char lower(char c) noexcept
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline bool is_keyword(std::string_view text, std::string_view keyword) noexcept
{
    text = without_spaces_around(text);
    return std::equal(text.begin(), text.end(), keyword.begin(), keyword.end(),
                      [&](char a, char b) { return lower(a) == b; });
}

// Whether the connection string sets this keyword, given in lower case. Braces are not looked into.
inline bool sets_keyword(std::string_view connection_string, std::string_view keyword)
{
    while (!connection_string.empty()) {
        const std::string_view pair = connection_string.substr(0, connection_string.find(';'));
        if (is_keyword(pair.substr(0, pair.find('=')), keyword)) return true;
        connection_string.remove_prefix(std::min(pair.size() + 1, connection_string.size()));
    }
    return false;
}

// The passwords in a connection string, as written and without their braces. What is broken is read to its end: it is
// better to hide too much.
inline std::vector<std::string> passwords_in(std::string_view connection_string)
{
    std::vector<std::string> found;
    const auto add = [&found](std::string_view secret) {
        if (!secret.empty()) found.emplace_back(secret);
    };
    for (std::size_t at = 0; at < connection_string.size();) {
        const std::size_t equals = connection_string.find('=', at);
        if (equals == std::string_view::npos) break;
        std::string_view key = connection_string.substr(at, equals - at);
        key = key.substr(key.rfind(';') + 1);  // npos + 1 is 0
        const bool secret = is_keyword(key, "pwd") || is_keyword(key, "password") || is_keyword(key, "pass");
        std::string_view value = connection_string.substr(equals + 1);
        value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
        const std::size_t begin = connection_string.size() - value.size();
        std::size_t end = value.find(';');
        if (value.starts_with('{')) {
            end = value.find('}');
            while (end != std::string_view::npos && end + 1 < value.size() && value[end + 1] == '}')
                end = value.find('}', end + 2);
            if (end != std::string_view::npos)
                ++end;
            else if (!secret)
                end = value.find(';');  // never closed: a password may follow all the same
        }
        value = value.substr(0, end);
        at = begin + value.size() + 1;
        value = without_spaces_around(value);
        if (!secret) continue;
        add(value);
        if (!value.starts_with('{')) continue;
        value.remove_prefix(1);
        if (value.ends_with('}')) value.remove_suffix(1);
        add(value);
    }
    // Longer ones first, so that none is hidden in part because it contains another.
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    return found;
}

inline std::string redacted(std::string text, const std::vector<std::string>& secrets)
{
    constexpr std::string_view instead = "***";
    for (const std::string& secret : secrets)
        for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + instead.size()))
            text.replace(at, secret.size(), instead);
    return text;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
