// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renew_policy/renew_for.hpp>

#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <system_error>

BOOST_AUTO_TEST_SUITE(renew_for_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

constexpr lh::duration ttl = 30s;

lh::renewal_state at_age(lh::duration granted) { return {.granted = granted, .ttl = ttl, .attempt = 0}; }

}  // namespace

BOOST_AUTO_TEST_CASE(renews_like_its_fraction_before)
{
    BOOST_TEST(lh::renew_for{1h}.next(at_age(10min)).value() == 10s);
    BOOST_TEST((lh::renew_for{1h, lh::renew_at_fraction{1, 2}}).next(at_age(10min)).value() == 15s);
}

BOOST_AUTO_TEST_CASE(last_renewal_is_at_the_maximum_and_not_after_it)
{
    const lh::renew_for policy{60s};
    BOOST_TEST(policy.next(at_age(50s)).value() == 10s);
    BOOST_TEST(!policy.next(at_age(50s + 1ns)).has_value());
    BOOST_TEST(!policy.next(at_age(60s)).has_value());
    BOOST_TEST(!policy.next(at_age(60s + 1ns)).has_value());
    BOOST_TEST(!policy.next(at_age(lh::duration::max())).has_value());
}

BOOST_AUTO_TEST_CASE(zero_never_renews) { BOOST_TEST(!lh::renew_for{0s}.next(at_age(0s)).has_value()); }

BOOST_AUTO_TEST_CASE(longest_maximum_does_not_overflow)
{
    BOOST_TEST(lh::renew_for{lh::duration::max()}.next(at_age(24h * 3650)).value() == 10s);
}

BOOST_AUTO_TEST_CASE(negative_maximum_is_refused)
{
    BOOST_CHECK_EXCEPTION(lh::renew_for{-1ns}, std::system_error,
                          [](const std::system_error& e) { return e.code() == lh::errc::invalid_terms; });
}

BOOST_AUTO_TEST_SUITE_END()
