// SPDX-License-Identifier: BSL-1.0
#include <leasehold/detail/election_machine.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

BOOST_AUTO_TEST_SUITE(election_machine_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using lh::detail::election_action;
using lh::detail::election_machine;
using lh::detail::election_pacing;
using lh::step_down_reason;

namespace {

constexpr lh::time_point start{1000s};
constexpr election_pacing pacing{.retry_min = 100ms, .retry_max = 400ms, .cooldown = 700ms};

void campaigns(const election_machine& machine, lh::time_point now, const std::string& when)
{
    BOOST_TEST((machine.next(now, false).action == election_action::campaign), when);
}

void pauses_until(const election_machine& machine, lh::time_point now, lh::time_point until, const std::string& when)
{
    const auto step = machine.next(now, false);
    BOOST_TEST((step.action == election_action::pause), when);
    BOOST_TEST((step.until == until), when);
    campaigns(machine, until, when + ", afterwards");
}

lh::lease_record holder(const char* owner, std::int64_t token)
{
    return {.name = "n", .owner = owner, .token = lh::fencing_token{token}, .remaining = 1s};
}

}  // namespace

BOOST_AUTO_TEST_CASE(campaigns_at_once_and_without_an_end)
{
    const election_machine machine{pacing, 1};
    const auto step = machine.next(start, false);
    BOOST_TEST((step.action == election_action::campaign));
    BOOST_TEST((machine.look_at(start) == lh::time_point::max()));
}

BOOST_AUTO_TEST_CASE(looks_who_leads_while_it_campaigns)
{
    election_pacing looks = pacing;
    looks.look_every = 10s;
    BOOST_TEST((election_machine{looks, 1}.look_at(start) == start + 10s));
    looks.look_every = lh::duration::max() - 1ns;
    BOOST_TEST((election_machine{looks, 1}.look_at(start) == lh::time_point::max()));
}

BOOST_AUTO_TEST_CASE(leaves_when_asked_to_whatever_there_is_to_do)
{
    election_machine machine{pacing, 1};
    BOOST_TEST((machine.next(start, true).action == election_action::leave));
    machine.failed(start);
    BOOST_TEST((machine.next(start, true).action == election_action::leave));
    machine.elected();
    machine.stepped_down(start, step_down_reason::resigned);
    BOOST_TEST((machine.next(start, true).action == election_action::leave));
}

BOOST_AUTO_TEST_CASE(failures_are_retried_after_pauses_that_grow_to_the_longest)
{
    election_machine machine{pacing, 1};
    lh::time_point now = start;
    for (const lh::duration whole : {100ms, 200ms, 400ms, 400ms}) {
        machine.failed(now);
        const auto step = machine.next(now, false);
        BOOST_TEST((step.action == election_action::pause));
        BOOST_TEST((step.until <= now + whole && step.until > now + whole / 2));
        now = step.until;
        campaigns(machine, now, "after the pause");
    }
}

BOOST_AUTO_TEST_CASE(an_answer_of_the_store_ends_the_growing)
{
    election_machine machine{pacing, 1};
    for (int i = 0; i < 5; ++i) machine.failed(start);
    machine.busy();
    machine.failed(start);
    BOOST_TEST((machine.next(start, false).until <= start + 100ms));
    for (int i = 0; i < 5; ++i) machine.failed(start);
    machine.elected();
    machine.stepped_down(start, step_down_reason::lost);
    machine.failed(start);
    BOOST_TEST((machine.next(start, false).until <= start + 100ms));
}

BOOST_AUTO_TEST_CASE(candidates_do_not_retry_at_one_instant)
{
    std::set<lh::time_point> retries;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        election_machine machine{pacing, seed * 0x9E3779B97F4A7C15ULL};
        machine.failed(start);
        retries.insert(machine.next(start, false).until);
    }
    BOOST_TEST(retries.size() > 10U);
}

BOOST_AUTO_TEST_CASE(leader_that_gave_it_up_keeps_out_and_one_that_lost_it_does_not)
{
    for (const step_down_reason why : {step_down_reason::returned, step_down_reason::resigned, step_down_reason::asked}) {
        election_machine machine{pacing, 1};
        machine.elected();
        machine.stepped_down(start, why);
        pauses_until(machine, start, start + 700ms, std::string{to_string(why)});
    }
    for (const step_down_reason why :
         {step_down_reason::lost, step_down_reason::store_error, step_down_reason::stopped, step_down_reason::threw}) {
        election_machine machine{pacing, 1};
        machine.elected();
        machine.stepped_down(start, why);
        campaigns(machine, start, std::string{to_string(why)});
    }
}

