// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renew_policy/no_renewal.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(no_renewal_test)

namespace lh = leasehold;

BOOST_AUTO_TEST_CASE(never_renews)
{
    BOOST_TEST(!lh::no_renewal{}.next({}).has_value());
    BOOST_TEST(!lh::no_renewal{}.next({.granted = lh::duration{5}, .ttl = lh::duration{30}, .attempt = 7}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
