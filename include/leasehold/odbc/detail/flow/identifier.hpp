// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_IDENTIFIER_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_IDENTIFIER_HPP

#include <leasehold/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace leasehold::inline v0::odbc::detail {

// What every database takes: PostgreSQL cuts at 63 bytes, and a silent cut would name another table.
inline constexpr std::size_t max_identifier_bytes = 63;

constexpr bool is_identifier(std::string_view text) noexcept
{
    if (text.empty() || text.size() > max_identifier_bytes) return false;
    const auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; };
    if (!letter(text.front())) return false;
    for (const char c : text)
        if (!letter(c) && !(c >= '0' && c <= '9') && c != '$') return false;
    return true;
}

constexpr bool is_qualified_identifier(std::string_view text) noexcept
{
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos) return is_identifier(text);
    return is_identifier(text.substr(0, dot)) && is_identifier(text.substr(dot + 1));
}

// Each part in quotes. A validated identifier has no quote in it, so nothing needs to be doubled.
inline std::string quoted_identifier(std::string_view text, char quote)
{
    std::string result(1, quote);
    for (const char c : text) {
        if (c == '.')
            result.append({quote, '.', quote});
        else
            result.push_back(c);
    }
    result.push_back(quote);
    return result;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
