// SPDX-License-Identifier: BSL-1.0
#include <support/printing.hpp>

#include <leasehold/waiting/wait_machine.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <set>

BOOST_AUTO_TEST_SUITE(wait_machine_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using lh::waiting::wait_action;
using lh::waiting::wait_machine;

namespace {

constexpr lh::time_point start{100s};
constexpr lh::poll_pauses pauses{.shortest = 10ms, .longest = 80ms};
constexpr bool not_cancelled = false;

// Answers: of a store that wakes, and of one that doesn't.
constexpr lh::acquire_result wakes(lh::duration retry_after)
{
    return {.token = lh::fencing_token{7}, .remaining = retry_after, .retry_after = retry_after};
}
constexpr lh::acquire_result polled(lh::duration remaining) { return {.token = lh::fencing_token{7}, .remaining = remaining}; }
// One that knows the queue, but hasn't looked at the row.
constexpr lh::acquire_result queued{.status = lh::acquire_status::queued, .retry_after = 250ms};

wait_machine machine(lh::duration wait = 10s, std::uint64_t seed = 1) { return {start + wait, pauses, seed}; }

}  // namespace

BOOST_AUTO_TEST_CASE(the_first_step_is_an_attempt_even_when_the_time_is_over)
{
    BOOST_TEST((machine().next(start, not_cancelled).action == wait_action::attempt));
    BOOST_TEST((machine(0s).next(start + 1s, not_cancelled).action == wait_action::attempt));
}

BOOST_AUTO_TEST_CASE(a_cancelled_wait_makes_no_attempt)
{
    BOOST_TEST((machine().next(start, true).action == wait_action::give_up));
    auto m = machine();
    m.busy(start, wakes(1s));
    BOOST_TEST((m.next(start + 1s, true).action == wait_action::give_up));
}

BOOST_AUTO_TEST_CASE(a_busy_lease_is_tried_again_when_its_time_runs_out_and_not_before)
{
    auto m = machine();
    m.busy(start, wakes(3s));
    const auto step = m.next(start, not_cancelled);
    BOOST_TEST((step.action == wait_action::sleep));
    BOOST_TEST((step.at == start + 3s));
    BOOST_TEST((m.next(start + 3s - 1ns, not_cancelled).action == wait_action::sleep));
    BOOST_TEST((m.next(start + 3s, not_cancelled).action == wait_action::attempt));
}

BOOST_AUTO_TEST_CASE(a_sleep_ends_at_the_deadline_and_then_the_waiter_gives_up)
{
    auto m = machine(2s);
    m.busy(start, wakes(3s));
    BOOST_TEST((m.next(start, not_cancelled).at == start + 2s));
    BOOST_TEST((m.next(start + 2s, not_cancelled).action == wait_action::give_up));
}

BOOST_AUTO_TEST_CASE(a_wake_brings_an_attempt_at_once_and_a_wrong_one_costs_only_that)
{
    auto m = machine();
    m.busy(start, wakes(3s));
    m.woken(start + 1s);
    BOOST_TEST((m.next(start + 1s, not_cancelled).action == wait_action::attempt));
    m.busy(start + 1s, wakes(2s));
    BOOST_TEST((m.next(start + 1s, not_cancelled).at == start + 3s));
}

BOOST_AUTO_TEST_CASE(a_wake_counts_after_a_pause_where_the_attempt_itself_gave_something_back)
{
    for (const auto& answer : {wakes(3s), polled(3s)}) {
        auto m = machine(1h);
        m.gave_back(start, answer);
        m.woken(start);
        const auto step = m.next(start, not_cancelled);
        BOOST_TEST((step.action == wait_action::sleep));
        BOOST_TEST((step.at >= start + pauses.shortest / 2 && step.at <= start + 2 * pauses.shortest));
        BOOST_TEST((m.next(step.at, not_cancelled).action == wait_action::attempt));
        m.busy(step.at, wakes(3s));
        m.woken(step.at);
        BOOST_TEST((m.next(step.at, not_cancelled).action == wait_action::attempt), "the next attempt gave nothing back");
    }
}

BOOST_AUTO_TEST_CASE(a_remaining_time_that_is_unknown_is_asked_for_again_soon)
{
    auto m = machine(1h);
    m.busy(start, polled(0s));
    const auto step = m.next(start, not_cancelled);
    BOOST_TEST((step.action == wait_action::sleep));
    BOOST_TEST((step.at >= start + pauses.shortest / 2 && step.at <= start + pauses.shortest));
}

BOOST_AUTO_TEST_CASE(a_wait_in_which_nobody_has_looked_at_the_row_ends_with_one_attempt_that_does)
{
    auto m = machine(100ms);
    m.busy(start, queued);
    BOOST_TEST((m.next(start, not_cancelled).at == start + 100ms));
    BOOST_TEST((m.next(start + 100ms, not_cancelled).action == wait_action::last_attempt));
    BOOST_TEST((m.next(start + 100ms, true).action == wait_action::give_up));
    m.busy(start + 101ms, queued);  // whatever it says
    BOOST_TEST((m.next(start + 101ms, not_cancelled).action == wait_action::give_up));
}

BOOST_AUTO_TEST_CASE(a_wait_in_which_somebody_has_looked_ends_without_another_attempt)
{
    auto m = machine(100ms);
    m.busy(start, queued);
    m.busy(start + 10ms, wakes(1s));
    BOOST_TEST((m.next(start + 100ms, not_cancelled).action == wait_action::give_up));
}

BOOST_AUTO_TEST_CASE(an_answer_from_the_queue_is_no_look_and_forgets_none)
{
    auto m = machine(100ms);
    m.busy(start, queued);
    m.busy(start + 99ms, queued);
    BOOST_TEST((m.next(start + 100ms, not_cancelled).action == wait_action::last_attempt));
    auto looked = machine(100ms);
    looked.busy(start, wakes(1s));
    looked.busy(start + 10ms, queued);
    BOOST_TEST((looked.next(start + 100ms, not_cancelled).action == wait_action::give_up));
}

BOOST_AUTO_TEST_CASE(an_only_attempt_that_just_queued_is_followed_by_the_last_one)
{
    auto m = machine(0s);
    m.busy(start, queued);
    BOOST_TEST((m.next(start, not_cancelled).action == wait_action::last_attempt));
    m.busy(start, queued);
    BOOST_TEST((m.next(start, not_cancelled).action == wait_action::give_up));
}

BOOST_AUTO_TEST_CASE(a_store_that_wants_to_be_asked_seldom_is_asked_seldom_also_where_it_tells_no_time)
{
    wait_machine m{start + 1h, {.shortest = 1min, .longest = 1min}, 1};
    m.busy(start, polled(0s));
    BOOST_TEST((m.next(start, not_cancelled).at >= start + 30s));
}

BOOST_AUTO_TEST_CASE(a_time_without_end_is_waited_for_until_woken)
{
    auto m = machine(1h);
    m.busy(start, wakes(lh::duration::max()));
    BOOST_TEST((m.next(start, not_cancelled).at == start + 1h));
    m.woken(start + 1s);
    BOOST_TEST((m.next(start + 1s, not_cancelled).action == wait_action::attempt));
}

BOOST_AUTO_TEST_CASE(without_anybody_to_wake_it_the_pauses_double_up_to_the_longest_and_each_is_cut_by_up_to_a_half)
{
    auto m = machine(1000s);
    lh::duration limit = pauses.shortest;
    for (int i = 0; i < 20; ++i) {
        m.busy(start, polled(100s));
        const lh::duration pause = m.next(start, not_cancelled).at - start;
        BOOST_TEST((pause <= limit));
        BOOST_TEST((pause >= limit / 2));
        limit = std::min<lh::duration>(limit * 2, pauses.longest);
    }
}

BOOST_AUTO_TEST_CASE(polling_does_not_wait_beyond_the_end_of_the_lease)
{
    auto m = machine();
    m.busy(start, polled(1ms));
    BOOST_TEST((m.next(start, not_cancelled).at == start + 1ms));
}

BOOST_AUTO_TEST_CASE(different_waiters_pause_differently)
{
    std::set<lh::duration> seen;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        auto m = machine(10s, seed * 0x9E3779B97F4A7C15ULL);
        m.busy(start, polled(100s));
        seen.insert(m.next(start, not_cancelled).at - start);
    }
    BOOST_TEST(seen.size() > 30U);
}

BOOST_AUTO_TEST_CASE(a_wait_without_end_does_not_overflow)
{
    wait_machine m{lh::time_point::max(), pauses, 1};
    m.busy(start, wakes(lh::duration::max()));
    const auto step = m.next(start, not_cancelled);
    BOOST_TEST((step.action == wait_action::sleep));
    BOOST_TEST((step.at == lh::time_point::max()));
}

BOOST_AUTO_TEST_SUITE_END()
