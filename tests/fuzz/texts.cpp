// SPDX-License-Identifier: BSL-1.0
// Names, owners and data: which are accepted, and how they are shown. Input: a width (choice), a text, more text.
#include "fuzz.hpp"
#include "targets.hpp"

#include <records.hpp>

#include <leasehold/bounded_text.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/odbc/detail/driver/nearest.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

namespace lh = leasehold;

bool throws_invalid(void (*validate)(std::string_view), std::string_view text, lh::errc code)
{
    try {
        validate(text);
        return false;
    } catch (const std::system_error& refused) {
        fuzz::require(refused.code() == code && refused.code() == std::errc::invalid_argument, "a refusal has its code",
                      text);
        return true;
    }
}

void is_accepted_or_refused(std::string_view text)
{
    const bool right = fuzz::is_utf8(text) && !fuzz::contains(text, std::string_view{"\0", 1});
    const bool is_name = right && !text.empty() && text.size() <= 190;
    const bool is_owner = is_name && !text.starts_with("held closed ");
    const bool is_data = right && text.size() <= 1024;
    fuzz::require(throws_invalid(lh::validate_name, text, lh::errc::invalid_name) == !is_name,
                  "a name is 1 to 190 bytes of UTF-8", text);
    fuzz::require(throws_invalid(lh::validate_owner, text, lh::errc::invalid_owner) == !is_owner,
                  "an owner is 1 to 190 bytes of UTF-8, and looks like no hold", text);
    fuzz::require(throws_invalid(lh::validate_data, text, lh::errc::invalid_data) == !is_data,
                  "data is at most 1024 bytes of UTF-8", text);
    fuzz::require(lh::detail::refusal_of(text) == (is_name ? std::error_code{} : make_error_code(lh::errc::invalid_name)),
                  "a store refuses what a lease refuses", text);
    fuzz::require(!lh::detail::refusal_of(text, "owner") == is_name && !lh::detail::refusal_of("name", text) == is_name,
                  "both texts are looked at", text);
    fuzz::require(!lh::detail::refusal_of_data(text) == is_data, "a store refuses the data that a lease refuses", text);

    lh::bounded_text<190> kept;
    fuzz::require(kept.assign(text) == (text.size() <= 190) && (text.size() > 190 || kept == text),
                  "a bounded text keeps what fits", text);
}

// A number in hexadecimal digits, up to `end`; moves behind it.
char32_t take_hexadecimal(std::string_view& text, char end)
{
    char32_t value = 0;
    const std::size_t length = std::min(text.find(end), text.size());
    for (const char c : text.substr(0, length))
        value = value * 16 + static_cast<char32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    text.remove_prefix(std::min(length + 1, text.size()));
    return value;
}

std::string utf8(char32_t c)
{
    if (c < 0x80) return {static_cast<char>(c)};
    std::string tail;
    char32_t room = 0x40;  // values that the first byte has room for
    for (; c >= room; room >>= 1U, c >>= 6U) tail.insert(0, 1, static_cast<char>(0x80 | (c & 0x3F)));
    return static_cast<char>(~(2 * room - 1) | c) + tail;
}

std::string unescaped(std::string_view text)
{
    std::string result;
    while (!text.empty()) {
        const char c = text.front();
        text.remove_prefix(1);
        if (c != '\\') {
            result += c;
            continue;
        }
        const char kind = text.front();
        text.remove_prefix(1);
        if (kind == 'x') {
            std::string_view digits = text.substr(0, 2);
            text.remove_prefix(2);
            result += static_cast<char>(take_hexadecimal(digits, '\0'));
        } else if (kind == 'u') {
            text.remove_prefix(1);
            result += utf8(take_hexadecimal(text, '}'));
        } else {
            result += kind == 'n' ? '\n' : kind == 'r' ? '\r' : '\t';
        }
    }
    return result;
}

void is_shown_without_harm(std::string_view text)
{
    const std::string shown = lh::detail::printable(text);
    fuzz::require(fuzz::is_harmless(shown), "what is shown is one line without controls", text, shown);
    fuzz::require(lh::detail::printable(shown) == shown, "what can be shown is not changed", text, shown);
    // A backslash is left as it is, so only a text without one can be read back.
    if (!fuzz::contains(text, "\\"))
        fuzz::require(unescaped(shown) == text, "what is escaped can be read back", text, shown);
}

void fits_in_columns(std::string_view text, std::size_t width)
{
    const std::string shown = lh::detail::printable(text);
    for (const std::string& cut : {tool::fitted(shown, width), tool::fitted_name(shown, width)}) {
        fuzz::require(fuzz::is_harmless(cut), "a text is cut between characters", text, cut);
        fuzz::require(tool::columns_of(cut) <= width, "a text that is cut fits", text, cut);
    }
    fuzz::require(tool::columns_of(tool::fitted(shown, width)) == width, "a column is filled", text);
    fuzz::require(fuzz::is_harmless(tool::short_owner(text)), "an owner is shown without controls", text);
    fuzz::require(tool::short_owner(text).size() <= shown.size() + 3, "a short owner is not longer", text);
}

void is_a_line_of_a_table(std::string_view text, std::string_view other)
{
    using namespace std::chrono_literals;
    std::vector<lh::lease_record> records{
        {std::string{text}, std::string{other}, lh::fencing_token{1}, 1s, std::string{other}},
        {"job", std::string{text}, lh::fencing_token{2}, 2s}};
    records.back().handover_request = std::string{other};
    const std::string table = tool::to_table(records);
    fuzz::require(std::count(table.begin(), table.end(), '\n') == 3, "each record is one line", table);
    fuzz::reader lines{table};
    const std::string_view heading = lines.line();
    const auto owners = tool::columns_of(heading.substr(0, heading.find("OWNER")));
    while (!lines.empty()) {
        const std::string_view line = lines.line();
        fuzz::require(fuzz::is_harmless(line), "a line of a table has no controls", line);
        fuzz::require(tool::columns_of(line) > owners, "a line has each of its columns", line);
    }
}

void something_near_is_suggested(std::string_view text)
{
    const std::vector<std::string> words{"run", "elect", "release", "--store-file"};
    const std::string found = lh::odbc::detail::nearest(text, words);
    fuzz::require(found.empty() || std::find(words.begin(), words.end(), found) != words.end(),
                  "a suggestion is one of the words", text, found);
    for (const std::string& word : words) fuzz::require(lh::odbc::detail::nearest(word, words) == word, "a word is nearest to itself");
}

}  // namespace

void fuzz::texts(std::string_view input)
{
    reader in{input};
    const std::size_t width = in.choice(64);
    const std::string_view text = in.line();
    is_accepted_or_refused(text);
    is_accepted_or_refused(in.rest());
    is_shown_without_harm(text);
    is_shown_without_harm(in.rest());
    fits_in_columns(in.rest(), width);
    is_a_line_of_a_table(text, in.rest());
    something_near_is_suggested(text.substr(0, 64));
}
