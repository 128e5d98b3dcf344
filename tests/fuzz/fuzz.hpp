// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_FUZZ_FUZZ_HPP
#define LEASEHOLD_TESTS_FUZZ_FUZZ_HPP

#include <leasehold/detail/printable.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

/// What the fuzzed checks have in common. A check is a function of any bytes: it returns, or ends the process.
namespace fuzz {

/// Ends the process, so that the fuzzer keeps the input, unless `right`. Prints `rule`, and the `details` as printable text.
template <class... Text>
void require(bool right, std::string_view rule, const Text&... details)
{
    if (right) return;
    // Not std::cerr, which a check may have silenced.
    std::fprintf(stderr, "fuzz: broken rule: %s\n", std::string{rule}.c_str());
    (std::fprintf(stderr, "    [%s]\n", leasehold::detail::printable(details).c_str()), ...);
    std::abort();
}

/// Takes an input apart. Inputs are lines, so that a person can write them: the corpus is text.
class reader {
public:
    explicit reader(std::string_view input) noexcept : left_{input} {}

    /// The next line without its line feed; empty at the end.
    std::string_view line() noexcept
    {
        const std::size_t end = std::min(left_.find('\n'), left_.size());
        const std::string_view result = left_.substr(0, end);
        left_.remove_prefix(std::min(end + 1, left_.size()));
        return result;
    }
    /// A number below `count`, from the next byte: '0' is 0. 0 at the end.
    std::size_t choice(std::size_t count) noexcept
    {
        if (left_.empty()) return 0;
        const std::size_t result = static_cast<unsigned char>(left_.front() - '0') % count;
        left_.remove_prefix(1);
        return result;
    }
    /// The next line as a decimal number, which wraps around.
    std::int64_t number() noexcept
    {
        std::string_view digits = line();
        const bool negative = digits.starts_with('-');
        if (negative) digits.remove_prefix(1);
        std::uint64_t value = 0;
        for (const char c : digits) value = value * 10 + static_cast<unsigned char>(c - '0') % 10;
        return static_cast<std::int64_t>(negative ? ~value + 1 : value);
    }
    /// All that is left.
    [[nodiscard]] std::string_view rest() const noexcept { return left_; }
    [[nodiscard]] bool empty() const noexcept { return left_.empty(); }

private:
    std::string_view left_;
};

/// The code points of a text; U+FFFFFFFF for each byte that is not UTF-8. Decodes first and then asks whether that was the
/// shortest form, unlike the library, which looks at pairs of bytes.
inline std::u32string code_points(std::string_view text)
{
    constexpr char32_t broken = 0xFFFFFFFF;
    std::u32string result;
    while (!text.empty()) {
        const auto first = static_cast<unsigned char>(text.front());
        const std::size_t length = first < 0x80        ? 1
                                   : first >> 5U == 6  ? 2
                                   : first >> 4U == 14 ? 3
                                   : first >> 3U == 30 ? 4
                                                       : 0;
        char32_t value = length < 2 ? first : first & (0x7FU >> length);
        bool right = length != 0 && length <= text.size();
        for (std::size_t i = 1; right && i < length; ++i) {
            const auto next = static_cast<unsigned char>(text[i]);
            right = next >> 6U == 2;
            value = (value << 6U) | (next & 0x3FU);
        }
        constexpr std::array<char32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
        right = right && value >= smallest[length] && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
        result += right ? value : broken;
        text.remove_prefix(right ? length : 1);
    }
    return result;
}

inline bool is_utf8(std::string_view text) { return code_points(text).find(0xFFFFFFFF) == std::u32string::npos; }

/// UTF-8 on one line that a terminal shows and does not obey: no controls, no marks that change the order of the text.
inline bool is_harmless(std::string_view text)
{
    for (const char32_t c : code_points(text)) {
        const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029;
        const bool order =
            c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x61C;
        const bool invisible = c == 0x200B || c == 0xFEFF || (c >= 0xE0000 && c < 0xE1000) || c == 0xFFFFFFFF;
        if (control || order || invisible) return false;
    }
    return true;
}

inline bool contains(std::string_view text, std::string_view what) { return text.find(what) != text.npos; }

}  // namespace fuzz

#endif
