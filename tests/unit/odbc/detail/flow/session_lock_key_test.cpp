// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/flow/session_lock_key.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <set>
#include <string>

BOOST_AUTO_TEST_SUITE(session_lock_key_test)

namespace {

using leasehold::odbc::detail::session_lock_key;

std::string text_of(const session_lock_key& key)
{
    const auto text = key.text();
    return {text.data(), text.size()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(lease_has_the_same_key_in_every_process)
{
    // Written down, since versions of a program that run side by side have to agree.
    const session_lock_key key{"leasehold", "nightly-report"};
    BOOST_TEST(key.number() == 4749626974203480638);
    BOOST_TEST(text_of(key) == "leasehold:41ea109185030a3e23f66a03df0fcadc");
}

BOOST_AUTO_TEST_CASE(text_begins_with_whose_it_is_and_fits_into_what_mysql_allows)
{
    const std::string text = text_of({"leasehold", "n"});
    BOOST_TEST(text.starts_with("leasehold:"));
    BOOST_TEST(text.size() <= 64U);
    BOOST_TEST(text.find_first_not_of("0123456789abcdef", 10) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(where_the_table_ends_and_the_name_begins_matters)
{
    BOOST_TEST(text_of({"ab", "c"}) != text_of({"a", "bc"}));
    BOOST_TEST(session_lock_key("ab", "c").number() != session_lock_key("a", "bc").number());
    BOOST_TEST(text_of({"a", ""}) != text_of({"", "a"}));
}

BOOST_AUTO_TEST_CASE(names_that_differ_a_little_have_keys_that_differ)
{
    std::set<std::int64_t> numbers;
    std::set<std::string> texts;
    for (int i = 0; i < 20'000; ++i) {
        const session_lock_key key{"leasehold", "shard-" + std::to_string(i)};
        numbers.insert(key.number());
        texts.insert(text_of(key));
    }
    BOOST_TEST(numbers.size() == 20'000U);
    BOOST_TEST(texts.size() == 20'000U);
}

BOOST_AUTO_TEST_SUITE_END()
