// SPDX-License-Identifier: BSL-1.0
// The checker of the campaign where a job runs once per fire: records of one flaw each.
#include "check.hpp"
#include "fire_judge.hpp"
#include "turns.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace campaign;

namespace {

constexpr instant ms = millisecond;
// The wall clock of this campaign is so far ahead of the records' clock.
constexpr instant ahead = 1'000'000 * s;

constexpr instant fire_at(instant at) { return at + ahead; }

std::vector<record> begun(const std::string& who, std::int64_t token, instant fire, instant at, const std::string& number = "1")
{
    return {{event::fire_begun, who, token, at, fire_at(fire), number}};
}

// Begun, and completed half a second later.
std::vector<record> done(const std::string& who, std::int64_t token, instant fire, instant at)
{
    return {{event::fire_begun, who, token, at, fire_at(fire), "1"},
            {event::fire_completing, who, token, at + 500 * ms, fire_at(fire)},
            {event::fire_completed, who, token, at + 501 * ms, fire_at(fire), "yes"}};
}

std::vector<record> operator+(std::vector<record> records, const std::vector<record>& more)
{
    records.insert(records.end(), more.begin(), more.end());
    return records;
}

// Without the fires from one to the other.
std::vector<record> good_but(instant from, instant until)
{
    std::vector<record> records = good();
    records.push_back({event::circumstance, "*", s, 20 * s, 0, between_fires_detail});
    records.push_back({event::circumstance, "*", 3, 20 * s, 0, attempts_at_a_fire_detail});
    records.push_back({event::circumstance, "*", ahead, 20 * s, 0, wall_clock_ahead_detail});
    for (instant i = 0; i < 10; ++i)
        if ((10 + i) * s < from || (10 + i) * s >= until)
            records = std::move(records) + done(i % 2 == 0 ? "c0.1" : "c1.1", i + 1, (10 + i) * s, (10 + i) * s + 2 * ms);
    return records;
}

// A good campaign of ten seconds with a fire each second, of which each is completed by its holder.
std::vector<record> good_fires() { return good_but(0, 0); }

bool objects(const figures& found, const std::string& begin)
{
    return std::ranges::any_of(found.objections, [&](const std::string& each) { return each.starts_with(begin); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_checker_of_fires)

BOOST_AUTO_TEST_CASE(agrees_to_fires_that_are_completed_in_turn)
{
    const figures found = judged(good_fires());
    BOOST_TEST(found.objections.empty());
    BOOST_TEST(found.fires.begun == 10);
    BOOST_TEST(found.fires.completed == 10);
    BOOST_TEST(found.fires.begun_again == 0);
    BOOST_TEST(found.fires.lateness == std::vector<instant>(10, 503 * ms));
}

BOOST_AUTO_TEST_CASE(agrees_to_a_fire_that_is_begun_again_before_it_is_completed)
{
    const figures found = judged(good_fires() + begun("c2.1", 4, 14 * s, 14 * s + ms));
    BOOST_TEST(found.objections.empty());
    BOOST_TEST(found.fires.begun_again == 1);
}

BOOST_AUTO_TEST_CASE(objects_to_a_fire_that_is_completed_twice)
{
    BOOST_TEST(objects(judged(good_fires() + done("c2.1", 5, 14 * s, 14 * s + 3 * ms)), "a fire was completed twice"));
}

BOOST_AUTO_TEST_CASE(objects_to_a_fire_that_is_begun_after_it_was_completed)
{
    BOOST_TEST(objects(judged(good_fires() + begun("c2.1", 5, 14 * s, 14 * s + 600 * ms)), "a fire was begun after it had been completed"));
}

BOOST_AUTO_TEST_CASE(objects_to_a_fire_that_is_completed_with_an_older_token_than_another_has_begun)
{
    const auto with_token = [](std::int64_t token, instant at) {
        return objects(judged(good_fires() + begun("c2.1", token, 14 * s, at)), "a fire was completed after a later token, 6");
    };
    BOOST_TEST(with_token(6, 14 * s + 499 * ms));
    BOOST_TEST(!with_token(4, 14 * s + 499 * ms));
    BOOST_TEST(!with_token(6, 14 * s + 503 * ms), "the call had been made by then");
}

BOOST_AUTO_TEST_CASE(objects_to_a_fire_before_it_is_due)
{
    const figures found = judged(good_but(19 * s, 20 * s) + done("c1.1", 10, 19 * s, 18 * s + 990 * ms));
    BOOST_TEST(objects(found, "a fire was begun before it was due"));
}

BOOST_AUTO_TEST_CASE(objects_to_a_fire_that_is_left_out)
{
    BOOST_TEST(objects(judged(good_but(14 * s, 15 * s)), "a fire was left out: the fire of 4.000000 s"));
}

BOOST_AUTO_TEST_CASE(objects_to_a_fire_that_is_left_open)
{
    const auto left_open = [](const std::vector<record>& how) {
        return objects(judged(good_but(14 * s, 15 * s) + begun("c0.1", 5, 14 * s, 14 * s + ms) + how), "a later fire was begun");
    };
    const record sent{event::fire_completing, "c0.1", 5, 14 * s + 5 * ms, fire_at(14 * s)};
    const auto answered = [](const char* what) { return record{event::fire_completed, "c0.1", 5, 14 * s + 9 * ms, fire_at(14 * s), what}; };
    BOOST_TEST(left_open({}));
    BOOST_TEST(left_open({sent, answered("no")}));
    BOOST_TEST(!left_open({sent, answered("error:timeout")}), "it may be completed");
    BOOST_TEST(!left_open({sent}), "so it may by one that is killed");
    BOOST_TEST(!left_open({{event::fire_told, "c0.1", 0, 14 * s + 9 * ms, fire_at(14 * s), "given_up"}}));
    record later = sent;
    later.at = 15 * s + 5 * ms;
    BOOST_TEST(left_open({later}), "but not when the next one was begun");
}

BOOST_AUTO_TEST_CASE(a_fire_that_was_given_up_by_one_that_was_killed_is_told_by_nobody)
{
    const auto number = [](const std::string& of_the_last) {
        return judged(good_but(14 * s, 15 * s) + begun("c0.1", 5, 14 * s, 14 * s + ms, of_the_last));
    };
    BOOST_TEST(number("2").objections.empty());
    BOOST_TEST(number("2").fires.given_up_untold == 1);
    BOOST_TEST(objects(number("1"), "a later fire was begun"));
}

BOOST_AUTO_TEST_CASE(objects_to_what_is_told_of_a_fire_in_vain)
{
    const auto told = [](const char* what, instant at) {
        return judged(good_fires() + std::vector<record>{{event::fire_told, "c2.1", 0, at, fire_at(14 * s), what}});
    };
    BOOST_TEST(objects(told("given_up", 14 * s + 600 * ms), "a fire was completed and told of"));
    BOOST_TEST(objects(told("given_up", 14 * s), "a fire was begun after it was told of"));
    BOOST_TEST(objects(told("missed", 14 * s + 600 * ms), "a fire was missed"));
}

BOOST_AUTO_TEST_CASE(objects_when_fires_do_not_go_on)
{
    const auto stops = [](instant at) { return objects(judged(good_but(at, 20 * s)), "at the end the fires were"); };
    // 1.5 s for what the dead one has left, 1 s for a call, 0.7 s for a pause, and 2 s for the machine.
    BOOST_TEST(!stops(15 * s));
    BOOST_TEST(stops(14 * s));
    BOOST_TEST(objects(judged(good_but(10 * s, 20 * s)), "nobody ever completed a fire"));
}

BOOST_AUTO_TEST_SUITE_END()
