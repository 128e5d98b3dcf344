// SPDX-License-Identifier: BSL-1.0
// The checker of the campaign where a lease is held closed: records of one flaw each.
#include "check.hpp"
#include "turns.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace campaign;

namespace {

constexpr instant ms = millisecond;
const std::string of_hold = "hold_a";

std::vector<record> term_of(const std::string& who, std::int64_t token, instant from, instant until)
{
    return {{event::call, who, token, from, from + ms, "acquire:granted"},
            {event::won, who, token, from + 2 * ms, from + 1350 * ms, "-"},
            {event::held, who, token, until - ms, until + 1350 * ms},
            {event::releasing, who, token, until, 0},
            {event::call, who, token, until, until + ms, "release:yes"}};
}

std::vector<record> operator+(std::vector<record> records, const std::vector<record>& more)
{
    records.insert(records.end(), more.begin(), more.end());
    return records;
}

// Two seconds, granted at 11 s with token 2: for certain from 11.01 s on.
std::vector<record> two_seconds_closed()
{
    return {{event::started, "c4.1", 0, 10 * s, 0, "close:polls"},
            {event::calling, "c4.1", 0, 11 * s, 2 * s, "acquire", 0, of_hold},
            {event::call, "c4.1", 2, 11 * s, 11 * s + 5 * ms, "acquire:granted", 0, of_hold},
            {event::closed, "c4.1", 0, 10 * s + 500 * ms, 11 * s + 10 * ms, "closed"}};
}

// A contender holds, hands over to a hold, and another follows. `next`: when.
std::vector<record> closed_once(instant next = 13 * s + 10 * ms)
{
    const std::vector<record> frame{{event::rules, "conductor", 0, 1500 * ms, 150 * ms, "test"},
                                    {event::limits, "conductor", 0, s, 700 * ms},
                                    {event::began, "conductor", 0, 10 * s, 0},
                                    {event::asked, "c0.1", 1, 10 * s + 890 * ms, 0, "by_hold"},
                                    {event::ended, "conductor", 0, next + s, 0}};
    return frame + term_of("c0.1", 1, 10 * s, 10 * s + 900 * ms) + two_seconds_closed() + term_of("c1.1", 3, next, next + 900 * ms);
}

// An unhold, whose release was sent at `sent`.
std::vector<record> opened_at(instant sent)
{
    return {{event::call, "c5.1", 2, sent - 2 * ms, sent - ms, "inspect:held", 0, of_hold},
            {event::calling, "c5.1", 2, sent, 0, "release", 0, of_hold},
            {event::call, "c5.1", 2, sent, sent + ms, "release:yes", 0, of_hold},
            {event::opened, "c5.1", 0, sent - 2 * ms, sent + ms, "opened"}};
}

std::vector<std::string> objections(std::vector<record> records, std::string_view about)
{
    std::vector<std::string> all = judged(std::move(records)).objections;
    std::erase_if(all, [&](const std::string& each) { return each.find(about) == std::string::npos; });
    return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_checker_of_holds)

BOOST_AUTO_TEST_CASE(agrees_to_a_hold_between_two_terms)
{
    const figures found = judged(closed_once());
    BOOST_TEST(found.objections.empty());
    BOOST_TEST(found.terms == 2);
    BOOST_TEST(found.holds.certain == 1);
    BOOST_TEST(found.holds.asked == 1);
    BOOST_TEST(found.holds.openings == std::vector<instant>{2 * ms - 5 * ms + 10 * ms});
    BOOST_TEST(found.holds.waits == std::vector<instant>{510 * ms});
    BOOST_TEST(found.history.calls.size() == 5U);
}

BOOST_AUTO_TEST_CASE(objects_to_a_term_inside_a_hold)
{
    BOOST_TEST(objections(closed_once(12 * s), "holds what is held closed").size() == 1U);
    BOOST_TEST(judged(closed_once(12 * s)).holds.grants_inside == 1);
    BOOST_TEST(!is_linearizable(closed_once(12 * s)));
}

BOOST_AUTO_TEST_CASE(objects_to_a_grant_inside_a_hold_to_one_that_is_killed_before_it_could_believe)
{
    const auto granted = [](instant at, const std::string& owner) {
        return closed_once() + std::vector<record>{{event::call, "c2.1", 3, at, at + ms, "acquire:granted", 0, owner}};
    };
    BOOST_TEST(judged(granted(11 * s + 500 * ms, "-")).holds.grants_inside == 1);
    BOOST_TEST(judged(granted(11 * s + 500 * ms, "hold_b")).holds.grants_inside == 1, "nor to another hold");
    BOOST_TEST(judged(granted(11 * s + 9 * ms, "-")).holds.grants_inside == 0, "before hold() has returned nothing is certain");
    BOOST_TEST(judged(granted(13 * s - ms / 2, "-")).holds.grants_inside == 0, "nor when its time may be over");
}

BOOST_AUTO_TEST_CASE(a_name_that_is_opened_can_be_had_from_the_sending_on)
{
    BOOST_TEST(judged(closed_once(12 * s) + opened_at(12 * s - 2 * ms)).objections.empty());
    BOOST_TEST(objections(closed_once(12 * s) + opened_at(12 * s + 20 * ms), "holds what is held closed").size() == 1U);
}

BOOST_AUTO_TEST_CASE(objects_to_one_who_still_believes_when_a_hold_is_granted)
{
    auto records = closed_once();
    std::erase_if(records, [](const record& r) { return r.token == 1 && (r.what == event::releasing || r.detail == "release:yes"); });
    BOOST_TEST(objections(records, "holds what is held closed").size() == 1U);
    BOOST_TEST(!is_linearizable(records));
}

BOOST_AUTO_TEST_CASE(objects_to_a_hold_that_does_not_end)
{
    // Of two seconds, and then as long as a dead holder, a call that hangs and a pause could take.
    BOOST_TEST(judged(closed_once(18 * s)).objections.empty());
    BOOST_TEST(objections(closed_once(19 * s), "nobody held for").size() == 1U);
    const record busy{event::call, "c2.1", 2, 13 * s + 6 * ms, 13 * s + 7 * ms, "acquire:busy"};
    BOOST_TEST(is_linearizable(closed_once(14 * s), {record{event::call, "c2.1", 2, 12 * s, 12 * s + ms, "acquire:busy"}}));
    BOOST_TEST(!is_linearizable(closed_once(14 * s), {busy}), "by the store's clock it is over");
    const record busy_when_opened{event::call, "c2.1", 2, 12 * s + 5 * ms, 12 * s + 6 * ms, "acquire:busy"};
    BOOST_TEST(!is_linearizable(closed_once(14 * s) + opened_at(12 * s), {busy_when_opened}));
}

BOOST_AUTO_TEST_CASE(a_hold_whose_answer_was_lost_excuses_a_time_without_a_holder_and_forbids_nothing)
{
    const auto lost = [](instant next, instant period) {
        auto records = closed_once(next);
        for (record& r : records) {
            if (r.what == event::calling) r.until = period;
            if (r.what == event::call && r.is_of_a_hold())
                r = {event::call, "c4.1", 0, 11 * s, 12 * s, "acquire:error:timeout", 0, of_hold};
            if (r.what == event::closed) r.detail = "error:timeout";
        }
        return records + std::vector<record>{{event::closed, "c4.1", 0, 10 * s, 10 * s + 1, "held_closed"}};
    };
    BOOST_TEST(objections(lost(12 * s, 2 * s), "held closed").size() == 0U);
    BOOST_TEST(is_linearizable(lost(12 * s, 2 * s)));
    BOOST_TEST(objections(lost(20 * s, 4 * s), "nobody held for").size() == 0U);
    BOOST_TEST(objections(lost(20 * s, 2 * s), "nobody held for").size() == 1U);
}

BOOST_AUTO_TEST_CASE(objects_to_waiters_that_are_let_in_late)
{
    const auto holds_with = [](instant until_next) {
        std::vector<record> records = closed_once();
        records.resize(5);
        instant at = 11 * s;
        for (std::int64_t token = 1; token <= 40; token += 2) {
            for (record r : two_seconds_closed()) {
                r.owner = r.is_of_a_hold() ? of_hold + std::to_string(token) : r.owner;
                r.token = r.what == event::call ? token : 0;
                r.until += r.what == event::calling || r.until == 0 ? 0 : at - 11 * s;
                r.at += at - 11 * s;
                records.push_back(r);
            }
            const instant next = at + 2 * s + until_next;
            records = records + term_of("c0.1", token + 1, next, next + 20 * ms);
            at = next + 100 * ms;
        }
        std::ranges::find(records, event::ended, &record::what)->at = at;
        return records;
    };
    BOOST_TEST(judged(holds_with(400 * ms)).holds.openings.size() == 20U);
    BOOST_TEST(objections(holds_with(400 * ms), "half of the waiters").size() == 0U);
    BOOST_TEST(objections(holds_with(600 * ms), "half of the waiters").size() == 1U);
}

BOOST_AUTO_TEST_CASE(objects_to_a_holder_in_the_way_that_does_not_hand_over)
{
    const auto waits = [](instant since, const std::vector<record>& more = {}) {
        auto records = closed_once() + more;
        for (record& r : records) {
            if (r.what == event::closed) r.at = since;
            if (r.what == event::call && r.token == 1 && r.detail == "acquire:granted") r.at = 6 * s;
            if (r.what == event::won && r.token == 1) r.at = 6 * s;
        }
        return objections(records, "did not hand over").size();
    };
    BOOST_TEST(waits(8 * s) == 0U);
    BOOST_TEST(waits(7 * s) == 1U);
    for (const char* hit : {"c0.1", "c4.1", "*"}) BOOST_TEST(waits(7 * s, {{event::fault, hit, 0, 8 * s, 9 * s, "it"}}) == 0U);
    BOOST_TEST(waits(7 * s, {{event::fault, "c1.1", 0, 8 * s, 9 * s, "waiter_frozen"}}) == 1U, "it has nothing to do with these two");
    const std::vector<record> in_vain{{event::closed, "c5.1", 0, 14 * s, 24 * s, "timed_out"}};
    BOOST_TEST(objections(closed_once() + in_vain, "could not hold").size() == 1U);
    const std::vector<record> fault{{event::fault, "*", 0, 20 * s, 21 * s, "server_killed"}};
    BOOST_TEST(objections(closed_once() + in_vain + fault, "could not hold").empty());
    const std::vector<record> asked_by_nobody{{event::asked, "c1.1", 3, 13 * s + 500 * ms, 0, "otherwise"}};
    BOOST_TEST(objections(closed_once() + asked_by_nobody, "nobody's hold").size() == 1U);
}

BOOST_AUTO_TEST_CASE(objects_to_tokens_of_holds_that_do_not_grow)
{
    auto records = closed_once();
    for (record& r : records)
        if (r.is_of_a_hold() && r.what == event::call) r.token = 4;
    BOOST_TEST(judged(records).tokens_out_of_order == 1);
    auto holds_come_first = closed_once();
    for (record& r : holds_come_first)
        if (r.is_of_a_hold() && r.what == event::call) r.token = 1;
    BOOST_TEST(judged(holds_come_first).tokens_out_of_order == 1);
}

BOOST_AUTO_TEST_CASE(objects_to_what_an_inspect_shows_while_the_name_is_held_closed)
{
    const auto shown = [](instant at, std::int64_t token, const char* what, const std::string& owner) {
        return is_linearizable(closed_once(), {{event::call, "c5.1", token, at, at + ms, what, 0, owner}});
    };
    BOOST_TEST(shown(12 * s, 2, "inspect:held", of_hold));
    BOOST_TEST(!shown(12 * s, 2, "inspect:held", "hold_b"));
    BOOST_TEST(!shown(12 * s, 0, "inspect:free", "-"));
    BOOST_TEST(!shown(13 * s + 6 * ms, 2, "inspect:held", of_hold));
    BOOST_TEST(shown(13 * s + 500 * ms, 3, "inspect:held", "-"), "a contender's term");
    BOOST_TEST(!shown(12 * s, 3, "inspect:held", "-"));
    BOOST_TEST(shown(12 * s, 7, "inspect:held", "-"), "whose grant had no answer, so that it isn't known whose it is");
}

BOOST_AUTO_TEST_CASE(objects_to_operators_that_never_hold_the_name_closed)
{
    auto records = closed_once();
    std::erase_if(records, [](const record& r) { return r.what == event::closed; });
    BOOST_TEST(objections(records, "nobody ever held the name closed").size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
