// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_UTF8_HPP
#define LEASEHOLD_DETAIL_UTF8_HPP

#include <cstddef>
#include <string_view>

namespace leasehold::inline v0::detail {

// The length of the valid UTF-8 sequence at the front of `text`, or 0 (RFC 3629: no overlong forms, no surrogates).
constexpr std::size_t utf8_sequence_length(std::string_view text) noexcept
{
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xC2 && lead <= 0xDF ? 2 : (lead & 0xF0) == 0xE0 ? 3 : lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
    if (length == 0 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;
    if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
    return length;
}

// The code point of a valid sequence.
constexpr char32_t utf8_code_point(std::string_view sequence) noexcept
{
    const auto byte = [sequence](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
    if (sequence.size() == 1) return byte(0);
    char32_t value = byte(0) & (0xFFU >> (sequence.size() + 1));
    for (std::size_t i = 1; i < sequence.size(); ++i) value = (value << 6U) | (byte(i) & 0x3FU);
    return value;
}

}  // namespace leasehold::inline v0::detail

#endif
