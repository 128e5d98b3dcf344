// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/driver/secrets.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(secrets_test)

namespace {

using namespace leasehold::odbc::detail;
using texts = std::vector<std::string>;

std::string shown(std::string_view connection_string, std::string text)
{
    return redacted(std::move(text), passwords_in(connection_string));
}

}  // namespace

BOOST_AUTO_TEST_CASE(passwords_are_found_whatever_they_are_called)
{
    for (const char* keyword : {"PWD", "pwd", "Password", " Password ", "pass", "PWD1", "PWD2", "PWD3", "sslpassword", "TLSPASS",
                                "Trust Store Password", "passphrase", "client_secret"})
        BOOST_TEST((passwords_in("Driver=x;UID=u;" + std::string{keyword} + "= secret ;Server=h") == texts{"secret"}), keyword);
    BOOST_TEST((passwords_in("pWd=one;PASSWORD=second") == texts{"second", "one"}));
}

BOOST_AUTO_TEST_CASE(nothing_else_is_a_password)
{
    BOOST_TEST(passwords_in("").empty());
    BOOST_TEST(passwords_in("Driver=x;UID=u;Server=h").empty());
    BOOST_TEST(passwords_in("PWD=;UID=u").empty());
    BOOST_TEST(passwords_in("Passfile=/home/u/.pgpass").empty());
    BOOST_TEST(passwords_in("no pairs at all").empty());
    BOOST_TEST(passwords_in("=;==;PWD=").empty());
}

BOOST_AUTO_TEST_CASE(password_in_braces_is_known_in_every_form)
{
    const auto has = [](std::string_view connection_string, const char* password) {
        const texts found = passwords_in(connection_string);
        return std::find(found.begin(), found.end(), password) != found.end();
    };
    for (const char* form : {"{se;cret}", "se;cret"}) BOOST_TEST(has("PWD={se;cret};UID=u", form), form);
    for (const char* form : {"{se}}cret}", "se}}cret", "se}cret"}) BOOST_TEST(has("PWD={se}}cret};UID=u", form), form);
    for (const char* form : {"{se;cret;UID=u", "se;cret;UID=u"}) BOOST_TEST(has("PWD={se;cret;UID=u", form), form);  // never closed
    for (const char* form : {"'it\\'s me'", "it\\'s me", "it's me"}) BOOST_TEST(has("pqopt={password='it\\'s me' x=y}", form), form);
}

BOOST_AUTO_TEST_CASE(password_is_found_inside_another_value_and_where_a_semicolon_was_forgotten)
{
    BOOST_TEST((passwords_in("Driver=x;Uid=lease Pwd=hunter2;Server=h") == texts{"hunter2"}));
    BOOST_TEST((passwords_in("Pwd=hunter2 Server=h") == texts{"hunter2 Server=h", "hunter2"}));
    BOOST_TEST((passwords_in("Driver={x;PWD=secret") == texts{"secret"}));
    BOOST_TEST(shown("pqopt={password=hunter2 sslpassword=hunter3}", "hunter2 and hunter3") == "*** and ***");
}

BOOST_AUTO_TEST_CASE(value_of_a_password_is_hidden_whatever_it_is)
{
    for (const std::string secret : {"x", "1", "table", "lease", "hunter2", "a b"}) {
        BOOST_TEST(shown("Uid=lease Pwd=" + secret, "password authentication failed for user \"lease Pwd=" + secret + "\"") ==
                   "password authentication failed for user \"lease Pwd=***\"");
        BOOST_TEST(shown("PWD=" + secret, "in PWD=" + secret + ";UID=u") == "in PWD=***;UID=u");
    }
    BOOST_TEST(shown("PWD={a;}}b};UID=u", "PWD={a;}}b};UID=u") == "PWD=***;UID=u");
    BOOST_TEST(shown("PWD=it's me;UID=u", "PWD=it's me;UID=u") == "PWD=***;UID=u");
    BOOST_TEST(shown("PWD={a;b", "PWD={a;b") == "PWD=***");
    BOOST_TEST(shown("PWD = x;pwd=y", "PWD = x;pwd=y") == "PWD = ***;pwd=***");
    for (const char* stars : {"*", "**", "***", "****"}) BOOST_TEST(shown("PWD=" + std::string{stars}, "PWD=****").starts_with("PWD=***"));
}

BOOST_AUTO_TEST_CASE(password_that_stands_by_itself_is_hidden)
{
    BOOST_TEST(shown("PWD=hunter2", "hunter2, and \"hunter2\" again") == "***, and \"***\" again");
    BOOST_TEST(shown("PWD=hunter2", "nothing of the kind") == "nothing of the kind");
    BOOST_TEST(shown("PWD=ab1!;PASSWORD=ab1!cd2", "ab1!cd2") == "***");  // the longer one first
    BOOST_TEST(shown("PWD={se}}cret}", "missing \"=\" after \"se}cret\"") == "missing \"=\" after \"***\"");
    BOOST_TEST(shown("PWD=****", "a****b") == "a***b");  // and no end of it in sight otherwise
    BOOST_TEST(shown("PWD=correcthorsebattery", "correcthorsebattery!") == "***!");
    BOOST_TEST(shown("PWD=12345678", "12345678") == "***");
}

BOOST_AUTO_TEST_CASE(words_of_a_message_are_not_cut_up_to_hide_a_password_that_is_part_of_them)
{
    BOOST_TEST(shown("PWD=x", "relation \"x\" does not exist") == "relation \"x\" does not exist");
    BOOST_TEST(shown("PWD=table", "no such table: leasehold") == "no such table: leasehold");
    BOOST_TEST(shown("PWD=1146", "doesn't exist (1146)") == "doesn't exist (1146)");
    BOOST_TEST(shown("PWD=leasehold", "relation \"leasehold\"") == "relation \"leasehold\"");
    BOOST_TEST(shown("PWD=hunter2", "hunter22, xhunter2, h\xc3\xa4hunter2") == "hunter22, xhunter2, h\xc3\xa4hunter2");
}

BOOST_AUTO_TEST_SUITE_END()
