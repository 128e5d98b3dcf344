// SPDX-License-Identifier: BSL-1.0
// A test that hangs, for the test of time_limit.
#include <boost/test/unit_test.hpp>

#include <future>

BOOST_AUTO_TEST_SUITE(hung_test)

BOOST_AUTO_TEST_CASE(waits_for_what_never_comes)
{
    std::promise<void> never;
    never.get_future().wait();
}

BOOST_AUTO_TEST_SUITE_END()
