// SPDX-License-Identifier: BSL-1.0
// What the simulator's findings rest on.
#include "schedule.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <set>

BOOST_AUTO_TEST_SUITE(simulation_itself)

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_events)
{
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const sim::outcome first = sim::play(seed);
        const sim::outcome second = sim::play(seed);
        BOOST_TEST(first.hash == second.hash, "seed " << seed);
        BOOST_TEST(first.events == second.events, "seed " << seed);
    }
}

BOOST_AUTO_TEST_CASE(another_seed_gives_other_events)
{
    std::set<std::uint64_t> hashes;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) hashes.insert(sim::play(seed).hash);
    BOOST_TEST(hashes.size() == 100U);
}

BOOST_AUTO_TEST_CASE(a_schedule_does_not_depend_on_those_before_it)
{
    const std::uint64_t alone = sim::play(7).hash;
    for (std::uint64_t seed = 100; seed < 120; ++seed) sim::play(seed);
    BOOST_TEST(sim::play(7).hash == alone);
}

BOOST_AUTO_TEST_CASE(every_kind_of_fault_happens)
{
    sim::tally all;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) all.add(sim::play(seed).faults);
    all.each([](const char* what, std::uint64_t how_often) { BOOST_TEST(how_often > 0U, what); });
}

BOOST_AUTO_TEST_CASE(a_drifting_clock_shows_an_instant_first_when_it_says)
{
    for (const std::int64_t ppm : {-90'000, -1, 0, 7, 90'000}) {
        const sim::drifting_clock clock{123'456'789'012, ppm};
        for (const std::int64_t local : {123'456'789'012, 123'456'789'013, 999'999'999'999, 1'234'567'890'123'456}) {
            const sim::instant t = clock.when(local);
            BOOST_TEST(clock.at(t) >= local);
            BOOST_TEST(clock.at(t - 1) < local);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
