// SPDX-License-Identifier: BSL-1.0
#include <leasehold/lease_terms.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <system_error>

BOOST_AUTO_TEST_SUITE(lease_terms_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

std::string broken_rule(const lh::lease_terms& terms)
{
    const char* rule = terms.broken_rule();
    return rule ? rule : "none";
}

}  // namespace

BOOST_AUTO_TEST_CASE(margin_is_a_tenth_of_the_ttl_unless_given)
{
    BOOST_TEST(lh::lease_terms{}.margin() == 3s);
    BOOST_TEST(lh::lease_terms{.ttl = 2s}.margin() == 200ms);
    BOOST_TEST((lh::lease_terms{.ttl = 2s, .safety_margin = 5ms}.margin()) == 5ms);
}

BOOST_AUTO_TEST_CASE(a_ttl_set_later_has_a_margin_of_its_own_unless_one_is_given)
{
    lh::lease_terms terms, given{.safety_margin = 3s};
    terms.ttl = given.ttl = 100s;
    BOOST_TEST(terms.margin() == 10s);
    BOOST_TEST(given.margin() == 3s);
    terms.ttl = 2s;
    BOOST_TEST(terms.valid());
}

BOOST_AUTO_TEST_CASE(each_rule_has_its_words)
{
    BOOST_TEST(broken_rule({.ttl = 0s}) == "ttl must be at least 1 ms");
    BOOST_TEST(broken_rule({.ttl = -5s}) == "ttl must be at least 1 ms");
    BOOST_TEST(broken_rule({.ttl = 999us}) == "ttl must be at least 1 ms");
    BOOST_TEST(broken_rule({.ttl = lh::max_ttl + 1ns}) == "ttl must be at most 10 years (3650 days)");
    BOOST_TEST(broken_rule({.ttl = lh::duration::max()}) == "ttl must be at most 10 years (3650 days)");
    BOOST_TEST(broken_rule({.ttl = 1s, .safety_margin = -1ns}) == "safety_margin must not be negative");
    BOOST_TEST(broken_rule({.ttl = 1s, .safety_margin = 1s}) ==
               "safety_margin must be shorter than ttl: nothing would be left to hold");
    BOOST_TEST(broken_rule({.ttl = 1s, .safety_margin = 2s}) ==
               "safety_margin must be shorter than ttl: nothing would be left to hold");
    BOOST_TEST(broken_rule({.ttl = 1s, .min_hold = -1ns}) == "min_hold must not be negative");
    BOOST_TEST(broken_rule({.ttl = 1s, .min_hold = lh::max_ttl + 1ns}) == "min_hold must be at most 10 years (3650 days)");
}

BOOST_AUTO_TEST_CASE(the_limits_themselves_are_allowed)
{
    BOOST_TEST(broken_rule({.ttl = lh::min_ttl}) == "none");
    BOOST_TEST(broken_rule({.ttl = lh::max_ttl, .min_hold = lh::max_ttl}) == "none");
    BOOST_TEST(broken_rule({.ttl = 1s, .safety_margin = 0s}) == "none");
    BOOST_TEST(broken_rule({.ttl = 1s, .safety_margin = 1s - 1ns}) == "none");
    BOOST_TEST(broken_rule({.ttl = 1s, .min_hold = 1h}) == "none");
}

BOOST_AUTO_TEST_CASE(validate_throws_the_rule_under_invalid_terms)
{
    BOOST_CHECK_NO_THROW(lh::validate({.ttl = 1s}));
    BOOST_CHECK_EXCEPTION(lh::validate({.ttl = 0s}), std::system_error, [](const std::system_error& error) {
        BOOST_TEST(error.code() == lh::errc::invalid_terms);
        BOOST_TEST(error.code() == std::errc::invalid_argument);
        BOOST_TEST(error.what() == std::string{"leasehold: ttl must be at least 1 ms: invalid terms"});
        return true;
    });
}

BOOST_AUTO_TEST_CASE(equal_terms_compare_equal)
{
    BOOST_CHECK((lh::lease_terms{.ttl = 1s} == lh::lease_terms{.ttl = 1000ms}));
    BOOST_CHECK((lh::lease_terms{.ttl = 1s} != lh::lease_terms{.ttl = 1s, .safety_margin = 100ms}));
    BOOST_CHECK((lh::lease_terms{.ttl = 1s} != lh::lease_terms{.ttl = 1s, .min_hold = 1ms}));
}

BOOST_AUTO_TEST_SUITE_END()
