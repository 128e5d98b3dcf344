// SPDX-License-Identifier: BSL-1.0
// Whoever waits is served, whatever the others do; and a hand-over is quick, after each kind of fault.
#include "turns.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>

using namespace sim;

namespace {

constexpr std::uint64_t seeds = 20;

// As a lease: everybody gets the same, and nobody waits for longer than three turns.
bool is_fair(const turns_result& r) { return r.least() > 0 && r.most() * 10 <= r.least() * 12 && r.longest_wait <= 3 * r.mean_turn; }

// After a fault: a fixed delay a wait at most, 5 s until a process knows that wake-ups fail to come for a name, which it learns for each of
// the up to three names that it queues for, and 250 ms from then on.
bool goes_on(const turns_result& r)
{
    return r.least() > 5 && r.longest_wait <= 12 * r.mean_turn && r.after_fault.size() > 100 &&
           turns_result::of_100(r.after_fault, 97) <= 350 * ms;
}

template <class Rule>
void check(const char* name, const turns_plan& plan, Rule holds)
{
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const turns_result r = turns{plan, seed}.run();
        BOOST_TEST(r.broken_rule == nullptr, name << ", seed " << seed << ": " << r.broken_rule);
        BOOST_TEST(holds(r), name << ", seed " << seed << ": " << r.figures());
        if (seed == 1) BOOST_TEST_MESSAGE(name << ": " << r.figures());
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(simulation_liveness)

BOOST_AUTO_TEST_CASE(releasers_that_come_back_at_once_pass_nobody)
{
    check("lease", {}, [](const turns_result& r) { return is_fair(r) && turns_result::of_100(r.hand_overs, 99) <= 5 * ms; });
    check("lease of many", {.hosts = 9, .hold = 10 * ms, .lasts = 8'000 * ms}, is_fair);
}

BOOST_AUTO_TEST_CASE(after_a_waiter_was_frozen_everybody_is_served_and_hand_overs_are_quick)
{
    check("frozen waiter", {.hold = 400 * ms, .pause = 10 * ms, .fault = turn_fault::waiter_stops, .lasts = 120'000 * ms},
          [](const turns_result& r) {
              return r.least() > 5 && r.longest_wait <= 12 * r.mean_turn && r.after_fault.size() > 20 &&
                     turns_result::of_100(r.after_fault, 100) <= 350 * ms;
          });
}

BOOST_AUTO_TEST_CASE(after_a_host_is_gone_everybody_is_served_and_hand_overs_are_quick)
{
    check("dead host", {.hold = 400 * ms, .pause = 10 * ms, .fault = turn_fault::host_is_gone, .lasts = 120'000 * ms},
          [](const turns_result& r) {
              return r.least() > 5 && r.longest_wait <= 12 * r.mean_turn && r.after_fault.size() > 20 &&
                     turns_result::of_100(r.after_fault, 100) <= 350 * ms;
          });
}

// Also the first one of each process, which knows nothing yet: its next look comes after as long a time as it has waited. Who released
// comes back later than that, and so can't take the name itself.
BOOST_AUTO_TEST_CASE(a_hand_over_without_a_wake_up_takes_no_longer_than_the_wait_before_it)
{
    for (const turn_fault fault : {turn_fault::waiter_stops, turn_fault::host_is_gone})
        for (const std::int64_t hold : {400 * ms, 600 * ms, 1'500 * ms})
            check("two that are left", {.hosts = 3, .hold = hold, .pause = hold - 100 * ms, .fault = fault, .lasts = 40'000 * ms},
                  [](const turns_result& r) {
                      return r.hand_overs.size() > 10 && turns_result::of_100(r.hand_overs, 100) <= 350 * ms;
                  });
}

BOOST_AUTO_TEST_CASE(candidates_that_do_not_look_around_lead_in_turns)
{
    check("candidates", {.right = turn_right::leadership, .hosts = 6, .hold = 1'000 * ms, .pause = 100 * ms, .lasts = 90'000 * ms},
          is_fair);
}

BOOST_AUTO_TEST_CASE(a_candidate_that_looks_around_leads_in_its_turn)
{
    check("a candidate that looks around",
          {.right = turn_right::leadership,
           .hosts = 6,
           .hold = 1'000 * ms,
           .pause = 100 * ms,
           .one_looks_around = true,
           .lasts = 90'000 * ms},
          is_fair);
}

BOOST_AUTO_TEST_CASE(waiters_for_permits_are_served_in_turns)
{
    check("permits", {.right = turn_right::permit}, is_fair);
    check("permits of many", {.right = turn_right::permit, .hosts = 9, .permits = 3, .hold = 10 * ms, .lasts = 8'000 * ms}, is_fair);
}

// Two permits are kept for seconds and then change hands, one is held for a moment at a time.
BOOST_AUTO_TEST_CASE(any_permit_that_is_released_is_found_soon)
{
    check("any permit", {.right = turn_right::permit, .hosts = 5, .permits = 3, .keep_permits = 2, .hold = 50 * ms, .lasts = 20'000 * ms},
          [](const turns_result& r) { return is_fair(r) && turns_result::of_100(r.hand_overs, 99) <= 50 * ms; });
}

BOOST_AUTO_TEST_CASE(readers_that_wait_for_a_writer_are_woken)
{
    check("a reader",
          {.right = turn_right::read_and_write, .hosts = 2, .permits = 1, .hold = 80 * ms, .pause = 20 * ms, .lasts = 20'000 * ms},
          [](const turns_result& r) { return r.least() > 0 && r.longest_wait <= 200 * ms; });
}

BOOST_AUTO_TEST_CASE(readers_and_writers_are_served_in_turns)
{
    for (const int writers : {1, 2, 3})
        check("readers and writers",
              {.right = turn_right::read_and_write, .hosts = 5, .writers = writers, .hold = 10 * ms, .lasts = 8'000 * ms},
              is_fair);
}

BOOST_AUTO_TEST_CASE(after_a_fault_those_who_wait_for_permits_or_to_write_go_on)
{
    for (const turn_fault fault : {turn_fault::waiter_stops, turn_fault::host_is_gone}) {
        check("permits",
              {.right = turn_right::permit, .hosts = 6, .hold = 400 * ms, .pause = 10 * ms, .fault = fault, .lasts = 120'000 * ms},
              goes_on);
        check("readers and writers",
              {.right = turn_right::read_and_write,
               .hosts = 5,
               .writers = 2,
               .hold = 400 * ms,
               .pause = 10 * ms,
               .fault = fault,
               .lasts = 120'000 * ms},
              goes_on);
    }
}

BOOST_AUTO_TEST_SUITE_END()
