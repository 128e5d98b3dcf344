// SPDX-License-Identifier: BSL-1.0
#include <leasehold/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <system_error>

BOOST_AUTO_TEST_SUITE(limits_test)

namespace lh = leasehold;
using namespace std::string_literals;

namespace {

std::string broken_rule(std::string_view text)
{
    const char* rule = lh::detail::broken_text_rule(text, lh::max_name_bytes);
    return rule ? rule : "none";
}

const std::string not_utf8 = "must be valid UTF-8";

}  // namespace

BOOST_AUTO_TEST_CASE(empty_text_is_refused) { BOOST_TEST(broken_rule("") == "must not be empty"); }

BOOST_AUTO_TEST_CASE(length_counts_bytes_not_characters)
{
    BOOST_TEST(broken_rule(std::string(190, 'a')) == "none");
    BOOST_TEST(broken_rule(std::string(191, 'a')) == "is longer than the 190 bytes that are allowed");
    std::string euros;
    for (int i = 0; i < 63; ++i) euros += "\xE2\x82\xAC";  // 189 bytes
    BOOST_TEST(broken_rule(euros + "a") == "none");
    BOOST_TEST(broken_rule(euros + "\xC2\xA2") == "is longer than the 190 bytes that are allowed");
}

BOOST_AUTO_TEST_CASE(nul_is_refused_wherever_it_stands)
{
    BOOST_TEST(broken_rule("\0"s) == "must not contain a NUL");
    BOOST_TEST(broken_rule("a\0b"s) == "must not contain a NUL");
    BOOST_TEST(broken_rule("a\0"s) == "must not contain a NUL");
}

BOOST_AUTO_TEST_CASE(blanks_quotes_wildcards_and_control_characters_are_names_like_others)
{
    for (const char* text :
         {" ", "a ", " a", "o'brien", "\"quoted\"", "100%_\\", "tab\there", "new\nline", "\x7F", ";drop table"})
        BOOST_TEST_CONTEXT(text)
    BOOST_TEST(broken_rule(text) == "none");
}

BOOST_AUTO_TEST_CASE(first_and_last_of_each_utf8_length_are_valid)
{
    for (const char* text : {"\x01", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                             "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
        BOOST_TEST_CONTEXT(text)
    BOOST_TEST(broken_rule(text) == "none");
}

BOOST_AUTO_TEST_CASE(overlong_forms_are_refused)
{
    for (const char* text : {"\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xE0\x9F\xBF", "\xF0\x80\x80\xAF", "\xF0\x8F\xBF\xBF"})
        BOOST_TEST(broken_rule(text) == not_utf8);
    BOOST_TEST(broken_rule("\xC0\x80") == not_utf8);  // the NUL in disguise
}

BOOST_AUTO_TEST_CASE(surrogates_are_refused)
{
    for (const char* text : {"\xED\xA0\x80", "\xED\xAF\xBF", "\xED\xB0\x80", "\xED\xBF\xBF"})
        BOOST_TEST(broken_rule(text) == not_utf8);
}

BOOST_AUTO_TEST_CASE(beyond_the_last_code_point_is_refused)
{
    for (const char* text : {"\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF8\x88\x80\x80\x80", "\xFE", "\xFF"})
        BOOST_TEST(broken_rule(text) == not_utf8);
}

BOOST_AUTO_TEST_CASE(cut_and_stray_sequences_are_refused)
{
    for (const char* text : {"\xC2", "\xE2\x82", "\xF0\x9F\x92", "a\xC2", "\x80", "\xBF", "a\x80z", "\xC2z", "\xE2\x28\xA1",
                             "\xE2\x82z", "\xF0\x9F\x92z"})
        BOOST_TEST(broken_rule(text) == not_utf8);
    // Each byte of a good sequence is needed.
    BOOST_TEST(broken_rule("good\xF0\x9F\x92\xA9") == "none");
}

BOOST_AUTO_TEST_CASE(latin1_is_refused)
{
    BOOST_TEST(broken_rule("M\xFCller") == not_utf8);
    BOOST_TEST(broken_rule("M\xC3\xBCller") == "none");
}

BOOST_AUTO_TEST_CASE(validate_name_throws_the_rule_under_invalid_name)
{
    BOOST_CHECK_NO_THROW(lh::validate_name("nightly"));
    BOOST_CHECK_EXCEPTION(lh::validate_name(""), std::system_error, [](const std::system_error& error) {
        BOOST_TEST(error.code() == lh::errc::invalid_name);
        BOOST_TEST(error.what() == "leasehold: the name must not be empty: invalid name"s);
        return true;
    });
    BOOST_CHECK_EXCEPTION(lh::validate_name(std::string(191, 'a')), std::system_error, [](const std::system_error& error) {
        return error.what() == "leasehold: the name is longer than the 190 bytes that are allowed: invalid name"s;
    });
}

BOOST_AUTO_TEST_CASE(validate_owner_throws_the_rule_under_invalid_owner)
{
    BOOST_CHECK_NO_THROW(lh::validate_owner("db1/4711"));
    BOOST_CHECK_EXCEPTION(lh::validate_owner("a\0b"s), std::system_error, [](const std::system_error& error) {
        BOOST_TEST(error.code() == lh::errc::invalid_owner);
        BOOST_TEST(error.what() == "leasehold: the owner must not contain a NUL: invalid owner"s);
        return true;
    });
}

BOOST_AUTO_TEST_SUITE_END()
