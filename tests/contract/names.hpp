// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_NAMES_HPP
#define LEASEHOLD_TESTS_CONTRACT_NAMES_HPP

#include <contract/scene.hpp>

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace leasehold::contract {

/// Texts that somebody's database, driver or collation takes for one another, or for something else than text: no two are
/// equal byte by byte.
inline const std::vector<std::string>& lookalikes()
{
    static const std::vector<std::string> texts{
        // spaces and what is invisible
        "x", "x ", "x  ", " x", "x\t", "x\n", "x\r\n", "\n", " ", "x\x01", "x\x7f", "x\u00a0", "x\u200b", "x\u00ad",
        "\ufeffx",
        // case, accents, widths, ligatures: equal in most collations that are not binary
        "X", "\u00e9", "e\u0301", "e", "E", "\u00c9", "\u00df", "ss", "\u0130", "i", "I", "\u0131", "\uff38", "\ufb01", "fi",
        "\u03c3", "\u03c2", "\u03a3", "\u212b", "\u00c5", "A\u030a",
        // beyond the basic plane, where an old utf8 or UCS-2 ends
        "\U0001f600", "\U0001f601", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0010ffff", "\ufffd", "?", "??",
        // quoting, wildcards, comments, and what ODBC and the drivers expand
        "x'", "x''", "x\"", "x`", "x\\", "x\\\\", "x\\'", "%", "_", "x%", "x_", "x;", "x; --", "x/*", "'; drop table x; --",
        "?x", ":x", "$1", "@x", "{x}", "{fn now()}", "{ts '2026-01-01 00:00:00'}", "{{}}",
        // numbers and words
        "0", "00", "0.0", "1e1", "10", "-0", "NULL", "null", "true", "\\x41", "0x41", "A", "\\N"};
    return texts;
}

// `label` made up to `bytes` bytes with whole characters of four, three, two or one byte.
inline std::string padded(std::string label, std::size_t bytes, std::string_view filler)
{
    while (label.size() + filler.size() <= bytes) label += filler;
    label.resize(bytes, 'z');
    return label;
}

// Names and owners are bytes: any that differ are different, and all come back as they were.
template <store_fixture Fixture>
void add_names(case_list<Fixture> cases)
{
    cases.add("lookalike_names_are_distinct_and_come_back_unchanged", [](auto& s) {
        for (const std::string& text : lookalikes()) {
            BOOST_TEST_CONTEXT("the name's end is \"" << text << '"')
            {
                const acquire_result result = acquire(s.store(), s.name(text), "owner of " + text);
                BOOST_TEST(result.granted());
                BOOST_TEST(!acquire(s.other(), s.name(text), "somebody else").granted());
            }
        }
        for (const std::string& text : lookalikes()) {
            BOOST_TEST_CONTEXT("the name's end is \"" << text << '"')
            {
                const auto record = inspect(s.other(), s.name(text));
                BOOST_REQUIRE(record.has_value());
                BOOST_TEST(record->name == s.name(text));
                BOOST_TEST(record->owner == "owner of " + text);
                BOOST_TEST(renew(s.store(), s.name(text), "owner of " + text, record->token));
                BOOST_TEST(release(s.store(), s.name(text), "owner of " + text, record->token));
            }
        }
    });

    cases.add("lookalike_owners_are_distinct", [](auto& s) {
        const std::vector<std::string>& owners = lookalikes();
        for (std::size_t i = 0; i < owners.size(); ++i) {
            const std::string& owner = owners[i];
            BOOST_TEST_CONTEXT("the owner is \"" << owner << '"')
            {
                grant(s.store(), s.name(), owner);
                const fencing_token token = grant(s.other(), s.name(), owner);  // to the same owner again
                // One other each in turn, and "x", which most of them resemble: all of them would be thousands of calls.
                for (const std::string& another :
                     {owners[(i + 1) % owners.size()], std::string{owner == "x" ? "x " : "x"}}) {
                    BOOST_TEST_CONTEXT("the other is \"" << another << '"')
                    {
                        BOOST_TEST(!acquire(s.other(), s.name(), another).granted());
                        BOOST_TEST(!renew(s.other(), s.name(), another, token));
                        BOOST_TEST(!release(s.other(), s.name(), another, token));
                    }
                }
                const auto record = inspect(s.other(), s.name());
                BOOST_REQUIRE(record.has_value());
                BOOST_TEST(record->owner == owner);
                BOOST_TEST(release(s.store(), s.name(), owner, token));
            }
        }
    });

    cases.add("owners_that_collations_take_for_equal_are_distinct", [](auto& s) {
        const std::vector<std::vector<std::string>> alike{{"x", "x ", "x  ", "X", "x\u200b", "x\u00ad", "\uff38"},
                                                          {"\u00e9", "e\u0301", "e", "E", "\u00c9"},
                                                          {"\u00df", "ss"},
                                                          {"\u0130", "i", "I", "\u0131"},
                                                          {"\ufb01", "fi"},
                                                          {"\u03c3", "\u03c2", "\u03a3"},
                                                          {"\u212b", "\u00c5", "A\u030a"},
                                                          {"\U0001f600", "\U0001f601", "?", "\ufffd"},
                                                          {"0", "00", "0.0", "-0"},
                                                          {"10", "1e1"}};
        for (const auto& owners : alike)
            for (const std::string& holder : owners) {
                const fencing_token token = grant(s.store(), s.name(), holder);
                for (const std::string& another : owners) {
                    if (another == holder) continue;
                    BOOST_TEST_CONTEXT("the holder is \"" << holder << "\", the other \"" << another << '"')
                    {
                        BOOST_TEST(!acquire(s.other(), s.name(), another).granted());
                        BOOST_TEST(!renew(s.other(), s.name(), another, token));
                        BOOST_TEST(!release(s.other(), s.name(), another, token));
                    }
                }
                BOOST_TEST(release(s.store(), s.name(), holder, token));
            }
    });

    cases.add("longest_names_and_owners_differ_in_their_last_byte", [](auto& s) {
        for (const std::string_view filler : {"n", "\u00e9", "\u20ac", "\U0001f600"}) {
            std::string name = padded(s.name(filler), s.max_name_bytes() - 1, filler) + '1';
            std::string owner = padded("owner ", max_owner_bytes - 1, filler) + '1';
            BOOST_REQUIRE(name.size() == s.max_name_bytes());
            BOOST_REQUIRE(owner.size() == max_owner_bytes);
            BOOST_TEST_CONTEXT("made of \"" << filler << '"')
            {
                const fencing_token token = grant(s.store(), name, owner);
                const auto record = inspect(s.other(), name);
                BOOST_REQUIRE(record.has_value());
                BOOST_TEST(record->name == name);
                BOOST_TEST(record->owner == owner);
                owner.back() = '2';
                BOOST_TEST(!acquire(s.other(), name, owner).granted());
                name.back() = '2';
                BOOST_TEST(acquire(s.other(), name, owner).granted());
                name.pop_back();
                BOOST_TEST(!inspect(s.store(), name).has_value());
                name += '1';
                owner.back() = '1';
                BOOST_TEST(release(s.store(), name, owner, token));
            }
        }
    });

    cases.add("empty_owner_of_a_closed_name_is_nobodys", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(release(s.store(), s.name(), "a", token, long_ttl));
        for (const std::string owner : {" ", "''", "NULL", "\t"}) {
            BOOST_TEST_CONTEXT("the owner is \"" << owner << '"')
            {
                BOOST_TEST(!acquire(s.other(), s.name(), owner).granted());
                BOOST_TEST(!renew(s.other(), s.name(), owner, token));
                BOOST_TEST(!release(s.other(), s.name(), owner, token));
            }
        }
        BOOST_TEST(inspect(s.store(), s.name()).has_value());
    });

    cases.add("impossible_names_and_owners_are_refused_before_the_store_is_asked", [](auto& s) {
        const auto refusal = [&](std::string_view name, std::string_view owner) {
            try {
                basic_lease lease{s.store(), name, {}, s.clock(), fixed_owner_id{std::string{owner}}};
            } catch (const std::system_error& e) {
                return e.code();
            }
            return std::error_code{};
        };
        for (const std::string_view text : {std::string_view{""}, std::string_view{"a\0b", 3}, std::string_view{"\xff"},
                                            std::string_view{"\xc3"}, std::string_view{"\xed\xa0\x80"}}) {
            BOOST_TEST(refusal(text, "a") == make_error_code(errc::invalid_name));
            BOOST_TEST(refusal(s.name(), text) == make_error_code(errc::invalid_owner));
        }
        BOOST_TEST(refusal(std::string(max_name_bytes + 1, 'n'), "a") == make_error_code(errc::invalid_name));
        BOOST_TEST(refusal(s.name(), std::string(max_owner_bytes + 1, 'o')) == make_error_code(errc::invalid_owner));
        BOOST_TEST(refusal(std::string(max_name_bytes, 'n'), std::string(max_owner_bytes, 'o')) == std::error_code{});
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
    });
}

}  // namespace leasehold::contract

#endif
