// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/odbc_options.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <system_error>

BOOST_AUTO_TEST_SUITE(odbc_options_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

// The first word of the rule it breaks.
template <class Change>
std::string broken(Change change)
{
    lh::odbc_options options;
    change(options);
    const char* rule = options.broken_rule();
    if (!rule) return {};
    const std::string words{rule};
    return words.substr(0, words.find(' '));
}

}  // namespace

BOOST_AUTO_TEST_CASE(defaults_work)
{
    BOOST_TEST(lh::odbc_options{}.broken_rule() == static_cast<const char*>(nullptr));
    BOOST_CHECK_NO_THROW(lh::validate(lh::odbc_options{}));
}

BOOST_AUTO_TEST_CASE(broken_rule_is_named_and_limits_are_inside)
{
    BOOST_TEST(broken([](auto& o) { o.call_timeout = lh::min_call_timeout; }) == "");
    BOOST_TEST(broken([](auto& o) { o.call_timeout = lh::min_call_timeout - 1ns; }) == "call_timeout");
    BOOST_TEST(broken([](auto& o) { o.call_timeout = lh::max_call_timeout; }) == "");
    BOOST_TEST(broken([](auto& o) { o.call_timeout = lh::max_call_timeout + 1ns; }) == "call_timeout");
    BOOST_TEST(broken([](auto& o) { o.lock_timeout = 0s; }) == "lock_timeout");
    BOOST_TEST(broken([](auto& o) { o.pool_size = 1; }) == "");
    BOOST_TEST(broken([](auto& o) { o.pool_size = 0; }) == "pool_size");
    BOOST_TEST(broken([](auto& o) { o.pool_size = lh::max_pool_size; }) == "");
    BOOST_TEST(broken([](auto& o) { o.pool_size = lh::max_pool_size + 1; }) == "pool_size");
}

BOOST_AUTO_TEST_CASE(names_that_would_have_to_be_escaped_are_refused)
{
    BOOST_TEST(broken([](auto& o) { o.table = "jobs.leases"; }) == "");
    BOOST_TEST(broken([](auto& o) { o.table = "a.b.c"; }) == "table");
    BOOST_TEST(broken([](auto& o) { o.table = "leases; drop table users"; }) == "table");
    BOOST_TEST(broken([](auto& o) { o.table = ""; }) == "table");
    BOOST_TEST(broken([](auto& o) { o.columns.name = "na\"me"; }) == "a");
    BOOST_TEST(broken([](auto& o) { o.columns.owner = ""; }) == "a");
    BOOST_TEST(broken([](auto& o) { o.columns.token = "a.b"; }) == "a");
    BOOST_TEST(broken([](auto& o) { o.columns.expires_at = "1st"; }) == "a");
}

BOOST_AUTO_TEST_CASE(validation_throws_the_rule)
{
    lh::odbc_options options;
    options.pool_size = 0;
    BOOST_CHECK_EXCEPTION(lh::validate(options), std::system_error, [](const std::system_error& e) {
        return e.code() == std::errc::invalid_argument && std::string{e.what()}.find("pool_size") != std::string::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()
