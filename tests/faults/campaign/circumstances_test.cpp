// SPDX-License-Identifier: BSL-1.0
#include "circumstances.hpp"

#include <leasehold/limits.hpp>
#include <leasehold/odbc/detail/driver/errors.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

using namespace campaign;

BOOST_AUTO_TEST_SUITE(campaign_circumstances)

BOOST_AUTO_TEST_CASE(names_have_all_words_that_the_library_looks_for_in_messages)
{
    namespace odbc = leasehold::odbc::detail;
    std::set<std::string_view> words{odbc::sqlite_speaks, odbc::postgresql_refuses, "Can't open lib '", " has no column named "};
    const auto add = [&](const auto& rules) {
        for (const odbc::fault_rule& rule : rules) words.insert(rule.beginning);
    };
    add(odbc::sqlite_rules);
    add(odbc::postgresql_refusals);
    add(odbc::fault_rules);
    for (const std::string_view word : words)
        BOOST_TEST(std::ranges::any_of(names_like_messages(),
                                       [&](std::string_view name) { return name.find(word) != std::string_view::npos; }),
                   std::string{word});
}

BOOST_AUTO_TEST_CASE(names_fit_into_a_message_of_mariadb_and_are_valid)
{
    for (const std::string_view name : names_like_messages()) {
        BOOST_TEST(name.size() <= 128U, std::string{name});
        BOOST_CHECK_NO_THROW(leasehold::validate_name(name));
    }
}

BOOST_AUTO_TEST_CASE(seeds_decide_and_bring_all_of_them)
{
    std::set<std::string> names, languages;
    int with_tls = 0;
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        const circumstances c = drawn_circumstances(seed);
        BOOST_TEST(c.name == drawn_circumstances(seed).name);
        names.insert(c.name);
        languages.insert(c.language);
        with_tls += c.tls ? 1 : 0;
    }
    BOOST_TEST(names.size() == names_like_messages().size() + 1);
    BOOST_TEST(languages.size() == 4U);
    BOOST_TEST((with_tls > 50 && with_tls < 150));
}

BOOST_AUTO_TEST_SUITE_END()
