// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_PRINTABLE_HPP
#define LEASEHOLD_DETAIL_PRINTABLE_HPP

#include <leasehold/detail/utf8.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace leasehold::inline v0::detail {

// A character that a terminal or a log obeys instead of showing, or that is invisible: controls (C0, DEL, C1), line and
// paragraph separators, bidirectional marks, and Unicode's default-ignorable characters.
constexpr bool is_hidden(char32_t c) noexcept
{
    struct range {
        char32_t first, last;
    };
    constexpr std::array hidden{
        range{0x00, 0x1F},       range{0x7F, 0x9F},       range{0xAD, 0xAD},       range{0x34F, 0x34F},
        range{0x61C, 0x61C},     range{0x115F, 0x1160},   range{0x17B4, 0x17B5},   range{0x180B, 0x180F},
        range{0x200B, 0x200F},   range{0x2028, 0x202E},   range{0x2060, 0x206F},   range{0x3164, 0x3164},
        range{0xFE00, 0xFE0F},   range{0xFEFF, 0xFEFF},   range{0xFFA0, 0xFFA0},   range{0xFFF0, 0xFFFB},
        range{0x1BCA0, 0x1BCA3}, range{0x1D173, 0x1D17A}, range{0xE0000, 0xE0FFF}};
    if ((c & 0xFFFEU) == 0xFFFEU) return true;  // noncharacters
    return std::any_of(hidden.begin(), hidden.end(), [c](const range& one) { return one.first <= c && c <= one.last; });
}

inline void append_hexadecimal(std::string& to, char32_t value, int least_digits)
{
    std::array<char, 8> digits{};
    std::size_t begin = digits.size();
    for (; value != 0 || least_digits > 0; value >>= 4U, --least_digits) digits[--begin] = "0123456789abcdef"[value & 0xFU];
    to.append(digits.data() + begin, digits.size() - begin);
}

// The text on one line, as UTF-8, without hidden characters: it shows \n, \r, \t, \u{202e} for other hidden characters, and
// \xff for bytes that are not UTF-8. A backslash is not changed, so printable text stays the same.
inline std::string printable(std::string_view text)
{
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8_sequence_length(text);
        const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
        text.remove_prefix(sequence.size());
        if (length == 0) {
            append_hexadecimal(result.append("\\x"), static_cast<unsigned char>(sequence.front()), 2);
            continue;
        }
        const char32_t c = utf8_code_point(sequence);
        if (!is_hidden(c)) {
            result.append(sequence);
        } else if (const std::size_t named = std::string_view{"\n\r\t"}.find(sequence); named != std::string_view::npos) {
            result.append({'\\', "nrt"[named]});
        } else {
            append_hexadecimal(result.append("\\u{"), c, 1);
            result += '}';
        }
    }
    return result;
}

}  // namespace leasehold::inline v0::detail

#endif
