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

// Where a secret's value stands in a text, with its braces or quotes.
struct secret_place {
    std::size_t begin, end;
};

// What ends a value that has neither braces nor quotes, in a connection string or in a message.
inline constexpr std::string_view ends_of_value = ";}\"'`\n";

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

constexpr bool ends_value(std::string_view rest) noexcept
{
    return rest.empty() || rest.front() == ' ' || ends_of_value.find(rest.front()) != std::string_view::npos;
}

// The end of a value that begins there. A brace or quote with more of a word behind it is no end: to ODBC 'it's' is a password.
constexpr std::size_t end_of_value(std::string_view text, std::size_t begin) noexcept
{
    const std::size_t enclosed = end_of_enclosed(text, begin);
    if (enclosed > begin && ends_value(text.substr(enclosed))) return enclosed;
    const bool quote = begin < text.size() && is_quote(text[begin]);
    return std::min(text.find_first_of(ends_of_value, std::max(enclosed, begin + quote)), text.size());
}

// The next value of a secret's keyword, wherever in the text: in a value in braces, and behind a value whose end was forgotten.
inline bool find_secret(std::string_view text, std::size_t from, secret_place& found)
{
    for (std::size_t equals = text.find('=', from); equals != std::string_view::npos; equals = text.find('=', equals + 1)) {
        const std::string_view before = without_spaces_around(text.substr(0, equals));
        std::size_t word = before.size();
        while (word > 0 && is_word_character(before[word - 1])) --word;
        if (!is_keyword_of_a_secret(before.substr(word))) continue;
        found.begin = std::min(text.find_first_not_of(' ', equals + 1), text.size());
        found.end = end_of_value(text, found.begin);
        return true;
    }
    return false;
}

// Without the first character of each `what`.
inline std::string without_each(std::string_view what, std::string text)
{
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) text.erase(at, 1);
    return text;
}

// Whether a place in a connection string is inside another value: one in braces.
inline bool is_in_braces(std::string_view before) noexcept
{
    const std::size_t open = before.rfind('{'), closed = before.rfind('}');
    return open != std::string_view::npos && (closed == std::string_view::npos || closed < open);
}

// Every form in which the passwords of a connection string may come up in a message: as written, without braces or quotes,
// and only up to where somebody may have seen its end. Better one too many.
inline std::vector<std::string> passwords_in(std::string_view connection_string)
{
    std::vector<std::string> found;
    const auto add = [&found](std::string_view secret) {
        secret = without_spaces_around(secret);
        if (!secret.empty() && std::find(found.begin(), found.end(), secret) == found.end()) found.emplace_back(secret);
    };
    secret_place place{};
    for (std::size_t at = 0; find_secret(connection_string, at, place); at = place.begin) {
        const std::string_view value = connection_string.substr(place.begin, place.end - place.begin);
        const bool quotes = !value.empty() && is_quote(value.front());
        add(value);
        if (quotes || value.starts_with('{')) {
            std::string inside{value.substr(1)};
            if (inside.ends_with(quotes ? value.front() : '}')) inside.pop_back();
            for (const std::string& form : {inside, without_each("}}", inside)}) {
                add(form);
                if (quotes) add(without_each("\\", form));  // as libpq reads it
            }
            // Quotes are a part of a value to ODBC, but not to libpq, whose keywords stand inside another value.
            const bool ends_there = end_of_enclosed(connection_string, place.begin) == place.end;
            if (ends_there && (!quotes || is_in_braces(connection_string.substr(0, place.begin)))) continue;
        }
        add(value.substr(0, value.find(' ')));
        // A ; in a password that has no braces: what follows is no pair.
        std::size_t end = std::min(connection_string.find(';', place.begin), connection_string.size());
        add(connection_string.substr(place.begin, end - place.begin));
        while (end < connection_string.size()) {
            const std::size_t next = std::min(connection_string.find(';', end + 1), connection_string.size());
            const std::string_view piece = connection_string.substr(end + 1, next - end - 1);
            if (without_spaces_around(piece).empty() || piece.find('=') != std::string_view::npos) break;
            add(piece);
            end = next;
            add(connection_string.substr(place.begin, end - place.begin));
        }
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

inline void hide_values(std::string& text, const std::vector<std::string>& secrets)
{
    secret_place place{};
    for (std::size_t at = 0; find_secret(text, at, place); at = place.begin + instead_of_a_secret.size()) {
        const std::string_view value = std::string_view{text}.substr(place.begin);
        if (value.starts_with(instead_of_a_secret) && ends_value(value.substr(instead_of_a_secret.size())))
            place.end = place.begin + instead_of_a_secret.size();  // hidden before
        for (const std::string& secret : secrets)
            if (value.starts_with(secret)) place.end = std::max(place.end, place.begin + secret.size());
        text.replace(place.begin, place.end - place.begin, instead_of_a_secret);
    }
}

inline void hide_secret(std::string& text, const std::string& secret)
{
    for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
        const std::size_t end = at + secret.size();
        const bool goes_on = (at > 0 && is_word_character(text[at - 1]) && is_word_character(secret.front())) ||
                             (end < text.size() && is_word_character(text[end]) && is_word_character(secret.back()));
        if (goes_on) {
            ++at;
            continue;
        }
        text.replace(at, secret.size(), instead_of_a_secret);
        at += instead_of_a_secret.size();
    }
}

// Hides what stands as the value of a secret's keyword, whatever it is, and elsewhere each of the `secrets` that stands by
// itself, not as a part of a longer word, and is telling. Hiding again changes nothing.
inline std::string redacted(std::string text, const std::vector<std::string>& secrets)
{
    // Until nothing is left: the word that replaces a secret can be a part of another one.
    for (std::string before; before != text;) {
        before = text;
        hide_values(text, secrets);
        for (const std::string& secret : secrets)
            if (is_telling(secret)) hide_secret(text, secret);
    }
    return text;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
