// SPDX-License-Identifier: BSL-1.0
// What one member knows better than its looks, and what it does when.
#include <leasehold/group/shard_machine.hpp>
#include <leasehold/lease_terms.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace shard_machine_test {

namespace lh = leasehold;
namespace group = leasehold::group;
using namespace std::chrono_literals;
using state = group::shard_machine::state;

namespace {

using indices = std::vector<std::size_t>;

struct scene {
    lh::time_point now{};
    group::shard_machine machine{4, {.drain_timeout = 30s, .retry_min = 1s, .retry_max = 4s, .patience = 6s}};

    // Two members, of which this is the first.
    static group::shard_look look(std::vector<group::seen_row> rows, bool paused = false)
    {
        return {{{.order = 1, .paused = paused}, {.order = 2}}, 0, std::move(rows)};
    }
    static group::shard_look alone(std::vector<group::seen_row> rows = {}) { return {{{.order = 1}}, 0, std::move(rows)}; }

    void take_all()
    {
        for (std::size_t i = 0; i < 4; ++i) machine.taken(i, 1);
    }
    static std::vector<group::seen_row> all_mine()
    {
        return {{0, 1, 0, {}}, {1, 1, 0, {}}, {2, 1, 0, {}}, {3, 1, 0, {}}};
    }

