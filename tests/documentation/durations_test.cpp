// SPDX-License-Identifier: BSL-1.0
// The numbers of docs/durations.md, from the machine that runs every term.
#include <leasehold/leasehold.hpp>
#include <leasehold/renewal/term_machine.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

struct outcome {
    bool survived = false;
    int tries = 0;  // that ended before the deadline, the one that succeeds included
};

// A term whose calls fail from `from` until `until`, and take `each`.
outcome play(const lh::lease_terms& terms, lh::duration from, lh::duration until, lh::duration each)
{
    constexpr lh::time_point begun{1h};
    const lh::renew_at_fraction policy;
    lh::renewal::term_machine machine;
    machine.granted(begun, terms.ttl, terms.margin(), policy);
    outcome came;
    for (lh::time_point now = begun;;) {
        const lh::renewal::term_step step = machine.step(now);
        if (step.action == lh::renewal::term_action::signal_loss) return came;
        if (step.action == lh::renewal::term_action::sleep) {
            now = step.at;
            continue;
        }
        if (now - begun >= until) {
            came.survived = machine.renewed(now, now, terms.ttl, policy);
            return came;
        }
        if (now - begun < from) {
            machine.renewed(now, now, terms.ttl, policy);
            continue;
        }
        now += each;
        if (now < machine.deadline()) ++came.tries;
        machine.renewal_failed(now, policy);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(durations_page)

BOOST_AUTO_TEST_CASE(an_outage_of_so_long_costs_nothing_whenever_it_begins)
{
    for (const lh::duration ttl : {30s, 60s, 3s}) {
        const lh::lease_terms terms{.ttl = ttl};
        const lh::duration outage = ttl - terms.margin() - ttl / 3 - ttl / 12;
        if (ttl == 30s) BOOST_TEST((outage == 14500ms));
        if (ttl == 60s) BOOST_TEST((outage == 29s));
        for (lh::duration from{}; from < ttl; from += ttl / 997) BOOST_TEST(play(terms, from, from + outage - 1ms, 0s).survived);
    }
}

BOOST_AUTO_TEST_CASE(a_longer_one_can_cost_the_lease)
{
    const lh::lease_terms terms{.ttl = 30s};
    BOOST_TEST(!play(terms, 10s, 10s + 17s, 0s).survived);
}

BOOST_AUTO_TEST_CASE(three_calls_that_hang_for_5_s_fit_into_30_s_and_none_into_3_s)
{
    BOOST_TEST(play(lh::lease_terms{.ttl = 30s}, 0s, 1h, 5s).tries == 3);
    BOOST_TEST(play(lh::lease_terms{.ttl = 3s}, 0s, 1h, 5s).tries == 0);
    BOOST_TEST(play(lh::lease_terms{.ttl = 3s}, 0s, 1h, 500ms).tries == 3);
}

BOOST_AUTO_TEST_CASE(drift_that_a_tenth_covers_is_5_percent)
{
    const lh::lease_terms terms;
    const double margin = std::chrono::duration<double>(terms.margin()).count(),
                 ttl = std::chrono::duration<double>(terms.ttl).count();
    const double bound = margin / (2 * ttl - margin);
    BOOST_TEST(bound > 0.0525);
    BOOST_TEST(bound < 0.0527);
    // A slow holder and a fast store, both wrong by the bound: the two ends meet.
    BOOST_TEST((ttl - margin) / (1 - bound) <= ttl / (1 + bound) + 1e-9);
}

BOOST_AUTO_TEST_SUITE_END()
