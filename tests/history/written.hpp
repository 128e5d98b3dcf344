// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_HISTORY_WRITTEN_HPP
#define LEASEHOLD_TESTS_HISTORY_WRITTEN_HPP

// Histories in files that checkers written elsewhere can read: JSON lines, and EDN as Jepsen's tools read it. docs/histories.md
// describes both. Our checker reads the JSON lines back, so a file says all that it needs.

#include "call.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <map>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace history {

/// What one file holds.
struct written_history {
    std::vector<call> calls{};
    instant clock_error = 0;  ///< of check()

    friend bool operator==(const written_history&, const written_history&) = default;
};

namespace detail {

struct operation_words {
    std::string_view what;
    std::string_view yes;
    std::string_view no;
};

// In the order of the enumeration.
inline constexpr auto words_of_operations = std::to_array<operation_words>({{"acquire", "granted", "busy"},
                                                                            {"renew", "renewed", "refused"},
                                                                            {"release", "released", "refused"},
                                                                            {"publish", "published", "refused"},
                                                                            {"force_release", "ended", "nobody"},
                                                                            {"inspect", "held", "free"}});
static_assert(words_of_operations.size() == static_cast<std::size_t>(operation::inspect) + 1);

inline const operation_words& words_of(operation what) { return words_of_operations[static_cast<std::size_t>(what)]; }

inline std::string_view word_of(operation what, answer said)
{
    const operation_words& words = words_of(what);
    return said == answer::unknown ? "unknown" : said == answer::yes ? words.yes : words.no;
}

// In double quotes. JSON and EDN have these escapes in common.
inline std::string in_quotes(std::string_view text)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "\"";
    for (const char each : text) {
        const auto byte = static_cast<unsigned char>(each);
        if (each == '"' || each == '\\')
            out.append(1, '\\').append(1, each);
        else if (byte < 0x20 || byte == 0x7f)
            out.append("\\u00").append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
        else
            out.append(1, each);
    }
    return out.append(1, '"');
}

// One line: an object whose members are strings, integers or null.
class flat_json {
public:
    explicit flat_json(std::string_view line) : rest_{line}
    {
        expect('{');
        for (bool first = true; !skip('}'); first = false) {
            if (!first) expect(',');
            const std::string key = text();
            expect(':');
            if (!members_.emplace(key, value()).second) throw std::runtime_error{"the member \"" + key + "\" stands there twice"};
        }
        if (!next_is_end()) throw std::runtime_error{"nothing may follow the object"};
    }

    [[nodiscard]] std::string text_of(const std::string& key)
    {
        const member found = take(key);
        if (found.kind != kind_of_value::text) throw std::runtime_error{"\"" + key + "\" has to be a string"};
        return found.text;
    }
    [[nodiscard]] std::int64_t number_of(const std::string& key)
    {
        const member found = take(key);
        if (found.kind != kind_of_value::number) throw std::runtime_error{"\"" + key + "\" has to be an integer"};
        return found.number;
    }
    [[nodiscard]] std::int64_t number_of(const std::string& key, std::int64_t if_null)
    {
        const auto found = members_.find(key);
        if (found == members_.end() || found->second.kind != kind_of_value::nothing) return number_of(key);
        members_.erase(found);
        return if_null;
    }
    // A misspelt member is an error, not ignored.
    void all_were_read() const
    {
        if (!members_.empty()) throw std::runtime_error{"unknown member \"" + members_.begin()->first + "\""};
    }

private:
    enum class kind_of_value : std::uint8_t { text, number, nothing };
    struct member {
        kind_of_value kind = kind_of_value::nothing;
        std::string text{};
        std::int64_t number = 0;
    };

    member take(const std::string& key)
    {
        const auto found = members_.find(key);
        if (found == members_.end()) throw std::runtime_error{"the member \"" + key + "\" is missing"};
        return std::move(members_.extract(found).mapped());
    }