    // `failed`: what the work came to that was drained for the operator.
    void check_left_to_others_first(bool failed)
    {
        take_all();
        auto rows = all_mine();
        rows[2].request = group::shard_request{};
        BOOST_TEST((machine.looked(alone(rows), now).drain == indices{2}));
        machine.ended(2, failed, now);
        machine.over(2);
        rows.erase(rows.begin() + 2);
        now += 24s - 1ms;
        BOOST_TEST(machine.looked(alone(rows), now).take.empty());
        now += 1ms;
        BOOST_TEST((machine.looked(alone(rows), now).take == indices{2}));
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(shard_machine_test, scene)

BOOST_AUTO_TEST_CASE(member_that_is_alone_takes_everything)
{
    BOOST_TEST((machine.looked(alone(), now).take == indices{0, 1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(own_shards_count_although_a_look_that_lags_does_not_show_them)
{
    take_all();
    const auto todo = machine.looked(alone(), now);
    BOOST_TEST(todo.take.empty());
    BOOST_TEST(todo.drain.empty());
}

BOOST_AUTO_TEST_CASE(shard_that_was_asked_for_is_drained_and_given_back_only_when_the_work_has_ended)
{
    take_all();
    auto rows = all_mine();
    rows[2].request = group::shard_request{1, 1};
    BOOST_TEST((machine.looked(look(rows), now).drain == indices{2}));
    BOOST_TEST((machine.state_of(2) == state::draining));
    const auto again = machine.looked(look(rows), now);
    BOOST_TEST(again.drain.empty());
    BOOST_TEST(again.give_back.empty());
    machine.ended(2, false, now);
    BOOST_TEST((machine.looked(look(rows), now).give_back == indices{2}));
    machine.over(2);
    BOOST_TEST(machine.owned() == 3U);
}

BOOST_AUTO_TEST_CASE(request_of_an_earlier_term_is_none)
{
    machine.taken(0, 5);
    machine.taken(1, 5);
    machine.taken(2, 5);
    const auto todo = machine.looked(look({{0, 4, 0, group::shard_request{1, 1}}, {3, 1, 1, {}}}), now);
    BOOST_TEST(todo.drain.empty());
}

BOOST_AUTO_TEST_CASE(what_was_given_back_is_not_taken_again_because_of_a_look_that_still_shows_it)
{
    take_all();
    auto rows = all_mine();
    rows[3].request = group::shard_request{1, 1};
    machine.looked(look(rows), now);
    machine.ended(3, false, now);
    machine.over(3);
    BOOST_TEST(machine.looked(look(rows), now).take.empty());
}

BOOST_AUTO_TEST_CASE(shard_that_was_granted_by_an_answer_that_was_lost_is_taken_again)
{
    BOOST_TEST((machine.looked(look({{0, 7, 0, {}}, {1, 1, 1, {}}, {2, 1, 1, {}}, {3, 1, 1, {}}}), now).take == indices{0}));
}

BOOST_AUTO_TEST_CASE(request_that_no_look_has_shown_yet_counts_and_is_made_again_if_two_looks_do_not_show_it)
{
    const std::vector<group::seen_row> rows{{0, 1, 1, {}}, {1, 1, 1, {}}, {2, 1, 1, {}}, {3, 1, 1, {}}};
    BOOST_TEST(machine.looked(look(rows), now).ask.size() == 2U);
    BOOST_TEST(machine.looked(look(rows), now).ask.empty());
    BOOST_TEST(machine.looked(look(rows), now).ask.empty());
    BOOST_TEST(machine.looked(look(rows), now).ask.size() == 2U);
}

BOOST_AUTO_TEST_CASE(free_shard_is_left_to_the_one_that_should_have_it_until_that_one_does_not_come)
{
    machine.taken(0, 1);
    machine.taken(1, 1);
    const std::vector<group::seen_row> rows{{0, 1, 0, {}}, {1, 1, 0, {}}};
    BOOST_TEST(machine.looked(look(rows), now).take.empty());
    now += 6s - 1ms;
    BOOST_TEST(machine.looked(look(rows), now).take.empty());
    now += 1ms;
    BOOST_TEST((machine.looked(look(rows), now).take == indices{2, 3}));
}

BOOST_AUTO_TEST_CASE(shard_that_is_there_again_is_left_to_the_one_that_should_have_it_as_if_it_had_never_been)
{
    machine.taken(0, 1);
    machine.taken(1, 1);
    std::vector<group::seen_row> rows{{0, 1, 0, {}}, {1, 1, 0, {}}};
    BOOST_TEST(machine.looked(look(rows), now).take.empty());
    machine.resize(2);
    rows.push_back({3, 1, 1, {}});
    machine.looked(look(rows), now);
    rows.pop_back();
    now += 1h;
    machine.resize(4);
    BOOST_TEST(machine.looked(look(rows), now).take.empty());
    now += 6s;
    BOOST_TEST((machine.looked(look(rows), now).take == indices{2, 3}));
}

// The third member should have it, and hangs; the first is next, and this one, the second, is the last.
BOOST_AUTO_TEST_CASE(free_shard_is_left_longer_by_those_whose_turn_comes_later)
{
    machine.taken(1, 1);
    machine.taken(2, 1);
    const group::shard_look seen{{{.order = 1}, {.order = 2}, {.order = 3}}, 1, {{0, 1, 0, {}}, {1, 1, 1, {}}, {2, 1, 1, {}}}};
    BOOST_TEST(machine.looked(seen, now).take.empty());
    now += 9s - 1ms;
    BOOST_TEST(machine.looked(seen, now).take.empty());
    now += 1ms;
    BOOST_TEST((machine.looked(seen, now).take == indices{3}));
}

BOOST_AUTO_TEST_CASE(shard_whose_work_has_thrown_is_taken_again_after_pauses_that_grow)
{
    for (const auto pause : {1s, 2s, 4s, 4s}) {
        machine.taken(0, 1);
        machine.ended(0, true, now);
        machine.over(0);
        now += pause - 1ms;
        BOOST_TEST((machine.looked(alone(), now).take == indices{1, 2, 3}));
        now += 1ms;
        BOOST_TEST((machine.looked(alone(), now).take == indices{0, 1, 2, 3}));
    }
}

BOOST_AUTO_TEST_CASE(member_whose_work_fails_asks_for_nothing_until_it_may_take_again)
{
    for (const std::size_t shard : {0U, 1U}) {
        machine.taken(shard, 1);
        machine.ended(shard, true, now);
        machine.over(shard);
    }
    const std::vector<group::seen_row> rows{{0, 2, 1, {}}, {1, 2, 1, {}}, {2, 1, 1, {}}, {3, 1, 1, {}}};
    BOOST_TEST(machine.looked(look(rows), now).ask.empty());
    now += 1s;
    BOOST_TEST(machine.looked(look(rows), now).ask.size() == 2U);
}

BOOST_AUTO_TEST_CASE(failure_on_a_shard_that_is_no_more_keeps_nobody_from_asking)
{
    machine.taken(3, 1);
    machine.ended(3, true, now);
    machine.over(3);
    machine.resize(3);
    BOOST_TEST(machine.looked(look({{0, 1, 1, {}}, {1, 1, 1, {}}, {2, 1, 1, {}}}), now).ask.size() == 1U);
}

BOOST_AUTO_TEST_CASE(shard_that_an_operator_has_asked_for_is_left_to_others_first)
{
    check_left_to_others_first(false);
}

BOOST_AUTO_TEST_CASE(shard_that_an_operator_has_asked_for_is_left_to_others_first_though_its_work_fails)
{
    check_left_to_others_first(true);
}

BOOST_AUTO_TEST_CASE(drain_that_outlasts_its_time_is_told_once_and_the_shard_stays)
{
    take_all();
    auto rows = all_mine();
    rows[2].request = group::shard_request{1, 1};
    machine.looked(look(rows), now);
    now += 30s;
    BOOST_TEST(machine.looked(look(rows), now).late.empty());
    now += 1s;
    BOOST_TEST((machine.looked(look(rows), now).late == indices{2}));
    BOOST_TEST(machine.looked(look(rows), now).late.empty());
    BOOST_TEST((machine.state_of(2) == state::draining));
}

BOOST_AUTO_TEST_CASE(owner_that_does_not_answer_is_told_of_by_the_one_that_has_asked)
{
    std::vector<group::seen_row> rows{{0, 1, 1, {}}, {1, 1, 1, {}}, {2, 1, 1, {}}, {3, 1, 1, {}}};
    const auto asked = machine.looked(look(rows), now).ask;
    for (const group::shard_ask& each : asked) rows[each.shard].request = group::shard_request{0, each.after};
    BOOST_TEST(machine.looked(look(rows), now).moving);
    now += 31s;
    const auto todo = machine.looked(look(rows), now);
    BOOST_TEST(todo.late.size() == 2U);
    BOOST_TEST(!machine.looked(look(rows), now).moving);
}

BOOST_AUTO_TEST_CASE(request_counts_as_late_only_for_the_time_in_which_it_had_a_reason)
{
    std::vector<group::seen_row> rows{{0, 1, 1, {}}, {1, 1, 1, {}}, {2, 1, 1, {}}, {3, 1, 1, {}}};
    for (const group::shard_ask& each : machine.looked(look(rows), now).ask) rows[each.shard].request = group::shard_request{0, each.after};
    group::shard_look without_reason = look(rows);
    without_reason.members[1].capacity = 10;
    for (int again = 0; again < 2; ++again) {
        now += 31s;
        const auto none = machine.looked(without_reason, now);
        BOOST_TEST(none.late.empty());
        BOOST_TEST(!none.moving);
        const auto wanted = machine.looked(look(rows), now);
        BOOST_TEST(wanted.late.empty());
        BOOST_TEST(wanted.moving);
        now += 31s;
        BOOST_TEST(machine.looked(look(rows), now).late.size() == 2U);
    }
}

BOOST_AUTO_TEST_CASE(member_that_is_paused_drains_everything_and_takes_nothing)
{
    machine.taken(0, 1);
    const auto todo = machine.looked(look({{0, 1, 0, {}}}, true), now);
    BOOST_TEST((todo.drain == indices{0}));
    BOOST_TEST(todo.take.empty());
    BOOST_TEST(todo.ask.empty());
    now += 1h;
    BOOST_TEST(machine.looked(look({}, true), now).take.empty(), "although nobody comes for what is free");
}

// An operator has ended the term, and another member has taken the shard: this member's renewal has not noticed it yet.
BOOST_AUTO_TEST_CASE(member_that_is_paused_drains_also_what_another_has_taken_over)
{
    machine.taken(0, 1);
    BOOST_TEST((machine.looked(look({{0, 2, 1, {}}}, true), now).drain == indices{0}));
    BOOST_TEST((machine.state_of(0) == state::draining));
}

BOOST_AUTO_TEST_CASE(shard_with_a_later_term_than_its_own_is_drained_whoever_has_that_term)
{
    const auto later_terms = {group::seen_row{0, 2, 1, {}}, group::seen_row{0, 2, group::nobody, {}}, group::seen_row{0, 2, 0, {}},
                              group::seen_row{0, 2, group::nobody, {}, true}};
    for (const group::seen_row& later : later_terms) {
        group::shard_machine one = machine;
        one.taken(0, 1);
        BOOST_TEST((one.looked(look({later}), now).drain == indices{0}));
        BOOST_TEST(one.looked(look({later}), now).drain.empty());
    }
}

BOOST_AUTO_TEST_CASE(member_takes_no_more_than_its_limit_although_nobody_comes_for_the_rest)
{
    machine.taken(0, 1);
    group::shard_look seen = look({{0, 1, 0, {}}});
    seen.members[0].most = 2;
    BOOST_TEST(machine.looked(seen, now).take.size() <= 1U);
    now += 1h;
    BOOST_TEST(machine.looked(seen, now).take.size() == 1U);
}

BOOST_AUTO_TEST_CASE(shard_that_its_owner_has_not_released_is_not_taken)
{
    machine.taken(0, 1);
    machine.taken(1, 1);
    // One that has left the list still owns two: it drains them, or has died.
    std::vector<group::seen_row> rows{{0, 1, 0, {}}, {1, 1, 0, {}}, {3, 1, group::nobody, {}}, {2, 1, group::nobody, {}}};
    BOOST_TEST(machine.looked(alone(rows), now).take.empty());
    now += 1h;
    BOOST_TEST(machine.looked(alone(rows), now).take.empty());
    rows.pop_back();
    BOOST_TEST((machine.looked(alone(rows), now).take == indices{2}));
}

BOOST_AUTO_TEST_CASE(shards_that_are_no_more_are_drained)
{
    take_all();
    machine.resize(2);
    BOOST_TEST(machine.looked(alone(all_mine()), now).drain.size() == 2U);
    BOOST_TEST((machine.state_of(2) == state::draining));
    BOOST_TEST((machine.state_of(3) == state::draining));
    BOOST_TEST((machine.state_of(0) == state::working));
}

BOOST_AUTO_TEST_CASE(row_that_is_older_than_one_that_was_seen_says_nothing)
{
    machine.looked(look({{0, 9, 1, {}}, {1, 1, 1, {}}, {2, 1, 0, {}}, {3, 1, 0, {}}}), now);
    const auto todo = machine.looked(look({{0, 8, 0, {}}, {1, 1, 1, {}}, {2, 1, 0, {}}, {3, 1, 0, {}}}), now);
    BOOST_TEST((todo.take == indices{2, 3}));
}

BOOST_AUTO_TEST_CASE(last_of_many_members_leaves_a_free_shard_to_the_others_with_the_longest_ttl_too)
{
    group::shard_machine patient{1, {.drain_timeout = 30s, .retry_min = 1s, .retry_max = 4s, .patience = 2 * (lh::max_ttl / 3)}};
    group::shard_look look;
    for (std::size_t i = 0; i < 200; ++i) look.members.push_back({.order = i});
    std::size_t wanting = 0;
    for (look.me = 0; look.me < look.members.size(); ++look.me) {
        auto machine_of_one = patient;
        wanting += machine_of_one.looked(look, now).take.size();
    }
    BOOST_TEST(wanting == 1U, "the one that the plan prefers");
}

BOOST_AUTO_TEST_CASE(shard_that_is_held_closed_is_left_alone_however_long_it_is)
{
    const auto held = alone({{.shard = 1, .token = 7, .held_closed = true}});
    BOOST_TEST((machine.looked(held, now).take == indices{0, 2, 3}));
    for (const std::size_t each : {0U, 2U, 3U}) machine.taken(each, 1);
    const auto todo = machine.looked(alone({{0, 1, 0, {}}, {1, 7, group::nobody, {}, true}, {2, 1, 0, {}}, {3, 1, 0, {}}}), now + 1h);
    BOOST_TEST(todo.take.empty());
    BOOST_TEST(todo.share == 3U);
    BOOST_TEST(!todo.moving);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace shard_machine_test
