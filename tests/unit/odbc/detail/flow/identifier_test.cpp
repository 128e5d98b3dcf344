// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/flow/identifier.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(identifier_test)

using namespace leasehold::odbc::detail;

BOOST_AUTO_TEST_CASE(letters_digits_underscores_and_dollars_make_an_identifier)
{
    for (const std::string_view good : {"leasehold", "L", "_", "a1", "Lease_Hold$2"}) BOOST_TEST(is_identifier(good));
    for (const std::string_view bad : {"", "1a", "$a", "a b", "a-b", "a.b", "a\"b", "a`b", "a;b", "\xC3\xA9", "a'", "a\n"})
        BOOST_TEST(!is_identifier(bad));
    BOOST_TEST(!is_identifier(std::string_view{"a\0b", 3}));
}

BOOST_AUTO_TEST_CASE(identifier_is_as_long_as_every_database_takes)
{
    BOOST_TEST(is_identifier(std::string(max_identifier_bytes, 'a')));
    BOOST_TEST(!is_identifier(std::string(max_identifier_bytes + 1, 'a')));
}

BOOST_AUTO_TEST_CASE(table_may_have_one_schema)
{
    BOOST_TEST(is_qualified_identifier("leasehold"));
    BOOST_TEST(is_qualified_identifier("jobs.leasehold"));
    for (const std::string_view bad : {"a.b.c", ".a", "a.", ".", "a..b", "a. b"}) BOOST_TEST(!is_qualified_identifier(bad));
}

BOOST_AUTO_TEST_CASE(each_part_is_quoted)
{
    BOOST_TEST(quoted_identifier("leasehold", '"') == "\"leasehold\"");
    BOOST_TEST(quoted_identifier("jobs.leasehold", '`') == "`jobs`.`leasehold`");
}

BOOST_AUTO_TEST_SUITE_END()
