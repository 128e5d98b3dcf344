// SPDX-License-Identifier: BSL-1.0
#include <leasehold/detail/recurring_machine.hpp>

#include <leasehold/schedule/every.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <vector>

BOOST_AUTO_TEST_SUITE(recurring_machine_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using lh::detail::fire_action;

namespace {

constexpr lh::every nightly{.period = 24h, .at = 3h};
constexpr lh::fire_time night(int n) { return lh::fire_time{n * 24h + 3h}; }
constexpr lh::detail::fire_rules rules{.begin_within = 1min, .retry_min = 1s, .retry_max = 1min};

constexpr lh::detail::fire_rules with(lh::catch_up how, int max_attempts = 0)
{
    auto other = rules;
    other.catch_up = how;
    other.max_attempts = max_attempts;
    return other;
}

lh::fire_record done_up_to(lh::fire_time fire) { return lh::detail::completed({}, fire, fire + 1min, "o"); }

lh::fire_record with_open(lh::fire_record record, lh::fire_time fire, int attempts, lh::fire_time not_before)
{
    record.open = lh::open_fire{fire, attempts, not_before};
    return record;
}

auto step(const lh::fire_record& record, const lh::detail::fire_rules& by, lh::fire_time now)
{
    return lh::detail::next_fire_step(record, nightly, by, lh::detail::before_the_last_fire(nightly, now), now);
}

using fires = std::vector<lh::fire_time>;
fires missed(const lh::fire_record& record, const lh::detail::fire_step& by)
{
    return lh::detail::missed_fires(record.passed.value(), nightly, by);
}

bool rests(const lh::detail::fire_step& by, lh::fire_time until) { return by.action == fire_action::rest && by.until == until; }
bool begins(const lh::detail::fire_step& by, lh::fire_time fire, int attempt = 1)
{
    return by.action == fire_action::begin && by.fire == fire && by.attempt == attempt;
}

}  // namespace

BOOST_AUTO_TEST_CASE(fire_that_is_done_is_followed_by_the_next)
{
    BOOST_TEST(rests(step(done_up_to(night(7)), rules, night(7) + 1h), night(8)));
    BOOST_TEST(rests(step(done_up_to(night(7)), rules, night(8) - 1ns), night(8)));
    BOOST_TEST(begins(step(done_up_to(night(7)), rules, night(8)), night(8)));
}

BOOST_AUTO_TEST_CASE(name_without_a_record_begins_with_the_last_fire_or_with_the_next)
{
    BOOST_TEST(begins(step({}, rules, night(7) + 20h), night(7)));
    BOOST_TEST(rests(lh::detail::next_fire_step({}, nightly, rules, night(7) + 20h, night(7) + 20h), night(8)));
    const lh::every never{.period = 0s};
    BOOST_TEST((lh::detail::before_the_last_fire(never, night(7)) == night(7)), "there is none before");
}

BOOST_AUTO_TEST_CASE(beginning_is_noted_where_others_have_to_know_of_it)
{
    const auto record = done_up_to(night(7));
    const auto by = step(record, rules, night(8));
    BOOST_TEST(!lh::detail::notes_beginning(record, lh::detail::fire_rules{}, by));
    BOOST_TEST(lh::detail::notes_beginning(record, with(lh::catch_up::last, 1), by));
    BOOST_TEST(lh::detail::notes_beginning(record, with(lh::catch_up::none), by));
    BOOST_TEST(lh::detail::notes_beginning({}, rules, step({}, rules, night(8))));
    BOOST_TEST(lh::detail::notes_beginning(record, rules, step(record, rules, night(9))), "a fire was missed");
}

BOOST_AUTO_TEST_CASE(store_that_goes_back_in_time_repeats_nothing)
{
    BOOST_TEST(rests(step(done_up_to(night(7)), rules, night(5)), night(8)));
}

BOOST_AUTO_TEST_CASE(last_missed_fire_is_run_and_the_others_are_told)
{
    const auto record = done_up_to(night(7));
    const auto by = step(record, with(lh::catch_up::last), night(10) + 1h);
    BOOST_TEST(begins(by, night(10)));
    BOOST_TEST((missed(record, by) == fires{night(8), night(9)}));
    BOOST_TEST(lh::detail::notes_beginning(record, rules, by));
    BOOST_TEST(missed(lh::detail::begun(record, by), step(lh::detail::begun(record, by), rules, night(10) + 2h)).empty());
}

BOOST_AUTO_TEST_CASE(all_missed_fires_are_run_in_order)
{
    auto record = done_up_to(night(7));
    for (int n = 8; n <= 10; ++n) {
        const auto by = step(record, with(lh::catch_up::all), night(10) + 1h);
        BOOST_TEST(begins(by, night(n)));
        BOOST_TEST(missed(record, by).empty());
        record = lh::detail::completed(record, by.fire, night(10) + 1h, "o");
    }
    BOOST_TEST(rests(step(record, with(lh::catch_up::all), night(10) + 1h), night(11)));
}

BOOST_AUTO_TEST_CASE(no_missed_fire_is_run_but_one_that_is_on_time)
{
    const auto none = with(lh::catch_up::none);
    const auto record = done_up_to(night(7));
    const auto late = step(record, none, night(10) + 1h);
    BOOST_TEST((late.action == fire_action::pass));
    BOOST_TEST((missed(record, late) == fires{night(8), night(9), night(10)}));
    BOOST_TEST(rests(step(lh::detail::passed_by(record, late), none, night(10) + 1h), night(11)));

    const auto on_time = step(record, none, night(10) + 1min);
    BOOST_TEST(begins(on_time, night(10)));
    BOOST_TEST((missed(record, on_time) == fires{night(8), night(9)}));
}

BOOST_AUTO_TEST_CASE(fire_that_was_begun_in_time_is_not_missed_when_its_host_dies)
{
    const auto none = with(lh::catch_up::none);
    const auto first = step(done_up_to(night(7)), none, night(8) + 1s);
    BOOST_TEST(lh::detail::notes_beginning(done_up_to(night(7)), none, first));
    BOOST_TEST(begins(step(lh::detail::begun(done_up_to(night(7)), first), none, night(8) + 5min), night(8), 2));
}

BOOST_AUTO_TEST_CASE(fire_that_failed_is_retried_after_a_pause_that_grows)
{
    auto record = done_up_to(night(7));
    lh::fire_time now = night(8);
    for (const lh::duration pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
        const auto by = step(record, rules, now);
        BOOST_REQUIRE((by.action == fire_action::begin));
        record = lh::detail::failed(record, rules, by, now);
        BOOST_TEST(rests(step(record, rules, now), now + pause));
        BOOST_TEST(rests(step(record, rules, now + pause - 1ns), now + pause));
        now += pause;
    }
}

BOOST_AUTO_TEST_CASE(later_fire_takes_the_place_of_one_that_waits)
{
    const auto record = with_open(done_up_to(night(7)), night(8), 3, night(9) + 1h);
    BOOST_TEST(rests(step(record, rules, night(8) + 1h), night(9)));
    const auto by = step(record, rules, night(9));
    BOOST_TEST(begins(by, night(9)));
    BOOST_TEST((missed(record, by) == fires{night(8)}));
    BOOST_TEST(rests(step(record, with(lh::catch_up::all), night(9)), night(9) + 1h));
}

BOOST_AUTO_TEST_CASE(fire_is_given_up_after_its_last_attempt)
{
    const auto two = with(lh::catch_up::last, 2);
    const auto record = done_up_to(night(7));
    const auto first = step(record, two, night(8));
    BOOST_TEST(begins(first, night(8), 1));
    const auto begun = lh::detail::begun(record, first);
    const auto second = step(begun, two, night(8) + 1h);  // the host of the first has died
    BOOST_TEST(begins(second, night(8), 2));
    const auto given_up = lh::detail::failed(lh::detail::begun(begun, second), two, second, night(8) + 1h);
    BOOST_TEST(rests(step(given_up, two, night(8) + 1h), night(9)));
    BOOST_TEST((given_up.last == record.last));

    const auto dead = step(lh::detail::begun(begun, second), two, night(8) + 2h);
    BOOST_TEST((dead.action == fire_action::pass));
    BOOST_TEST((dead.given_up == night(8)));
    BOOST_TEST(missed(begun, dead).empty());
}

BOOST_AUTO_TEST_CASE(fire_whose_attempt_has_failed_is_open_unless_that_was_the_last)
{
    const auto record = done_up_to(night(7));
    const auto two = with(lh::catch_up::last, 2);
    const auto first = step(record, two, night(8));
    BOOST_TEST(lh::detail::failed(record, two, first, night(8)).open.has_value());
    BOOST_TEST(!lh::detail::failed(record, with(lh::catch_up::last, 1), first, night(8)).open.has_value());
}

BOOST_AUTO_TEST_CASE(record_that_follows_says_all_that_has_become_of_its_fires)
{
    const auto record = with_open(done_up_to(night(7)), night(8), 3, night(8) + 1h);
    const auto by = step(record, rules, night(10));
    const auto begun = lh::detail::begun(record, by);
    BOOST_TEST((begun.passed == night(9)));
    BOOST_TEST((begun.open == lh::open_fire{night(10), 1, night(10)}));
    BOOST_TEST((lh::detail::failed(record, rules, by, night(10)).passed == night(9)));
    const auto passed = lh::detail::passed_by(record, step(record, with(lh::catch_up::none), night(10) + 1h));
    BOOST_TEST((passed.passed == night(10)));
    BOOST_TEST(!passed.open.has_value());
    const auto done = lh::detail::completed(record, night(8), night(9), "me");
    BOOST_TEST((done.passed == night(8)));
    BOOST_TEST((done.last == lh::completed_fire{night(8), night(9), "me"}));
    BOOST_TEST(!done.open.has_value());
}

BOOST_AUTO_TEST_CASE(all_goes_on_after_a_fire_that_is_given_up)
{
    const auto one = with(lh::catch_up::all, 1);
    const auto record = with_open(done_up_to(night(7)), night(8), 1, night(8));
    const auto by = step(record, one, night(9));
    BOOST_TEST((by.given_up == night(8)));
    BOOST_TEST(begins(step(lh::detail::passed_by(record, by), one, night(9)), night(9)));
}

BOOST_AUTO_TEST_CASE(only_the_last_thousand_missed_fires_are_told)
{
    const lh::every quick{.period = 50ms};
    const auto now = night(400);
    const auto record = done_up_to(night(7));
    const auto by = lh::detail::next_fire_step(record, quick, rules, {}, now);
    const auto told = lh::detail::missed_fires(record.passed.value(), quick, by);
    BOOST_TEST(told.size() == 1000U);
    BOOST_TEST((told.back() == now - 50ms));
    BOOST_TEST((told.front() == now - 1000 * 50ms));
}

BOOST_AUTO_TEST_CASE(another_schedule_begins_with_its_next_fire)
{
    const auto other = with_open(done_up_to(night(7)), night(8), 1, night(8));
    const auto record = lh::detail::rescheduled(other, "every 1d at 3h", "me", night(8) + 1h);
    BOOST_TEST(record.made_by == "me");
    BOOST_TEST(record.schedule == "every 1d at 3h");
    BOOST_TEST(!record.open.has_value());
    BOOST_TEST((lh::detail::rescheduled(done_up_to(night(9)), "other", "me", night(8)).passed == night(9)), "the clock was set back");
    BOOST_TEST(rests(step(record, rules, night(8) + 1h), night(9)));
}

BOOST_AUTO_TEST_SUITE_END()
