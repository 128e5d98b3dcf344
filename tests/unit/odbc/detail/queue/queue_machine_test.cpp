// SPDX-License-Identifier: BSL-1.0
// What a waiter does with its place in the queue for a session lock: on a clock that is a number.
#include <leasehold/odbc/detail/queue/queue_machine.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>

BOOST_AUTO_TEST_SUITE(queue_machine_test)

using namespace std::chrono_literals;
using namespace leasehold::odbc::detail;
namespace lh = leasehold;

namespace {

using instant = queue_machine::time_point;
constexpr instant start{1h};
constexpr lh::fencing_token term{7};

queue_machine waiting()
{
    queue_machine m;
    m.queued(start);
    return m;
}

queue_machine at_head()
{
    queue_machine m = waiting();
    m.wait_ended(true, start);
    return m;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_new_waiter_queues_before_it_looks_at_the_row)
{
    BOOST_TEST((queue_machine{}.next(start) == queue_action::queue_up));
}

BOOST_AUTO_TEST_CASE(waiter_for_the_lock_only_looks_and_one_that_has_it_tries)
{
    BOOST_TEST((waiting().next(start) == queue_action::look));
    BOOST_TEST((at_head().next(start) == queue_action::attempt_at_head));
}

BOOST_AUTO_TEST_CASE(the_first_look_is_soon_where_nothing_is_known_of_the_term)
{
    BOOST_TEST((waiting().look_after(start) == first_look));
}

BOOST_AUTO_TEST_CASE(a_look_past_the_lock_comes_a_little_after_the_end_of_the_term_and_in_five_seconds_at_the_latest)
{
    const queue_machine m = waiting();
    const instant late = start + longest_trust;
    BOOST_TEST((m.after_term(1s, late) == 1s + patient_overtake_delay));
    BOOST_TEST((m.after_term(0s, late) == patient_overtake_delay));
    BOOST_TEST((m.after_term(longest_trust - patient_overtake_delay, late) == longest_trust));
    BOOST_TEST((m.after_term(longest_trust, late) == longest_trust));
    BOOST_TEST((m.after_term(1h, late) == longest_trust));
    BOOST_TEST((m.after_term(lh::duration::max(), late) == longest_trust));
    BOOST_TEST((m.after_term(1h, late + 1h) == longest_trust));
}

// So that a wake-up that does not come costs no more than the wait before it.
BOOST_AUTO_TEST_CASE(it_relies_on_being_woken_for_as_long_as_it_has_waited)
{
    queue_machine m = waiting();
    instant now = start;
    for (const lh::duration look : {250ms, 500ms, 1'000ms, 2'000ms, 4'000ms, 8'000ms, 13'000ms, 18'000ms}) {
        now += std::chrono::duration_cast<instant::duration>(now == start ? m.look_after(now) : m.after_term(1h, now));
        BOOST_TEST((now - start == look));
        m.seen(term, 1h, now);
    }
}

BOOST_AUTO_TEST_CASE(a_wait_goes_on_in_another_place_of_the_queue_and_ends_with_a_term)
{
    queue_machine m = waiting();
    m.wait_ended(false, start + 1s);
    m.queued(start + 2s);
    BOOST_TEST((m.after_term(1h, start + 2s) == 2s));
    m.wait_ended(true, start + 3s);
    m.granted();
    m.queued(start + 4s);
    BOOST_TEST((m.after_term(1h, start + 4s) == first_look));
}

// It saw the row before it queued, so that its first look is one after a term that it knows.
BOOST_AUTO_TEST_CASE(after_a_grant_without_the_lock_that_others_keep_the_next_looks_within_250_ms)
{
    queue_machine lost_its_session = waiting();
    lost_its_session.wait_ended(false, start);
    BOOST_TEST((lost_its_session.next(start) == queue_action::attempt));  // which is granted
    BOOST_TEST((lost_its_session.leave() == queue_position::outside));
    queue_machine next{lost_its_session.wakes_come()};
    next.queued(start + 1s);
    next.seen(lh::fencing_token{8}, 1h, start + 1s);
    BOOST_TEST((next.after_term(1h, start + 1s) <= first_look));
}

BOOST_AUTO_TEST_CASE(after_a_wake_up_that_did_not_come_it_looks_soon_until_one_comes)
{
    const instant late = start + longest_trust;
    queue_machine m = waiting();
    BOOST_TEST(m.wakes_come());
    BOOST_TEST((m.wait_for_next(term, start) == lh::duration{patient_overtake_delay}));
    BOOST_TEST(m.wakes_come());
    BOOST_TEST(!m.wait_for_next(term, start + patient_overtake_delay));
    BOOST_TEST(!m.wakes_come());
    BOOST_TEST((m.after_term(1h, late) == first_look));
    BOOST_TEST((m.after_term(100ms, late) == 100ms + overtake_delay));
    BOOST_TEST((m.after_term(first_look - overtake_delay, late) == first_look));

    queue_machine next{m.wakes_come()};
    next.queued(start);
    BOOST_TEST((next.after_term(1h, late) == first_look));
    next.wait_ended(false, start);
    BOOST_TEST(!next.wakes_come());
    next.queued(start);
    next.wait_ended(true, start);
    BOOST_TEST(next.wakes_come());
    BOOST_TEST((next.after_term(1h, late) == longest_trust));
}

BOOST_AUTO_TEST_CASE(one_that_was_passed_looks_more_often)
{
    const instant late = start + longest_trust;
    queue_machine m{false};
    m.queued(start);
    m.seen(term, 1h, start);
    m.seen(term, 1h, start);
    BOOST_TEST((m.after_term(1h, late) == first_look));
    std::int64_t token = term.value();
    for (const int passed : {1, 2, 3, 3}) {
        m.seen(lh::fencing_token{++token}, 1h, start);
        BOOST_TEST((m.after_term(1h, late) == lh::duration{first_look} / (1 + passed)));
    }
    queue_machine woken = waiting();
    woken.seen(term, 1h, start);
    woken.seen(lh::fencing_token{8}, 1h, start);
    BOOST_TEST((woken.after_term(1h, late) == lh::duration{longest_trust} / 2));
}

BOOST_AUTO_TEST_CASE(a_term_that_ran_out_was_left_to_the_first_in_the_queue_since_its_end)
{
    queue_machine m = waiting();
    m.seen(term, 1s, start);
    queue_machine early = m;
    BOOST_TEST(!m.wait_for_next(term, start + 1s + patient_overtake_delay));
    BOOST_TEST((early.wait_for_next(term, start + 1s + 5ms) == lh::duration{patient_overtake_delay - 5ms}));
}

BOOST_AUTO_TEST_CASE(a_term_that_was_released_is_left_to_the_first_in_the_queue_since_it_was_seen)
{
    queue_machine m = waiting();
    m.seen(term, 1h, start);
    BOOST_TEST((m.wait_for_next(term, start + 1s) == lh::duration{patient_overtake_delay}));
}

BOOST_AUTO_TEST_CASE(a_session_that_was_lost_in_the_queue_is_not_replaced_at_once)
{
    queue_machine m = waiting();
    m.wait_ended(false, start);
    BOOST_TEST((m.next(start) == queue_action::attempt));
    BOOST_TEST((m.next(start + requeue_pause - 1ns) == queue_action::attempt));
    BOOST_TEST((m.next(start + requeue_pause) == queue_action::queue_up));

    queue_machine head = at_head();
    head.lost(start);
    BOOST_TEST((head.next(start) == queue_action::attempt));
    BOOST_TEST((head.next(start + requeue_pause) == queue_action::queue_up));
}

BOOST_AUTO_TEST_CASE(a_waiter_that_was_granted_the_lease_may_queue_again_at_once)
{
    queue_machine m = at_head();
    m.granted();
    BOOST_TEST((m.next(start) == queue_action::queue_up));
}

// The holder came by a single attempt, and its store is about to take the lock.
BOOST_AUTO_TEST_CASE(at_the_head_it_leaves_the_lock_to_a_holder_that_has_none_yet)
{
    queue_machine m = at_head();
    const auto answer = m.busy_at_head(term, 10s, start);
    BOOST_TEST(answer.unlocks);
    BOOST_TEST((answer.retry_after == yield_delay));
    BOOST_TEST((m.next(start + yield_delay - 1ns) == queue_action::attempt));
    BOOST_TEST((m.next(start + yield_delay) == queue_action::queue_up));
    m.queued(start);
    BOOST_TEST((m.look_after(start + longest_trust) == longest_trust), "it knows when the term ends");
}

BOOST_AUTO_TEST_CASE(knowledge_of_the_terms_end_counts_until_then)
{
    queue_machine m = at_head();
    BOOST_TEST(m.busy_at_head(term, 3s, start).unlocks);
    m.queued(start);
    BOOST_TEST((m.look_after(start + 2s) == 1s + patient_overtake_delay));
    BOOST_TEST((m.look_after(start + 3s - 1ns) == 1ns + patient_overtake_delay));
    BOOST_TEST((m.look_after(start + 3s) == first_look));
}

BOOST_AUTO_TEST_CASE(it_leaves_the_lock_ever_longer_and_not_for_ever)
{
    queue_machine m = at_head();
    auto at = start;
    for (int i = 0; i < max_yields; ++i) {
        const auto answer = m.busy_at_head(term, 1h, at);
        BOOST_TEST(answer.unlocks);
        BOOST_TEST((answer.retry_after == yield_delay * (1 << i)));
        at += answer.retry_after;
        m.queued(start);
        m.wait_ended(true, at);
    }
    BOOST_TEST(!m.busy_at_head(term, 1h, at).unlocks);
    BOOST_TEST((m.position() == queue_position::at_head));
}

BOOST_AUTO_TEST_CASE(it_leaves_the_lock_to_ever_new_holders_no_more_often)
{
    queue_machine m = at_head();
    auto at = start;
    for (int i = 0; i < max_yields; ++i) {
        const auto answer = m.busy_at_head(lh::fencing_token{7 + i}, 1h, at);
        BOOST_TEST(answer.unlocks);
        at += answer.retry_after;
        m.queued(start);
        m.wait_ended(true, at);
    }
    BOOST_TEST(!m.busy_at_head(lh::fencing_token{7 + max_yields}, 1h, at).unlocks);
}

// Its process has died, say; to step out would let those behind pass.
BOOST_AUTO_TEST_CASE(a_holder_that_has_lost_the_lock_is_left_none)
{
    queue_machine m = waiting();
    m.seen(term, 1h, start);
    m.seen(term, 1h, start + 1s);
    m.wait_ended(true, start + lock_taken_within);
    queue_machine still = m;
    BOOST_TEST(!m.busy_at_head(term, 1h, start + lock_taken_within).unlocks);
    BOOST_TEST(still.busy_at_head(term, 1h, start + lock_taken_within - 1ns).unlocks);
}

BOOST_AUTO_TEST_CASE(a_new_term_has_time_of_its_own_to_take_the_lock)
{
    queue_machine m = waiting();
    m.seen(term, 1h, start);
    m.wait_ended(true, start + 1s);
    queue_machine seen_before = m;
    seen_before.seen(lh::fencing_token{8}, 1h, start + 900ms);
    BOOST_TEST(seen_before.busy_at_head(lh::fencing_token{8}, 1h, start + 1s).unlocks);
    BOOST_TEST(m.busy_at_head(lh::fencing_token{8}, 1h, start + 1s).unlocks);
}

BOOST_AUTO_TEST_CASE(a_lock_may_be_taken_for_as_long_as_it_is_left_in_all)
{
    BOOST_TEST((lock_taken_within == 50ms + 100ms + 200ms + 400ms));
}

BOOST_AUTO_TEST_CASE(a_term_that_ends_before_the_pause_is_over_is_waited_for_with_the_lock)
{
    queue_machine m = at_head();
    const auto answer = m.busy_at_head(term, yield_delay, start);
    BOOST_TEST(!answer.unlocks);
    BOOST_TEST((answer.retry_after == shortest_look));
    BOOST_TEST(m.busy_at_head(term, yield_delay + 1ns, start).unlocks);
}

BOOST_AUTO_TEST_CASE(with_the_lock_it_looks_soon_at_first_and_then_more_rarely_but_never_after_the_term)
{
    queue_machine m = at_head();
    for (const lh::duration look : {1ms, 2ms, 4ms, 8ms, 16ms, 32ms, 64ms, 128ms, 256ms, 500ms, 500ms}) {
        const auto answer = m.busy_at_head(term, 0s, start);  // how long is not known
        BOOST_TEST(!answer.unlocks);
        BOOST_TEST((answer.retry_after == look));
    }
    BOOST_TEST((m.busy_at_head(term, 40ms, start).retry_after == 40ms));

    m.lost(start);
    m.queued(start);
    m.wait_ended(true, start + 2s);
    BOOST_TEST((m.busy_at_head(term, 0s, start + 2s).retry_after == shortest_look), "at the head again");
}

BOOST_AUTO_TEST_CASE(a_free_name_is_left_to_the_first_in_the_queue_for_a_moment_and_no_longer)
{
    queue_machine m = waiting();
    const lh::fencing_token ended{7};
    BOOST_TEST((m.wait_for_next(ended, start) == lh::duration{patient_overtake_delay}));
    BOOST_TEST((m.wait_for_next(ended, start + 15ms) == lh::duration{patient_overtake_delay - 15ms}));
    BOOST_TEST(!m.wait_for_next(ended, start + patient_overtake_delay));
    // Somebody made use of it in between.
    BOOST_TEST((m.wait_for_next(lh::fencing_token{8}, start + patient_overtake_delay) == lh::duration{overtake_delay}));
}

BOOST_AUTO_TEST_CASE(a_name_that_nobody_ever_held_is_left_to_the_first_in_the_queue_too)
{
    queue_machine m = waiting();
    BOOST_TEST((m.wait_for_next(lh::fencing_token{}, start) == lh::duration{patient_overtake_delay}));
    BOOST_TEST((m.wait_for_next(lh::fencing_token{}, start + 15ms) == lh::duration{patient_overtake_delay - 15ms}));
}

BOOST_AUTO_TEST_CASE(waiter_that_leaves_says_where_it_was)
{
    queue_machine outside;
    BOOST_TEST((outside.leave() == queue_position::outside));
    queue_machine in_line = waiting();
    BOOST_TEST((in_line.leave() == queue_position::waiting));
    queue_machine first = at_head();
    BOOST_TEST((first.leave() == queue_position::at_head));
}

BOOST_AUTO_TEST_CASE(ticket_without_a_session_is_first_and_polls)
{
    const lh::turn_answer turn = queue_machine{}.turn(start);
    BOOST_TEST((turn.status == lh::turn_status::first));
    BOOST_TEST((turn.retry_after == 0s));
}

BOOST_AUTO_TEST_CASE(who_has_the_lock_is_first_and_looks_every_twenty_milliseconds_in_the_end)
{
    queue_machine m = at_head();
    lh::duration last{};
    for (int i = 0; i < 20; ++i) {
        const lh::turn_answer turn = m.turn(start);
        BOOST_TEST((turn.status == lh::turn_status::first));
        BOOST_TEST((turn.retry_after >= shortest_look));
        BOOST_TEST((turn.retry_after >= last));
        last = turn.retry_after;
    }
    BOOST_TEST((last == longest_look_at_others));
}

BOOST_AUTO_TEST_CASE(who_has_the_lock_for_a_right_that_is_asked_for_elsewhere_makes_sure_of_it_every_five_seconds)
{
    queue_machine m = at_head();
    BOOST_TEST(!m.is_to_confirm(start + longest_trust - 1ns));
    BOOST_TEST(m.is_to_confirm(start + longest_trust));
    m.confirmed(start + longest_trust);
    BOOST_TEST(!m.is_to_confirm(start + 2 * longest_trust - 1ns));
    BOOST_TEST(m.is_to_confirm(start + 2 * longest_trust));
    m.lost(start + 2 * longest_trust);
    BOOST_TEST(!m.is_to_confirm(start + 1h));
    BOOST_TEST(!waiting().is_to_confirm(start + 1h), "another session's answer tells that");
}

BOOST_AUTO_TEST_CASE(who_is_behind_is_overdue_after_five_seconds_and_then_sooner)
{
    queue_machine m = waiting();
    BOOST_TEST((m.turn(start).status == lh::turn_status::behind));
    BOOST_TEST((m.turn(start + 1s).retry_after == longest_trust - 1s));
    instant now = start + longest_trust;
    BOOST_TEST((m.turn(now).status == lh::turn_status::overdue));
    for (const int part : {2, 3, 4, 4, 4}) {
        const auto trust = std::chrono::duration_cast<instant::duration>(lh::duration{longest_trust} / part);
        BOOST_TEST((m.turn(now).status == lh::turn_status::behind), "once at a time");
        BOOST_TEST((m.turn(now + trust - 1ms).status == lh::turn_status::behind));
        now += trust;
        BOOST_TEST((m.turn(now).status == lh::turn_status::overdue));
    }
}

BOOST_AUTO_TEST_CASE(after_one_that_passed_the_others_the_next_is_overdue_after_250_ms_until_a_wake_up_comes)
{
    queue_machine m = waiting();
    m.passed();
    BOOST_TEST(!m.wakes_come());
    queue_machine next{m.wakes_come()};
    next.queued(start);
    BOOST_TEST((next.turn(start).retry_after == first_look));
    BOOST_TEST((next.turn(start + first_look).status == lh::turn_status::overdue));
    next.wait_ended(true, start);
    BOOST_TEST(next.wakes_come());
}

BOOST_AUTO_TEST_SUITE_END()
