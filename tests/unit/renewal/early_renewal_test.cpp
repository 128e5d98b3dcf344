// SPDX-License-Identifier: BSL-1.0
// Renewals that go early, together with others, and how many they may wait for.
#include <unit/renewal/term_machines.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

BOOST_AUTO_TEST_SUITE(early_renewal_test)

using namespace leasehold_test::term_machines;

BOOST_AUTO_TEST_CASE(renewal_may_go_early_by_an_eighth_of_its_pause)
{
    term_machine machine = held();
    BOOST_TEST((machine.early_from() == start + 8750ms));
    BOOST_TEST(!machine.step_early(start + 8750ms - 1ns));
    BOOST_TEST(!machine.renewing());
    BOOST_TEST(machine.step_early(start + 8750ms));
    BOOST_TEST(machine.renewing());
    BOOST_TEST((machine.wakes_at() == deadline));
    BOOST_TEST(!machine.step_early(start + 9s), "asked for twice");
    BOOST_TEST(machine.renewed(start + 9s, start + 9s, ttl, at_ten));
    BOOST_TEST((machine.early_from() == start + 17750ms));
}

BOOST_AUTO_TEST_CASE(retry_may_go_early_by_half_of_its_pause)
{
    term_machine machine = held();
    BOOST_TEST(machine.step(start + 10s).action == term_action::renew);
    machine.renewal_failed(start + 11s, after{13s});
    BOOST_TEST((machine.wakes_at() == start + 13s));
    BOOST_TEST((machine.early_from() == start + 12s));
}

BOOST_AUTO_TEST_CASE(nothing_goes_early_that_is_not_to_be_renewed)
{
    term_machine machine;
    BOOST_TEST(!machine.step_early(start + 1h));
    machine.granted(start, ttl, margin, after{});
    BOOST_TEST((machine.early_from() == lh::time_point::max()));
    BOOST_TEST(!machine.step_early(start + 26s));
    machine.ended();
    machine.granted(start, ttl, margin, at_ten);
    BOOST_TEST(!machine.step_early(deadline), "past its deadline");
    machine.ended();
    BOOST_TEST(!machine.step_early(start + 10s));
    machine.granted(start, ttl, margin, at_ten);
    BOOST_TEST(machine.refused());
    BOOST_TEST(!machine.step_early(start + 10s));
    BOOST_TEST((machine.early_from() == lh::time_point::max()));
}

BOOST_AUTO_TEST_CASE(company_is_less_the_less_time_is_left)
{
    const term_machine machine = held();
    BOOST_TEST((machine.tier(start + 10s) == lh::renewal::batch_tier::many));
    BOOST_TEST((machine.tier(start + 15s) == lh::renewal::batch_tier::some));
    BOOST_TEST((machine.tier(start + 22s) == lh::renewal::batch_tier::none));
}

BOOST_AUTO_TEST_SUITE_END()
