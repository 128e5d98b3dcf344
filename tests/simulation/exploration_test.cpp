// SPDX-License-Identifier: BSL-1.0
// What the exploration of small worlds rests on: that it leaves nothing out, says so only where it is true, and finds what is broken.
#include "explore_command.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace {

sim::choice_bounds bounds_of(int faults, sim::fault_kinds kinds) { return {kinds, faults, 0, 1500 * sim::ms, {500 * sim::ms}}; }

// The small world with this name, with other bounds.
sim::world_plan world(const char* name, const sim::choice_bounds& bounds)
{
    sim::world_plan plan = *sim::small_world_named(name);
    plan.bounds = bounds;
    return plan;
}

// What comes after "--replay " in the command.
std::string answers_in(const std::string& command)
{
    const std::string before = "--replay ";
    return command.substr(command.find(before) + before.size());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(exploration)

BOOST_AUTO_TEST_CASE(every_sequence_of_answers_comes_once)
{
    sim::enumerator choose{bounds_of(0, {}), "toy"};
    std::set<std::vector<std::size_t>> seen;
    int runs = 0;
    do {
        choose.begin_run();
        const std::size_t first = choose.one_of(3);
        std::vector<std::size_t> answers{first, choose.one_of(2)};
        if (first == 1) answers.push_back(choose.one_of(4));  // a question that only some answers lead to
        seen.insert(answers);
        ++runs;
    } while (choose.advance());
    BOOST_TEST(runs == 2 + 2 * 4 + 2);
    BOOST_TEST(seen.size() == static_cast<std::size_t>(runs));
}

BOOST_AUTO_TEST_CASE(faults_of_the_kinds_that_are_meant_happen_in_every_place_and_no_more_than_so_many)
{
    sim::enumerator choose{bounds_of(2, {sim::fault_kind::late}), "toy"};
    std::set<std::vector<bool>> seen;
    do {
        choose.begin_run();
        BOOST_TEST(!choose.happens(sim::fault_kind::crashed, 1024));
        std::vector<bool> late;
        for (int place = 0; place < 4; ++place) late.push_back(choose.happens(sim::fault_kind::late, 0));
        seen.insert(late);
    } while (choose.advance());
    BOOST_TEST(seen.size() == 1U + 4U + 6U);  // none, one or two of four
}

BOOST_AUTO_TEST_CASE(threads_overtake_each_other_so_often_and_no_more)
{
    sim::choice_bounds bounds = bounds_of(0, {});
    bounds.swaps = 1;
    sim::enumerator choose{bounds, "toy"};
    int runs = 0;
    do {
        choose.begin_run();
        for (int turn = 0; turn < 3; ++turn) static_cast<void>(choose.turn_of(3));
        ++runs;
    } while (choose.advance());
    BOOST_TEST(runs == 1 + 3 * 2);
}

BOOST_AUTO_TEST_CASE(where_the_first_will_do_the_others_are_not_tried)
{
    sim::enumerator choose{bounds_of(0, {}), "toy"};
    int runs = 0;
    do {
        choose.begin_run();
        static_cast<void>(choose.one_of_or_first(5));
        choose.first_will_do();
        static_cast<void>(choose.one_of(2));
        ++runs;
    } while (choose.advance());
    BOOST_TEST(runs == 2);
}

BOOST_AUTO_TEST_CASE(a_state_is_new_once)
{
    sim::visited_states seen;
    for (int round = 0; round < 2; ++round)
        for (std::uint64_t i = 0; i < 20'000; ++i) BOOST_REQUIRE(seen.add(sim::mixed(0, i)) == (round == 0));
    BOOST_TEST(seen.size() == 20'000U);
}

// Neither the states that are known nor the orders that are not tried lead to rows that nothing else leads to.
BOOST_AUTO_TEST_CASE(orders_that_are_left_out_lead_to_nothing_else)
{
    const auto compare = [](const sim::world_plan& plan, int faults) {
        const sim::exploration reduced = sim::explore(plan, faults);
        const sim::exploration by_states = sim::explore(plan, faults, 0, nullptr, {true, false});
        BOOST_TEST(reduced.complete);
        BOOST_TEST(by_states.complete);
        BOOST_TEST(reduced.ends == by_states.ends, plan.name);
        BOOST_TEST(reduced.runs <= by_states.runs);
        BOOST_TEST(reduced.ends.size() > 1U);
        return reduced;
    };
    compare(world("waiting", bounds_of(0, {})), 0);
    const sim::exploration reduced = compare(world("compared", bounds_of(0, {})), 0);
    const sim::exploration all = sim::explore(world("compared", bounds_of(0, {})), 0, 0, nullptr, {false, true});
    BOOST_TEST(all.complete);
    BOOST_TEST(all.ends == reduced.ends);
    BOOST_TEST(all.runs > reduced.runs);
    compare(world("waiting", bounds_of(1, {sim::fault_kind::lost_reply})), 1);
    sim::world_plan lags = world("lags", bounds_of(1, {sim::fault_kind::lagging}));
    lags.contenders[0].terms = 1;
    compare(lags, 1);
}

BOOST_AUTO_TEST_CASE(an_exploration_that_is_cut_off_is_not_complete)
{
    const sim::exploration found = sim::explore(*sim::small_world_named("compared"), 1, 1e-9);
    BOOST_TEST(found.runs == 1U);
    BOOST_TEST(!found.complete);
    BOOST_TEST(found.untried > 0U);
}

BOOST_AUTO_TEST_CASE(an_exploration_gives_the_same_figures_again)
{
    const sim::world_plan plan = world("queue", bounds_of(1, {sim::fault_kind::lost_request}));
    const sim::exploration first = sim::explore(plan, 1), second = sim::explore(plan, 1);
    BOOST_TEST(first.complete);
    BOOST_TEST(first.runs == second.runs);
    BOOST_TEST(first.states == second.states);
    BOOST_TEST(first.ends == second.ends);
}

BOOST_AUTO_TEST_CASE(every_kind_of_fault_happens)
{
    using enum sim::fault_kind;
    sim::tally all;
    for (const sim::fault_kind each : {lost_request, lost_reply, doubled, late, broken_connection, refused, stopped, crashed}) {
        const sim::exploration found = sim::explore(world("waiting", bounds_of(1, {each})), 1);
        BOOST_TEST(found.complete);
        all.add(found.faults_made);
    }
    for (const std::uint64_t count : {all.lost_requests, all.lost_replies, all.duplicates, all.slow_messages, all.broken_connections,
                                      all.refusals, all.process_freezes, all.crashes})
        BOOST_TEST(count > 0U);
    // A clock that is wrong leads to terms that begin and end at other times.
    BOOST_TEST(sim::explore(world("waiting", bounds_of(1, {clock})), 1).ends.size() >
               sim::explore(world("waiting", bounds_of(0, {})), 0).ends.size());
    // A release that a node does not carry out leaves another row.
    BOOST_TEST(sim::explore(world("lags", bounds_of(1, {lagging})), 1).ends.size() >
               sim::explore(world("lags", bounds_of(0, {})), 0).ends.size());
}

BOOST_AUTO_TEST_CASE(a_node_that_lags_knows_the_row_as_it_was_and_changes_nothing)
{
    constexpr std::int64_t lag = 600, now = 1'000'000;
    const auto ask = [](sim::statement which, std::int64_t token) {
        return sim::request{.what = sim::ask::sql, .which = which, .owner = 1, .token = token, .time = sim::ms};
    };
    sim::sql_table rows{lag, false};
    BOOST_TEST(!rows.may_lag(0, now));
    BOOST_TEST(rows.execute(ask(sim::statement::insert, 0), now, false).rows == 1);
    BOOST_TEST(rows.may_lag(0, now + lag - 1));
    BOOST_TEST(!rows.may_lag(0, now + lag));
    BOOST_TEST(!rows.may_lag(1, now));
    const sim::row_view before = rows.look(0, now);
    BOOST_TEST(!rows.execute(ask(sim::statement::read, 0), now, true).found);
    const sim::reply released = rows.execute(ask(sim::statement::release, 1), now, true);
    BOOST_TEST(released.rows == 0);
    BOOST_CHECK(released.failed == sim::fault::none);
    BOOST_CHECK(rows.execute(ask(sim::statement::insert, 0), now, true).failed == sim::fault::conflict);
    BOOST_CHECK(rows.look(0, now) == before);
    BOOST_TEST(rows.execute(ask(sim::statement::release, 1), now, false).rows == 1);
}

BOOST_AUTO_TEST_CASE(a_term_that_a_person_ends_is_lost_although_nothing_goes_wrong)
{
    sim::world_plan forced = world("forced", bounds_of(0, {}));
    const sim::exploration found = sim::explore(forced, 0);
    BOOST_TEST(found.complete);
    BOOST_TEST(found.faults_made.losses > 0U);
    forced.contenders[1].does = sim::role::tries;
    BOOST_TEST(sim::explore(forced, 0).faults_made.losses == 0U);
}

// The holder has no time for another renewal if the first one never gets an answer.
BOOST_AUTO_TEST_CASE(a_call_that_hangs_until_the_deadline_loses_the_term)
{
    sim::world_plan hangs = world("hangs", bounds_of(1, {sim::fault_kind::lost_reply}));
    const sim::exploration found = sim::explore(hangs, 1);
    BOOST_TEST(found.complete);
    BOOST_TEST(found.faults_made.losses > 0U);
    hangs.rules.call_timeout = hangs.rules.ttl / 4;
    BOOST_TEST(sim::explore(hangs, 1).faults_made.losses == 0U);
}

BOOST_AUTO_TEST_CASE(a_database_that_compares_nothing_is_found_and_its_replay_breaks_the_same_rule)
{
    const sim::world_plan& broken = *sim::small_world_named("broken");
    const sim::exploration found = sim::explore(broken, 0);
    BOOST_REQUIRE(found.last.broken_rule != nullptr);
    BOOST_TEST(!found.complete);
    BOOST_TEST(found.last.broken_rule == std::string{"store: terms overlap"});
    const auto answers = sim::answers_of(answers_in(found.replay));
    BOOST_REQUIRE(answers.has_value());
    const sim::outcome again = sim::repeat(broken, 0, *answers, true);
    BOOST_REQUIRE(again.broken_rule != nullptr);
    BOOST_TEST(again.broken_rule == std::string{found.last.broken_rule});
    BOOST_TEST(again.details == found.last.details);
    BOOST_TEST(again.hash == found.last.hash);
}

BOOST_AUTO_TEST_CASE(a_store_that_saves_whatever_the_token_is_found)
{
    const sim::exploration found = sim::explore(*sim::small_world_named("fire-blind"), 1);
    BOOST_REQUIRE(found.last.broken_rule != nullptr);
    BOOST_TEST(found.last.broken_rule == std::string{"a fire is completed by the holder of the lease"});
}

BOOST_AUTO_TEST_CASE(a_transaction_for_which_nobody_waits_is_found)
{
    const sim::exploration found = sim::explore(*sim::small_world_named("fire-unfenced"), 1);
    BOOST_REQUIRE(found.last.broken_rule != nullptr);
    BOOST_TEST(found.last.broken_rule == std::string{"a fire is completed by the holder of the lease"});
}

BOOST_AUTO_TEST_CASE(answers_are_read_as_they_are_printed)
{
    const auto two = sim::answers_of("12=1,40=2");
    BOOST_REQUIRE(two.has_value());
    BOOST_TEST(two->size() == 2U);
    BOOST_TEST(two->back().first == 40U);
    BOOST_TEST(two->back().second == 2U);
    for (const char* wrong : {"", "12", "12=", "=1", "12=1,", "12=1 40=2", "a=1"}) BOOST_TEST(!sim::answers_of(wrong).has_value(), wrong);
}

BOOST_AUTO_TEST_SUITE_END()