    void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size())); }
    bool next_is_end()
    {
        skip_blanks();
        return rest_.empty();
    }
    bool skip(char expected)
    {
        if (next_is_end() || rest_.front() != expected) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void expect(char expected)
    {
        if (!skip(expected)) throw std::runtime_error{std::string{"expected '"} + expected + "' before: " + std::string{rest_}};
    }

    member value()
    {
        skip_blanks();
        if (rest_.starts_with('"')) return {kind_of_value::text, text(), 0};
        if (rest_.starts_with("null")) {
            rest_.remove_prefix(4);
            return {};
        }
        member found{kind_of_value::number, {}, 0};
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), found.number);
        if (error != std::errc{}) throw std::runtime_error{"expected a string, an integer or null before: " + std::string{rest_}};
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return found;
    }

    char next()
    {
        if (rest_.empty()) throw std::runtime_error{"a string has no end"};
        const char front = rest_.front();
        rest_.remove_prefix(1);
        return front;
    }
    std::string text()
    {
        expect('"');
        std::string found;
        for (char each = next(); each != '"'; each = next()) found += each == '\\' ? escaped() : std::string(1, each);
        return found;
    }
    std::string escaped()
    {
        constexpr std::string_view letters = "\"\\/bfnrt";
        constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
        const char letter = next();
        if (letter == 'u') return utf8();
        const std::size_t found = letters.find(letter);
        if (found == std::string_view::npos) throw std::runtime_error{std::string{"unknown escape \\"} + letter};
        return std::string(1, meanings[found]);
    }
    std::string utf8()
    {
        unsigned code = 0;
        const bool whole = rest_.size() >= 4 && std::from_chars(rest_.data(), rest_.data() + 4, code, 16).ptr == rest_.data() + 4;
        if (!whole || (code >= 0xd800 && code < 0xe000)) throw std::runtime_error{"\\u needs four hexadecimal digits, no surrogates"};
        rest_.remove_prefix(4);
        const auto tail = [&](unsigned shift) { return static_cast<char>(0x80U | ((code >> shift) & 0x3fU)); };
        if (code < 0x80) return std::string(1, static_cast<char>(code));
        if (code < 0x800) return {static_cast<char>(0xc0U | (code >> 6U)), tail(0)};
        return {static_cast<char>(0xe0U | (code >> 12U)), tail(6), tail(0)};
    }

    std::string_view rest_;
    std::map<std::string, member> members_;
};

inline constexpr std::string_view format_name = "leasehold history";
inline constexpr std::int64_t format_version = 1;

inline operation operation_of(std::string_view word)
{
    const auto found = std::ranges::find(words_of_operations, word, &operation_words::what);
    if (found == words_of_operations.end()) throw std::runtime_error{"unknown operation \"" + std::string{word} + "\""};
    return static_cast<operation>(found - words_of_operations.begin());
}

inline answer answer_of(operation what, std::string_view word)
{
    for (const answer each : {answer::yes, answer::no, answer::unknown})
        if (word == word_of(what, each)) return each;
    const operation_words& words = words_of(what);
    throw std::runtime_error{"\"" + std::string{word} + "\" is no result of " + std::string{words.what} + "; its results are \"" +
                             std::string{words.yes} + "\", \"" + std::string{words.no} + "\" and \"unknown\""};
}

// What no store could be blamed for.
inline void check_call(const call& c)
{
    if (c.end < c.begin) throw std::runtime_error{"\"end\" is before \"begin\""};
    if (c.said != answer::unknown && c.end >= never) throw std::runtime_error{"only a call of unknown result may have no \"end\""};
    if (c.ttl < 0 || c.token < 0) throw std::runtime_error{"\"ttl\" and \"token\" can't be negative"};
    if (grants(c) && c.token == 0) throw std::runtime_error{"a grant has a \"token\" of 1 or more"};
    const bool has_ttl = c.what == operation::acquire || c.what == operation::renew;
    if (has_ttl && c.ttl == 0) throw std::runtime_error{"acquire and renew have a \"ttl\" of 1 or more"};
}

inline call call_in(std::string_view line)
{
    flat_json members{line};
    call c{.what = operation_of(members.text_of("op"))};
    c.said = answer_of(c.what, members.text_of("result"));
    c.name = members.text_of("name");
    c.owner = members.text_of("owner");
    c.token = members.number_of("token");
    c.ttl = members.number_of("ttl");
    c.begin = members.number_of("begin");
    c.end = members.number_of("end", never);
    c.by = members.text_of("by");
    members.all_were_read();
    check_call(c);
    return c;
}

inline instant clock_error_in(std::string_view line)
{
    flat_json members{line};
    if (members.text_of("format") != format_name || members.number_of("version") != format_version)
        throw std::runtime_error{"the first line has to be {\"format\":\"leasehold history\",\"version\":1,\"clock_error\":N}"};
    const instant error = members.number_of("clock_error");
    members.all_were_read();
    if (error < 0) throw std::runtime_error{"\"clock_error\" can't be negative"};
    return error;
}

