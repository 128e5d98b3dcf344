// SPDX-License-Identifier: BSL-1.0
// Permits whose count changes under faults: never more than the record allows, and final in the end.
#include "resizes.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>

BOOST_AUTO_TEST_SUITE(simulation_resizes)

namespace {

// LEASEHOLD_RESIZES=100000 plays so many, for a night.
std::uint64_t schedules()
{
    const char* const asked = std::getenv("LEASEHOLD_RESIZES");
    return asked ? std::stoull(asked) : 400;
}

void play(bool calm)
{
    sim::resizes_result all;
    for (std::uint64_t seed = 1; seed <= schedules(); ++seed) {
        const sim::resizes_result r = sim::resizes{seed, calm}.run();
        BOOST_TEST_REQUIRE(r.what.empty(), (calm ? "calm" : "faults") << ", seed " << seed << ": " << r.what);
        all.grants += r.grants;
        all.of_several += r.of_several;
        all.resizes += r.resizes;
        all.refusals += r.refusals;
    }
    BOOST_TEST_MESSAGE("grants " << all.grants << ", of several " << all.of_several << ", resizes " << all.resizes << ", refusals "
                                 << all.refusals);
    BOOST_TEST(all.grants > 0);
    BOOST_TEST(all.of_several > 0);
    BOOST_TEST(all.resizes > 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(never_more_than_the_record_allows_and_none_is_taken_away) { play(true); }

BOOST_AUTO_TEST_CASE(never_more_than_the_record_allows_whatever_goes_wrong) { play(false); }

BOOST_AUTO_TEST_SUITE_END()
