// SPDX-License-Identifier: BSL-1.0
#include "json.hpp"

#include <leasehold/detail/printable.hpp>
#include <leasehold/detail/utf8.hpp>

#include <cstddef>

namespace tool {

namespace {

void append_escaped(std::string& to, char32_t c)
{
    const auto unit = [&to](char32_t value) { leasehold::detail::append_hexadecimal(to.append("\\u"), value, 4); };
    if (c < 0x10000) return unit(c);
    c -= 0x10000;
    unit(0xD800 + (c >> 10U));
    unit(0xDC00 + (c & 0x3FFU));
}

}  // namespace

std::string json_string(std::string_view text)
{
    std::string result{"\""};
    while (!text.empty()) {
        const std::size_t length = leasehold::detail::utf8_sequence_length(text);
        const std::string_view sequence = text.substr(0, length == 0 ? 1 : length);
        text.remove_prefix(sequence.size());
        const char32_t c = length == 0 ? U'\uFFFD' : leasehold::detail::utf8_code_point(sequence);
        if (length == 0 || leasehold::detail::is_hidden(c))
            append_escaped(result, c);
        else if (c == U'"' || c == U'\\')
            result.append({'\\', sequence.front()});
        else
            result.append(sequence);
    }
    return result + '"';
}

}  // namespace tool
