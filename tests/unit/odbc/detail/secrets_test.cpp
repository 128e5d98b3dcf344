// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/secrets.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace leasehold::odbc::detail;
using texts = std::vector<std::string>;

std::string shown(std::string_view connection_string, std::string text)
{
    return redacted(std::move(text), passwords_in(connection_string));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(secrets_test)

BOOST_AUTO_TEST_CASE(passwords_are_found_whatever_they_are_called)
{
    BOOST_TEST((passwords_in("Driver=x;UID=u;PWD=secret;Server=h") == texts{"secret"}));
    BOOST_TEST((passwords_in("Driver=x; Password = secret ;Server=h") == texts{"secret"}));
    BOOST_TEST((passwords_in("pass=secret") == texts{"secret"}));
    BOOST_TEST((passwords_in("pWd=one;PASSWORD=second") == texts{"second", "one"}));
}

BOOST_AUTO_TEST_CASE(nothing_else_is_a_password)
{
    BOOST_TEST(passwords_in("").empty());
    BOOST_TEST(passwords_in("Driver=x;UID=u;Server=h").empty());
    BOOST_TEST(passwords_in("PWD=;UID=u").empty());
    BOOST_TEST(passwords_in("Passfile=/home/u/.pgpass").empty());
    BOOST_TEST(passwords_in("no pairs at all").empty());
}

BOOST_AUTO_TEST_CASE(password_in_braces_is_hidden_with_and_without_them)
{
    BOOST_TEST((passwords_in("PWD={se;cret};UID=u") == texts{"{se;cret}", "se;cret"}));
    BOOST_TEST((passwords_in("PWD={se}}cret};UID=u") == texts{"{se}}cret}", "se}}cret"}));
}

BOOST_AUTO_TEST_CASE(keyword_inside_another_values_braces_is_no_keyword)
{
    BOOST_TEST(passwords_in("Driver={x;PWD=y};UID=u").empty());
}

BOOST_AUTO_TEST_CASE(braces_that_are_never_closed_hide_to_the_end)
{
    BOOST_TEST((passwords_in("PWD={se;cret;UID=u") == texts{"{se;cret;UID=u", "se;cret;UID=u"}));
    BOOST_TEST((passwords_in("Driver={x;PWD=secret") == texts{"secret"}));
}

BOOST_AUTO_TEST_CASE(secrets_are_replaced_wherever_they_stand)
{
    BOOST_TEST(shown("PWD=secret", "secret, and secret again") == "***, and *** again");
    BOOST_TEST(shown("PWD=secret", "nothing of the kind") == "nothing of the kind");
    BOOST_TEST(shown("PWD=a;PASSWORD=abc", "abc") == "***");  // the longer one first
    BOOST_TEST(shown("PWD=*", "a*b") == "a***b");             // and no end of it in sight otherwise
}

BOOST_AUTO_TEST_CASE(keywords_of_a_connection_string_are_found_without_regard_to_case_and_spaces)
{
    BOOST_TEST(sets_keyword("Driver=x; TimeOut =5", "timeout"));
    BOOST_TEST(sets_keyword("timeout=5", "timeout"));
    BOOST_TEST(!sets_keyword("Driver=x;MyTimeout=5", "timeout"));
    BOOST_TEST(!sets_keyword("Driver=timeout", "timeout"));
    BOOST_TEST(!sets_keyword("", "timeout"));
    BOOST_TEST(!sets_keyword(";;;", "timeout"));
}

BOOST_AUTO_TEST_SUITE_END()