// Jepsen's processes do one thing at a time, and none comes back from a call of unknown result.
inline std::vector<std::size_t> processes_of(const std::vector<call>& calls)
{
    std::vector<std::size_t> order(calls.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return calls[i].begin; });
    std::vector<instant> busy_until;
    std::vector<std::size_t> process(calls.size());
    for (const std::size_t i : order) {
        const auto idle = std::ranges::find_if(busy_until, [&](instant until) { return until < calls[i].begin; });
        process[i] = static_cast<std::size_t>(idle - busy_until.begin());
        if (idle == busy_until.end()) busy_until.emplace_back();
        busy_until[process[i]] = calls[i].said == answer::unknown ? never : calls[i].end;
    }
    return process;
}

// The value of one operation. `:begin` and `:end` are in it, since a model has to know when the store's clock may have been read.
inline std::string edn_value(const call& c, instant first, bool completed)
{
    std::string value = "{:name " + in_quotes(c.name) + ", :owner " + in_quotes(c.owner) + ", :ttl " + std::to_string(c.ttl);
    const bool asks = c.what == operation::renew || c.what == operation::release || c.what == operation::publish;
    if (completed || asks) value += ", :token " + std::to_string(c.token);
    value += ", :begin " + std::to_string(c.begin - first);
    if (completed)
        value.append(", :end ")
            .append(c.end >= never ? "nil" : std::to_string(c.end - first))
            .append(", :result :")
            .append(word_of(c.what, c.said));
    return value + ", :by " + in_quotes(c.by) + "}";
}

}  // namespace detail

/// Ends with a line feed.
[[nodiscard]] inline std::string json_line(const call& c)
{
    std::string line = "{\"op\":" + detail::in_quotes(detail::words_of(c.what).what);
    line.append(",\"result\":").append(detail::in_quotes(detail::word_of(c.what, c.said)));
    line.append(",\"name\":").append(detail::in_quotes(c.name)).append(",\"owner\":").append(detail::in_quotes(c.owner));
    line.append(",\"token\":").append(std::to_string(c.token)).append(",\"ttl\":").append(std::to_string(c.ttl));
    line.append(",\"begin\":").append(std::to_string(c.begin));
    line.append(",\"end\":").append(c.end >= never ? "null" : std::to_string(c.end));
    return line.append(",\"by\":").append(detail::in_quotes(c.by)).append("}\n");
}

inline void write_json_lines(std::ostream& out, const written_history& what)
{
    out << "{\"format\":" << detail::in_quotes(detail::format_name) << ",\"version\":" << detail::format_version
        << ",\"clock_error\":" << what.clock_error << "}\n";
    for (const call& each : what.calls) out << json_line(each);
}

/// Throws std::runtime_error, with the number of the line and what is wrong with it. Empty lines are skipped.
[[nodiscard]] inline written_history read_json_lines(std::istream& in)
{
    written_history found;
    bool has_header = false;
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        try {
            if (has_header)
                found.calls.push_back(detail::call_in(line));
            else
                found.clock_error = detail::clock_error_in(line);
            has_header = true;
        } catch (const std::runtime_error& error) {
            throw std::runtime_error{"line " + std::to_string(number) + ": " + error.what()};
        }
    }
    if (!has_header) throw std::runtime_error{"an empty file is no history"};
    return found;
}

/// One map a line: each call's invocation and its completion, in the order of time. Times are since the first call's begin.
inline void write_edn(std::ostream& out, const written_history& what)
{
    struct event {
        instant at;
        bool completes;
        std::size_t number;
    };
    std::vector<event> events;
    instant first = never;
    instant last = long_ago;
    for (const call& each : what.calls) {
        first = std::min(first, each.begin);
        last = std::max({last, each.begin, each.end >= never ? long_ago : each.end});
    }
    for (std::size_t i = 0; i < what.calls.size(); ++i) {
        events.push_back({what.calls[i].begin, false, i});
        events.push_back({std::min(what.calls[i].end, last), true, i});
    }
    // What ends when another begins is taken to overlap it.
    std::ranges::sort(events, {}, [](const event& e) { return std::tuple{e.at, e.completes, e.number}; });
    const std::vector<std::size_t> processes = detail::processes_of(what.calls);
    std::size_t index = 0;
    for (const auto& [at, completes, number] : events) {
        const call& c = what.calls[number];
        const std::string_view type = !completes ? "invoke" : c.said == answer::unknown ? "info" : "ok";
        out << "{:index " << index++ << ", :time " << at - first << ", :type :" << type << ", :process " << processes[number]
            << ", :f :" << detail::words_of(c.what).what << ", :value " << detail::edn_value(c, first, completes) << "}\n";
    }
}

}  // namespace history

#endif
