// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_HISTORY_EDN_HPP
#define LEASEHOLD_TESTS_HISTORY_EDN_HPP

// A reader of EDN, as far as histories need it. It shares nothing with their writer.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace history {

/// A map, a vector, a keyword, a string, an integer or nil.
struct edn {
    char kind = 'n';  ///< what it begins with: { [ : " 1 n
    std::string text{};  ///< of a keyword or a string
    std::int64_t number = 0;
    std::vector<edn> items{};  ///< of a map: keys and values in turns

    /// The value of a key of a map.
    [[nodiscard]] const edn& at(std::string_view key) const
    {
        for (std::size_t i = 0; kind == '{' && i < items.size(); i += 2)
            if (items[i].kind == ':' && items[i].text == key) return items[i + 1];
        throw std::runtime_error{"no map with :" + std::string{key}};
    }
    [[nodiscard]] const std::string& text_of(char wanted) const { return of(wanted).text; }
    [[nodiscard]] std::int64_t integer() const { return of('1').number; }

private:
    [[nodiscard]] const edn& of(char wanted) const
    {
        return kind == wanted ? *this : throw std::runtime_error{std::string{"'"} + kind + "' instead of '" + wanted + "'"};
    }
};

/// Throws std::runtime_error where the text is not EDN.
class edn_reader {
public:
    explicit edn_reader(std::string_view text) : rest_{text} {}

    [[nodiscard]] bool at_end()
    {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n,"), rest_.size()));
        return rest_.empty();
    }

    [[nodiscard]] edn next()
    {
        if (at_end()) throw std::runtime_error{"a value is missing"};
        const char first = rest_.front();
        if (first == '{') return {'{', {}, 0, without_repeated_keys(items('}'))};
        if (first == '[') return {'[', {}, 0, items(']')};
        if (first == '"') return {'"', string()};
        const std::string word{take(std::min(rest_.find_first_of(" \t\r\n,{}[]()\""), rest_.size()))};
        if (word == "nil") return {};
        if (word.size() > 1 && first == ':' && word.find_first_not_of(name_characters, 1) == word.npos && !is_digit(word[1]))
            return {':', word.substr(1)};
        edn found{'1'};
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), found.number);
        if (error != std::errc{} || end != word.data() + word.size()) throw std::runtime_error{"no value of EDN: " + word};
        return found;
    }

private:
    static constexpr std::string_view name_characters = "abcdefghijklmnopqrstuvwxyz0123456789-_";

    static bool is_digit(char c) { return c >= '0' && c <= '9'; }

    std::string_view take(std::size_t size)
    {
        if (size > rest_.size()) throw std::runtime_error{"the text ends too early"};
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }

    std::vector<edn> items(char end)
    {
        take(1);
        std::vector<edn> found;
        while (!at_end() && rest_.front() != end) found.push_back(next());
        take(1);
        return found;
    }

    static std::vector<edn> without_repeated_keys(std::vector<edn> items)
    {
        if (items.size() % 2 != 0) throw std::runtime_error{"a map has a key without a value"};
        for (std::size_t i = 0; i < items.size(); i += 2)
            for (std::size_t j = 0; j < i; j += 2)
                if (items[i].kind == items[j].kind && items[i].text == items[j].text) throw std::runtime_error{"twice: " + items[i].text};
        return items;
    }

    // Clojure's reader has these escapes. All that a history's writer escapes by number is ASCII.
    std::string string()
    {
        constexpr std::string_view letters = "\"\\tnrbf", meanings = "\"\\\t\n\r\b\f";
        take(1);
        std::string found;
        for (char each = take(1)[0]; each != '"'; each = take(1)[0]) {
            if (each != '\\') {
                found += each;
            } else if (const char letter = take(1)[0]; letter == 'u') {
                unsigned code = 0;
                const std::string_view digits = take(4);
                if (std::from_chars(digits.data(), digits.data() + 4, code, 16).ptr != digits.data() + 4 || code > 0x7f)
                    throw std::runtime_error{"\\u" + std::string{digits}};
                found += static_cast<char>(code);
            } else if (const std::size_t at = letters.find(letter); at != letters.npos) {
                found += meanings[at];
            } else {
                throw std::runtime_error{std::string{"no escape of EDN: \\"} + letter};
            }
        }
        return found;
    }

    std::string_view rest_;
};

}  // namespace history

#endif
