// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_SECRETS_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_SECRETS_HPP

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

constexpr bool is_word_character(char c) noexcept
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}

// PWD, PWD1, Password, sslpassword, passphrase, secret, ...; not Passfile.
inline bool is_keyword_of_a_secret(std::string_view word)
{
    std::string text{word};
    for (char& c : text) c = lower(c);
    if (text.ends_with("file")) return false;
    for (const char* part : {"pwd", "passw", "passphrase", "secret"})
        if (text.find(part) != std::string::npos) return true;
    return text.ends_with("pass");
}

constexpr bool is_quote(char c) noexcept { return c == '\'' || c == '"'; }

// The end of a value in braces ("}}" is one that belongs to it; never closed: to the end of the text) or in quotes (a backslash
// takes the next character along) that begins there; `begin` if it has neither, or its quotes are never closed.
constexpr std::size_t end_of_enclosed(std::string_view text, std::size_t begin) noexcept
{
    const char first = begin < text.size() ? text[begin] : '\0';
    if (first == '{') {
        for (std::size_t at = begin + 1; at < text.size(); ++at)
            if (text[at] == '}') {
                ++at;
                if (at == text.size() || text[at] != '}') return at;
            }
        return text.size();
    }
    if (is_quote(first))
        for (std::size_t at = begin + 1; at < text.size(); ++at) {
            if (text[at] == first) return at + 1;
            if (text[at] == '\\') ++at;
        }
    return begin;
}

constexpr bool is_closing(char c) noexcept { return c == '}' || is_quote(c); }

// Without the first character of each `what`.
inline std::string without_each(std::string_view what, std::string text)
{
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) text.erase(at, 1);
    return text;
}

constexpr std::string_view last_word(std::string_view text) noexcept
{
    text = without_spaces_around(text);
    std::size_t begin = text.size();
    while (begin > 0 && is_word_character(text[begin - 1])) --begin;
    return text.substr(begin);
}

// Every form in which the passwords of a connection string may come up in a message: as written, and without braces or quotes. A value
// that has neither ends at a semicolon, or earlier where it stands inside another value.
inline std::vector<std::string> passwords_in(std::string_view connection_string)
{
    std::vector<std::string> found;
    const auto add = [&found](std::string_view secret) {
        secret = without_spaces_around(secret);
        if (!secret.empty() && std::find(found.begin(), found.end(), secret) == found.end()) found.emplace_back(secret);
    };
    for (std::size_t equals = 0; (equals = connection_string.find('=', equals)) != connection_string.npos; ++equals) {
        if (!is_keyword_of_a_secret(last_word(connection_string.substr(0, equals)))) continue;
        const std::string_view value = without_spaces_around(connection_string.substr(equals + 1));
        add(value.substr(0, value.find(';')));
        std::size_t end = end_of_enclosed(value, 0);
        if (end != 0) {
            const std::string inside{value.substr(1, end - 1 - (end > 1 && is_closing(value[end - 1])))};
            for (const std::string& form : {inside, without_each("}}", inside)}) {
                add(form);
                if (is_quote(value.front())) add(without_each("\\", form));  // as libpq reads it
            }
        } else {
            end = std::min(value.find_first_of(" ;}\"'"), value.size());
        }
        add(value.substr(0, end));
        equals = static_cast<std::size_t>(value.data() - connection_string.data()) + end - 1;  // what stands in it is no keyword
    }
    // Longer ones first, so that none is hidden in part because it contains another.
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    return found;
}

// Whether it can be told from the words and numbers of a message. To hide "table", 1146 or x wherever it stands would hide
// nothing that a reader can't fill in, and so show the password.
inline bool is_telling(std::string_view secret) noexcept
{
    constexpr std::size_t shortest = 4, shortest_number = 8, shortest_word = 12;
    const auto all = [secret](auto is) { return std::all_of(secret.begin(), secret.end(), is); };
    if (all([](char c) { return c >= '0' && c <= '9'; })) return secret.size() >= shortest_number;
    if (all([](char c) { return lower(c) >= 'a' && lower(c) <= 'z'; })) return secret.size() >= shortest_word;
    return secret.size() >= shortest;
}

inline constexpr std::string_view instead_of_a_secret = "***";

// Hides the secret where it is a whole word, if it is telling or follows a keyword.
inline void hide_secret(std::string& text, const std::string& secret)
{
    if (instead_of_a_secret.find(secret) != std::string_view::npos) return;
    for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
        const std::size_t end = at + secret.size();
        const bool begins_inside = at > 0 && is_word_character(text[at - 1]) && is_word_character(secret.front());
        const bool ends_inside = end < text.size() && is_word_character(text[end]) && is_word_character(secret.back());
        const std::string_view before = without_spaces_around(std::string_view{text}.substr(0, at));
        if (begins_inside || ends_inside || !(is_telling(secret) || before.ends_with('='))) {
            ++at;
            continue;
        }
        text.replace(at, secret.size(), instead_of_a_secret);
        at += instead_of_a_secret.size();
    }
}

// Hides each of the `secrets`. Hiding again changes nothing.
inline std::string redacted(std::string text, const std::vector<std::string>& secrets)
{
    // Repeats until nothing is left: the word that replaces a secret can be a part of another one.
    for (std::string before; before != text;) {
        before = text;
        for (const std::string& secret : secrets) hide_secret(text, secret);
    }
    return text;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