BOOST_AUTO_TEST_CASE(by_default_one_keeps_out_longer_than_the_others_sleep)
{
    BOOST_TEST(lh::detail::cooldown_for({}) == 600ms);
    BOOST_TEST(lh::detail::cooldown_for({.shortest = 1s, .longest = 20s}) == 20'100ms);
    BOOST_TEST(lh::detail::cooldown_for({.shortest = 1ms, .longest = lh::duration::max()}) == 1h + 100ms);
}

BOOST_AUTO_TEST_CASE(pacing_that_cannot_work_is_refused_and_the_closest_that_can_is_not)
{
    const auto rule = [](lh::duration retry_min, lh::duration retry_max, lh::duration cooldown) {
        const char* broken = lh::detail::broken_rule({.retry_min = retry_min, .retry_max = retry_max, .cooldown = cooldown});
        return broken ? std::string{broken} : std::string{};
    };
    BOOST_TEST(rule(1ms, 1ms, 0s).empty());
    BOOST_TEST(rule(1ms - 1ns, 1ms, 0s) == "leader_election_options: retry_min must be at least 1 ms");
    BOOST_TEST(rule(2ms, 2ms - 1ns, 0s) == "leader_election_options: retry_max must not be less than retry_min");
    BOOST_TEST(rule(1ms, 1ms, -1ns) == "leader_election_options: cooldown must not be negative");
}

BOOST_AUTO_TEST_CASE(a_reason_is_what_ended_leading_first_and_foremost)
{
    using lh::detail::reason_of;
    BOOST_TEST(reason_of({}) == step_down_reason::returned);
    BOOST_TEST(reason_of({.handover_requested = true}) == step_down_reason::asked);
    BOOST_TEST(reason_of({.handover_requested = true, .stopping = true}) == step_down_reason::stopped);
    BOOST_TEST(reason_of({.stopping = true}) == step_down_reason::stopped);
    BOOST_TEST(reason_of({.resigned = true, .stopping = true}) == step_down_reason::resigned);
    BOOST_TEST(reason_of({.lease_over = true, .resigned = true, .stopping = true}) == step_down_reason::lost);
    BOOST_TEST(reason_of({.lease_over = true, .renewal_failed = true, .resigned = true}) == step_down_reason::store_error);
    BOOST_TEST(reason_of({.threw = true, .lease_over = true, .renewal_failed = true, .resigned = true}) == step_down_reason::threw);
}

BOOST_AUTO_TEST_CASE(each_leader_is_news_once)
{
    lh::detail::leader_sightings sightings;
    BOOST_TEST(sightings.is_news(holder("a", 1), "me"));
    BOOST_TEST(!sightings.is_news(holder("a", 1), "me"));
    BOOST_TEST(sightings.is_news(holder("b", 2), "me"));
    BOOST_TEST(sightings.is_news(holder("b", 3), "me"));  // another term
}

BOOST_AUTO_TEST_CASE(a_term_before_the_last_one_is_no_news)
{
    lh::detail::leader_sightings sightings;
    BOOST_TEST(sightings.is_news(holder("b", 4), "me"));
    BOOST_TEST(!sightings.may_be_news(lh::fencing_token{3}));
    BOOST_TEST(!sightings.is_news(holder("a", 3), "me"));  // a node that lags
    BOOST_TEST(!sightings.is_news(holder("b", 4), "me"));
}

BOOST_AUTO_TEST_CASE(neither_oneself_nor_nobody_is_news)
{
    lh::detail::leader_sightings sightings;
    sightings.elected(lh::fencing_token{1});
    BOOST_TEST(!sightings.may_be_news(lh::fencing_token{1}));
    BOOST_TEST(!sightings.is_news(holder("me", 1), "me"));
    BOOST_TEST(!sightings.is_news(holder("me", 2), "me"));
    BOOST_TEST(!sightings.is_news(holder("", 3), "me"));
    BOOST_TEST(!sightings.is_news(holder("held closed 0123456789abcdef: x", 4), "me"));
    BOOST_TEST(sightings.is_news(holder("a", 5), "me"));
}

BOOST_AUTO_TEST_CASE(a_busy_answer_is_looked_into_unless_it_names_the_leader_seen_last)
{
    lh::detail::leader_sightings sightings;
    BOOST_TEST(sightings.may_be_news(lh::fencing_token{}));
    BOOST_TEST(sightings.may_be_news(lh::fencing_token{4}));
    BOOST_TEST(sightings.is_news(holder("a", 4), "me"));
    BOOST_TEST(!sightings.may_be_news(lh::fencing_token{4}));
    BOOST_TEST(sightings.may_be_news(lh::fencing_token{5}));
    BOOST_TEST(sightings.may_be_news(lh::fencing_token{}));  // the store doesn't say
}

BOOST_AUTO_TEST_CASE(who_gave_the_lease_up_spares_the_next_term_and_no_other)
{
    const auto token = [](std::int64_t value) { return lh::fencing_token{value}; };
    lh::detail::leader_sightings sightings;
    BOOST_TEST(!sightings.spares(token(1)), "it has never led");
    for (const auto why : {lh::step_down_reason::asked, lh::step_down_reason::resigned}) {
        sightings.elected(token(4));
        sightings.stepped_down(why);
        BOOST_TEST(sightings.spares(token(3)), "a node that lags");
        BOOST_TEST(sightings.spares(token(6)));
        BOOST_TEST(sightings.spares(token(6)));
        BOOST_TEST(!sightings.spares(token(7)));
    }
    for (const auto why : {lh::step_down_reason::lost, lh::step_down_reason::returned}) {
        sightings.elected(token(4));
        sightings.stepped_down(why);
        BOOST_TEST(!sightings.spares(token(5)));
    }
    sightings.elected(token(8));
    sightings.stepped_down(lh::step_down_reason::asked);
    sightings.elected(token(9));
    BOOST_TEST(!sightings.spares(token(10)), "it has led since");
}

BOOST_AUTO_TEST_SUITE_END()
