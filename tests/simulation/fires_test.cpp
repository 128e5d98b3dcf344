// SPDX-License-Identifier: BSL-1.0
// Fires under faults, hosts that are killed, and a store that fails over: none is completed twice or left out, and in the end the last one
// is done. Who has another schedule for the name is refused.
#include "fires.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>

BOOST_AUTO_TEST_SUITE(simulation_fires)

namespace {

// LEASEHOLD_FIRES_SIMULATED=100000 plays so many, for a night.
std::uint64_t schedules()
{
    const char* const asked = std::getenv("LEASEHOLD_FIRES_SIMULATED");
    return asked ? std::stoull(asked) : 300;
}

void play(bool calm)
{
    sim::fires_result all;
    for (std::uint64_t seed = 1; seed <= schedules(); ++seed) {
        const sim::fires_result r = sim::fires{seed, calm}.run();
        BOOST_TEST_REQUIRE(r.what.empty(), (calm ? "calm" : "faults") << ", seed " << seed << ": " << r.what);
        all.begun += r.begun;
        all.completed += r.completed;
        all.failed += r.failed;
        all.missed += r.missed;
        all.lost += r.lost;
        all.killed_at_work += r.killed_at_work;
        all.killed_completed += r.killed_completed;
        all.killed_open += r.killed_open;
        all.failed_over += r.failed_over;
        all.refused += r.refused;
    }
    BOOST_TEST_MESSAGE("begun " << all.begun << ", completed " << all.completed << ", failed " << all.failed << ", missed " << all.missed
                                << ", lost " << all.lost << ", killed at work " << all.killed_at_work << ", killed while completing "
                                << all.killed_completed << " (completed) and " << all.killed_open << " (open), failed over "
                                << all.failed_over << ", refused " << all.refused);
    BOOST_TEST(all.completed > 0);
    BOOST_TEST(all.failed > 0);
    BOOST_TEST(all.missed > 0);
    BOOST_TEST(all.lost > 0);
    BOOST_TEST(all.refused > 0);
    if (calm) return;
    BOOST_TEST(all.killed_at_work > 0);
    BOOST_TEST(all.killed_completed > 0);
    BOOST_TEST(all.killed_open > 0);
    BOOST_TEST(all.failed_over > 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_fire_is_completed_once) { play(true); }

BOOST_AUTO_TEST_CASE(each_fire_is_completed_once_whatever_goes_wrong) { play(false); }

BOOST_AUTO_TEST_SUITE_END()
