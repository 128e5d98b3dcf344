// SPDX-License-Identifier: BSL-1.0
// Renewals to one store are due at the same instants, and how many of them may share a call.
#include <unit/renewal/term_machines.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

BOOST_AUTO_TEST_SUITE(term_machine_early_renewal_test)

using namespace leasehold_test::term_machines;

namespace {

constexpr lh::renewal::renewal_grid grid{start - 1h};

term_machine held_on_grid(lh::time_point sent)
{
    term_machine machine;
    machine.granted(sent, ttl, margin, at_ten, grid);
    return machine;
}

}  // namespace

BOOST_AUTO_TEST_CASE(renewal_on_the_grid_is_early_by_an_eighth_of_its_pause_at_most)
{
    for (auto sent = start; sent < start + 3s; sent += 7ms) {
        const auto due = held_on_grid(sent).wakes_at();
        BOOST_TEST((due <= sent + 10s));
        BOOST_TEST((due > sent + 8750ms));
    }
    BOOST_TEST((held_on_grid(grid.origin + 10s).wakes_at() == grid.origin + 20s), "from one instant of the grid to another");
    BOOST_TEST((held().wakes_at() == start + 10s), "without a grid it is when the policy says");
}

BOOST_AUTO_TEST_CASE(terms_that_begin_within_a_second_are_due_at_two_instants_at_most)
{
    const auto first = held_on_grid(start).wakes_at();
    const auto last = held_on_grid(start + 1s).wakes_at();
    for (auto sent = start; sent < start + 1s; sent += 7ms) {
        const auto due = held_on_grid(sent).wakes_at();
        BOOST_TEST((due == first || due == last));
    }
}

BOOST_AUTO_TEST_CASE(terms_that_were_renewed_together_are_due_together_again)
{
    term_machine a = held_on_grid(start), b = held_on_grid(start + 5ms);
    auto now = a.wakes_at();
    for (int i = 0; i < 20; ++i) {
        BOOST_TEST_REQUIRE((b.wakes_at() == now));
        BOOST_TEST(a.step(now).action == term_action::renew);
        BOOST_TEST(b.step(now).action == term_action::renew);
        BOOST_TEST(a.renewed(now, now + 2ms, ttl, at_ten));
        BOOST_TEST(b.renewed(now, now + 2ms, ttl, at_ten));
        BOOST_TEST((a.wakes_at() == now + 10s));
        now = a.wakes_at();
    }
}

BOOST_AUTO_TEST_CASE(terms_of_different_ttls_share_instants)
{
    term_machine half;
    half.granted(start, ttl / 2, margin / 2, after{5s}, grid);
    BOOST_TEST(((held_on_grid(start).wakes_at() - grid.origin) % 1250ms == 0ns));
    BOOST_TEST(((half.wakes_at() - grid.origin) % 625ms == 0ns));
}

BOOST_AUTO_TEST_CASE(retry_on_the_grid_is_early_by_half_of_its_pause_at_most_and_never_at_once)
{
    for (auto failed = start + 10s; failed < start + 12s; failed += 7ms) {
        term_machine machine = held_on_grid(start);
        BOOST_TEST(machine.step(start + 10s).action == term_action::renew);
        machine.renewal_failed(failed, after{failed - start + 2s});
        BOOST_TEST((machine.wakes_at() <= failed + 2s));
        BOOST_TEST((machine.wakes_at() > failed + 1s));
        machine.renewal_failed(failed, after{failed - start});
        BOOST_TEST((machine.wakes_at() >= failed + ttl / term_machine::shortest_pause_divisor));
    }
}

BOOST_AUTO_TEST_CASE(instants_before_the_grid_and_no_lead_are_left_as_they_are)
{
    BOOST_TEST((grid.before(start - 2h, 1s) == start - 2h));
    BOOST_TEST((grid.before(start + 1ns, 0s) == start + 1ns));
    BOOST_TEST((grid.before(start + 1ns, 1ns) == start + 1ns));
}

BOOST_AUTO_TEST_CASE(company_is_less_the_less_time_is_left)
{
    const term_machine machine = held();
    BOOST_TEST((machine.tier(start + 10s) == lh::renewal::batch_tier::many));
    BOOST_TEST((machine.tier(start + 15s) == lh::renewal::batch_tier::some));
    BOOST_TEST((machine.tier(start + 22s) == lh::renewal::batch_tier::none));
}

BOOST_AUTO_TEST_SUITE_END()
