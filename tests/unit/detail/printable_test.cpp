// SPDX-License-Identifier: BSL-1.0
#include <leasehold/detail/printable.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(printable_test)

namespace {

using leasehold::detail::printable;
using namespace std::string_view_literals;

}  // namespace

BOOST_AUTO_TEST_CASE(ordinary_text_of_any_language_is_unchanged)
{
    for (const std::string_view text : {"nightly-report"sv, ""sv, "a b, \"c\" 'd' {e} \\ ~"sv, "Zählung"sv, "夜間レポート"sv,
                                        "отчёт"sv, "😀"sv, "\u00a0"sv, "\u0628\u062a"sv})
        BOOST_TEST(printable(text) == text);
}

BOOST_AUTO_TEST_CASE(text_stays_on_one_line)
{
    BOOST_TEST(printable("a\nERROR forged\r\n") == "a\\nERROR forged\\r\\n");
    BOOST_TEST(printable("a\tb") == "a\\tb");
    BOOST_TEST(printable("a\u2028b\u2029c\u0085d") == "a\\u{2028}b\\u{2029}c\\u{85}d");
    BOOST_TEST(printable("a\vb\fc") == "a\\u{b}b\\u{c}c");
}

BOOST_AUTO_TEST_CASE(terminal_is_told_nothing)
{
    BOOST_TEST(printable("\x1b[31m") == "\\u{1b}[31m");
    BOOST_TEST(printable("\u009b31m") == "\\u{9b}31m");
    BOOST_TEST(printable("\x7f\b\a") == "\\u{7f}\\u{8}\\u{7}");
    BOOST_TEST(printable("a\0b"sv) == "a\\u{0}b");
}

BOOST_AUTO_TEST_CASE(direction_of_the_text_is_not_turned)
{
    for (const std::string_view mark : {"\u061c"sv, "\u200e"sv, "\u200f"sv, "\u202a"sv, "\u202e"sv, "\u2066"sv, "\u2069"sv})
        BOOST_TEST(printable(mark).starts_with("\\u{"));
    BOOST_TEST(printable("a\u202eb") == "a\\u{202e}b");
}

BOOST_AUTO_TEST_CASE(invisible_characters_are_shown)
{
    BOOST_TEST(printable("job\u200b") == "job\\u{200b}");
    BOOST_TEST(printable("\ufeffjob") == "\\u{feff}job");
    BOOST_TEST(printable("jo\u00adb") == "jo\\u{ad}b");
    BOOST_TEST(printable("\U000e0041") == "\\u{e0041}");
    BOOST_TEST(printable("\u3164\u2060\ufe0f") == "\\u{3164}\\u{2060}\\u{fe0f}");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_utf_8_are_shown_as_such)
{
    BOOST_TEST(printable("\xff") == "\\xff");
    BOOST_TEST(printable("caf\xe9!") == "caf\\xe9!");
    BOOST_TEST(printable("\xe2\x80") == "\\xe2\\x80");             // cut off
    BOOST_TEST(printable("\xc0\x8a") == "\\xc0\\x8a");             // overlong
    BOOST_TEST(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
    BOOST_TEST(printable("\x9b"sv) == "\\x9b");                     // C1 as one byte
}

BOOST_AUTO_TEST_CASE(every_byte_is_printable_and_twice_is_once)
{
    for (int byte = 0; byte < 256; ++byte) {
        const std::string once = printable(std::string(1, static_cast<char>(byte)));
        for (const char c : once) BOOST_TEST((c >= ' ' && c <= '~'));
        BOOST_TEST(printable(once) == once);
    }
}

BOOST_AUTO_TEST_SUITE_END()
