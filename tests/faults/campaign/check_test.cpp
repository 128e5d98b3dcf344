// SPDX-License-Identifier: BSL-1.0
// The checker of the campaign is put to the test: records of one flaw each.
#include "check.hpp"
#include "term.hpp"
#include "turns.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace campaign;

namespace {

figures with(std::vector<record> more)
{
    std::vector<record> records = good();
    records.insert(records.end(), more.begin(), more.end());
    return judged(records);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_checker)

BOOST_AUTO_TEST_CASE(agrees_to_turns)
{
    const figures found = judged(good());
    BOOST_TEST(found.objections.empty());
    BOOST_TEST(found.terms == 10);
    BOOST_TEST(found.calls.at("acquire").count == 10);
}

BOOST_AUTO_TEST_CASE(objects_to_slow_hand_overs_after_a_host_was_cut_off)
{
    const auto turns = [](instant between) {
        std::vector<record> records{{event::rules, "conductor", 0, 1500 * millisecond, 150 * millisecond, "test"},
                                    {event::limits, "conductor", 0, s, 700 * millisecond},
                                    {event::began, "conductor", 0, 10 * s, 0},
                                    {event::fault, "c9.*", 0, 10 * s, 11 * s, "host_cut_off"},
                                    {event::ended, "conductor", 0, 40 * s, 0}};
        instant at = 10 * s;
        for (int i = 1; i <= 20; ++i, at += 100 * millisecond + between) {
            const std::string who = i % 2 == 0 ? "c0.1" : "c1.1";
            records.push_back({event::won, who, i, at, at + 1350 * millisecond});
            records.push_back({event::releasing, who, i, at + 99 * millisecond, 0});
            records.push_back({event::released, who, i, at + 99 * millisecond, at + 100 * millisecond, "released"});
        }
        return judged(std::move(records));
    };
    const auto objects = [](const figures& found) {
        return std::ranges::any_of(found.objections, [](const std::string& each) { return each.starts_with("after a host was cut off"); });
    };
    BOOST_TEST(turns(400 * millisecond).hand_overs_after_cut_off.size() >= 10U);
    BOOST_TEST(!objects(turns(400 * millisecond)));
    BOOST_TEST(objects(turns(600 * millisecond)));
}

BOOST_AUTO_TEST_CASE(objects_to_two_who_are_seen_to_hold_at_once)
{
    const figures found = with({{event::won, "c2.1", 100, 15 * s + 500 * millisecond, 17 * s}});
    BOOST_TEST(found.overlaps >= 1);
    BOOST_TEST(!found.objections.empty());
}

BOOST_AUTO_TEST_CASE(objects_when_one_that_was_killed_could_still_have_believed)
{
    auto records = good();
    // The term at 14 s was not released.
    std::erase_if(records,
                  [](const record& r) { return r.token == 5 && (r.what == event::releasing || r.what == event::call); });
    BOOST_TEST(judged(records).overlaps == 1);
}

BOOST_AUTO_TEST_CASE(objects_to_tokens_that_do_not_grow)
{
    auto records = good();
    for (record& r : records)
        if (r.token == 7) r.token = 3;
    BOOST_TEST(is_linearizable(good()));
    BOOST_TEST(!is_linearizable(records));
}

BOOST_AUTO_TEST_CASE(objects_to_a_term_with_an_older_token_whatever_the_store_said)
{
    BOOST_TEST(with({{event::won, "c3.1", 2, 19 * s + 920 * millisecond, 21 * s}}).tokens_out_of_order == 1);
}

BOOST_AUTO_TEST_CASE(objects_to_one_token_of_two)
{
    BOOST_TEST(!is_linearizable({{event::call, "c3.1", 10, 19 * s, 19 * s + 5, "acquire:granted"}}, good()));
}

BOOST_AUTO_TEST_CASE(objects_to_answers_that_no_store_gives_that_is_right)
{
    const auto answers = [](std::int64_t token, instant at, const char* what) {
        return is_linearizable({{event::call, "c2.1", token, at, at + millisecond, what}}, good());
    };
    BOOST_TEST(answers(4, 13 * s + 500 * millisecond, "acquire:busy"));
    BOOST_TEST(!answers(4, 13 * s + 950 * millisecond, "acquire:busy"));  // it was released
    BOOST_TEST(!answers(5, 13 * s + 500 * millisecond, "acquire:busy"));
    BOOST_TEST(answers(4, 14 * s + 500 * millisecond, "release:no"));
    BOOST_TEST(!answers(4, 14 * s + 500 * millisecond, "release:yes"));
    BOOST_TEST(answers(0, 13 * s + 950 * millisecond, "acquire:busy"));  // it does not say that somebody holds
}

BOOST_AUTO_TEST_CASE(calls_without_an_answer_may_have_happened)
{
    // Without the grant of token 5: nobody can hold with it, unless somebody's attempt had no answer.
    std::vector<record> records = good();
    std::erase_if(records, [](const record& r) { return r.token == 5; });
    records.push_back({event::call, "c2.1", 5, 14 * s + 500 * millisecond, 14 * s + 501 * millisecond, "acquire:busy"});
    BOOST_TEST(!is_linearizable(records));
    const record killed{event::calling, "c3.1", 0, 14 * s, 1500 * millisecond, "acquire"};
    BOOST_TEST(is_linearizable({killed}, records));
    BOOST_TEST(!is_linearizable({killed, {event::call, "c3.1", 0, 14 * s, 14 * s + 1, "acquire:queued"}}, records));
    BOOST_TEST(is_linearizable({killed, {event::call, "c3.1", 0, 14 * s, 14 * s + 1, "acquire:error:timeout"}}, records));
    // An attempt in a fault may have been sent twice.
    const record answered{event::call, "c3.1", 4, 13 * s + 500 * millisecond, 13 * s + 600 * millisecond, "acquire:busy"};
    BOOST_TEST(!is_linearizable({answered}, records));
    const auto in_fault = [&](const char* kind) {
        return is_linearizable({answered, {event::fault, "*", 0, 13 * s, 14 * s, kind}}, records);
    };
    BOOST_TEST(in_fault("connections_cut"));
    BOOST_TEST(!in_fault("wall_clock_off"));
}

BOOST_AUTO_TEST_CASE(objects_to_one_token_of_two_in_the_crowd)
{
    const auto grants = [](std::int64_t lease, std::int64_t token) {
        return is_linearizable({{event::call, "m0.1", 7, 11 * s, 11 * s + 1, "acquire:granted", 1},
                                {event::call, "m1.1", token, 12 * s, 12 * s + 1, "acquire:granted", lease}}, good());
    };
    BOOST_TEST(grants(1, 8));
    BOOST_TEST(!grants(1, 7));
    BOOST_TEST(!grants(1, 6));
    BOOST_TEST(grants(2, 7));
}

BOOST_AUTO_TEST_CASE(a_node_may_look_at_its_past)
{
    const auto on = [](const char* database) {
        std::vector<record> records = good();
        records.front().detail = database;
        return is_linearizable({{event::call, "c2.1", 4, 13 * s + 950 * millisecond, 13 * s + 951 * millisecond, "acquire:busy"}}, records);
    };
    BOOST_TEST(!on("postgresql"));
    BOOST_TEST(on("galera"));
    BOOST_TEST(on("group_replication"));
}

BOOST_AUTO_TEST_CASE(objects_to_a_token_that_comes_back_after_its_release)
{
    const figures found = with({{event::won, "c1.1", 10, 19 * s + 950 * millisecond, 21 * s}});
    BOOST_TEST(found.objections.size() == 1U);
}

BOOST_AUTO_TEST_CASE(objects_to_busy_while_there_is_no_database_and_not_to_an_error)
{
    const record outage{event::outage, "c4.*", 0, 12 * s, 13 * s};
    const auto answered = [&](instant at, const std::string& what) {
        return with({outage, {event::call, "c4.2", 0, at, at + millisecond, what}});
    };
    BOOST_TEST(answered(12 * s + 1, "acquire:busy").busy_in_outage == 1);
    BOOST_TEST(answered(12 * s + 1, "acquire:error:timeout").busy_in_outage == 0);
    BOOST_TEST(answered(12 * s + 1, "acquire:error:timeout").calls_in_outage == 1);
    BOOST_TEST(answered(12 * s - 1, "acquire:busy").busy_in_outage == 0);
    const record waited{event::empty, "c4.2", 0, 12 * s + 1, 12 * s + 2};
    BOOST_TEST(with({outage, waited}).busy_in_outage == 1);
    BOOST_TEST(with({outage, waited, {event::stopped, "c4.2", 0, 12 * s + 3, 0}}).busy_in_outage == 0);  // it was cancelled
    const record for_all{event::outage, "*", 0, 12 * s + 100, 13 * s - 100};
    BOOST_TEST(with({for_all, {event::call, "c4.2", 0, 12 * s + 100, 12 * s + 200, "acquire:busy"}}).busy_in_outage == 1);
}

BOOST_AUTO_TEST_CASE(objects_to_what_was_written_while_nothing_could_be_and_not_to_busy)
{
    const record refusal{event::refusal, "c4.*", 0, 12 * s, 13 * s, "read_only"};
    for (const char* claim : {"acquire:granted", "renew:yes", "release:yes"}) {
        const auto claimed = [&](instant at) {
            return with({refusal, {event::call, "c4.2", 100, at, at + millisecond, claim}}).written_in_refusal;
        };
        BOOST_TEST(claimed(12 * s + 1) == 1);
        BOOST_TEST(claimed(12 * s - 1) == 0);
    }
    for (const char* answer : {"acquire:busy", "renew:no", "acquire:error:failure:25006"})
        BOOST_TEST(with({refusal, {event::call, "c4.2", 0, 12 * s + 1, 12 * s + 2, answer}}).objections.empty());
}

BOOST_AUTO_TEST_CASE(objects_where_the_words_of_a_refusal_make_the_database_absent)
{
    const auto told = [](const std::string& why, const std::string& answer, std::vector<record> more = {}) {
        more.push_back({event::refusal, "c4.*", 0, 12 * s, 13 * s, why});
        more.push_back({event::call, "c4.2", 0, 12 * s + 1, 12 * s + millisecond, answer});
        return with(more).objections.size();
    };
    BOOST_TEST(told("by_trigger", "acquire:error:unavailable") == 1U);
    BOOST_TEST(told("by_trigger", "acquire:error:schema_missing") == 1U);
    BOOST_TEST(told("by_trigger", "acquire:error:failure:45000") == 0U);
    BOOST_TEST(told("by_trigger", "release:error:unavailable:overtaken") == 0U);
    BOOST_TEST(told("read_only", "acquire:error:unavailable") == 0U);
    // What it meets when it goes on may be a connection that has been given up.
    BOOST_TEST(told("by_trigger", "acquire:error:unavailable", {{event::frozen, "c4.2", 0, 12 * s, 12 * s + 2}}) == 0U);
}

BOOST_AUTO_TEST_CASE(objects_to_a_server_without_memory_for_locks)
{
    BOOST_TEST(with({{event::call, "c4.2", 0, 12 * s, 12 * s + 1, "acquire:error:failure:53200"}}).objections.size() == 1U);
}

BOOST_AUTO_TEST_CASE(judges_each_lease_by_itself)
{
    const record rules{event::rules, "crowd", 0, 15 * s, s, "test", 1};
    const record crowd{event::circumstance, "crowd", 2, 10 * s, 0, "leases_of_the_crowd", 1};
    const auto wins = [](std::int64_t lease, const std::string& who, instant at) {
        return record{event::won, who, 1, at, 20 * s, "-", lease};
    };
    const record first = wins(1, "m0.1", 11 * s), second = wins(2, "m0.1", 11 * s);
    const figures found = with({rules, crowd, first, second});
    BOOST_TEST(found.objections.empty());
    BOOST_TEST(found.leases == 2);
    BOOST_TEST(found.terms == 12);
    BOOST_TEST(with({rules, crowd, first, second, wins(2, "m1.1", 12 * s)}).overlaps == 1);
    BOOST_TEST(with({rules, crowd, first}).objections.size() == 1U);  // one is missing
    const record refused{event::call, "m0.1", 0, 11 * s, 11 * s + 1, "acquire:busy", 2};
    BOOST_TEST(with({rules, crowd, first, refused}).objections.size() == 1U);  // nobody ever held it
    BOOST_TEST(with({rules, crowd, first, second, {event::crashed, "m0.1", 0, 15 * s, 0, "leaving"}}).objections.size() == 1U);
}

BOOST_AUTO_TEST_CASE(objects_to_more_holders_than_there_are_places)
{
    const auto overlaps = [](const std::vector<record>& more) {
        auto records = good();
        records.front().token = 4;  // places; a term of good() takes all of them
        records.insert(records.end(), more.begin(), more.end());
        std::ranges::find(records, event::ended, &record::what)->at = 40 * s;
        return judged(std::move(records)).overlaps;
    };
    const auto reader = [](const std::string& who, instant at) { return record{event::won, who, 99, at, at + s, "1"}; };
    const std::vector<record> four{reader("c2.1", 30 * s), reader("c3.1", 30 * s + 1), reader("c4.1", 30 * s + 2),
                                   reader("c5.1", 30 * s + 3)};
    auto five = four;
    five.push_back(reader("c6.1", 31 * s - 1));
    auto later = four;
    later.push_back(reader("c6.1", 31 * s));
    auto writer = four;
    writer.push_back({event::won, "c6.1", 99, 31 * s + 1, 32 * s, "-"});
    BOOST_TEST(overlaps({}) == 0);
    BOOST_TEST(overlaps(four) == 0);
    BOOST_TEST(overlaps(five) == 1);
    BOOST_TEST(overlaps(later) == 0);
    BOOST_TEST(overlaps(writer) == 1);
}

BOOST_AUTO_TEST_CASE(each_part_of_a_right_has_a_history_of_its_own)
{
    const auto granted = [](const std::string& who, std::int64_t token, instant at, std::int64_t part) {
        return record{event::call, who, token, at, at + 1, "acquire:granted", part};
    };
    const record first = granted("c0.1", 1, 30 * s, -10);
    BOOST_TEST(is_linearizable(good(), {first, granted("c1.1", 1, 30 * s + 2, -11)}));
    BOOST_TEST(!is_linearizable(good(), {first, granted("c1.1", 2, 30 * s + 2, -10)}));
    BOOST_TEST(is_linearizable(good(), {granted("c0.1", 1, 30 * s, -1), granted("c1.1", 2, 30 * s + 2, -1)}), "the count has one owner");
}

BOOST_AUTO_TEST_CASE(counts_the_errors_and_the_effects_of_each_fault)
{
    const record fault{event::fault, "*", 0, 12 * s, 13 * s, "node_lags"};
    const auto fails = [](instant at, instant until) { return record{event::call, "c4.2", 0, at, until, "acquire:error:timeout"}; };
    const figures found = with({fault, fails(12 * s, 12 * s + 1), fails(12 * s - 1, 12 * s + 1), fails(13 * s - 1, 13 * s + 1),
                                {event::effect, "*", 7, 12 * s, 13 * s, "node_lags:behind"},
                                {event::effect, "*", 3, 12 * s, 13 * s, "node_lags:behind"}});
    BOOST_TEST(found.faults.at("node_lags").errors == 1);
    BOOST_TEST(found.effects.at("node_lags:behind").first == 2);
    BOOST_TEST(found.effects.at("node_lags:behind").second == 7);
}

BOOST_AUTO_TEST_CASE(objects_to_a_term_that_is_over_before_its_deadline)
{
    const auto told = [](instant at) {
        return with({{event::call, "c0.1", 9, 18 * s + 500 * millisecond, at, "renew:no"}}).lost_too_early;
    };
    BOOST_TEST(told(18 * s + 501 * millisecond) == 1);
    BOOST_TEST(told(18 * s + 950 * millisecond) == 0);  // its holder has released meanwhile
    BOOST_TEST(told(21 * s) == 0);
}

BOOST_AUTO_TEST_CASE(an_attempt_that_its_own_process_has_given_up_may_have_taken_a_term_over)
{
    const instant told = 18 * s + 501 * millisecond;
    const record over{event::call, "c0.1", 9, 18 * s + 500 * millisecond, told, "renew:no"};
    const auto given_up = [](const char* process, instant until) {
        return record{event::call, process, 0, until - s, until, "acquire:error:timeout"};
    };
    BOOST_TEST(with({over, given_up("c0.1", 17 * s + 900 * millisecond)}).lost_too_early == 0);
    BOOST_TEST(with({over, given_up("c1.1", 17 * s + 900 * millisecond)}).lost_too_early == 1);
    BOOST_TEST(with({over, given_up("c0.1", told - patience)}).lost_too_early == 1);
    const record won_by_another{event::won, "c1.1", 10, told - millisecond, 20 * s};
    BOOST_TEST(with({over, given_up("c0.1", 17 * s + 900 * millisecond), won_by_another}).lost_too_early == 1);
}

BOOST_AUTO_TEST_CASE(objects_to_a_long_time_without_a_holder_unless_it_is_excused)
{
    auto records = good();
    std::erase_if(records, [](const record& r) { return r.token > 0 && r.token <= 8 && r.token > 1; });
    BOOST_TEST(judged(records).objections.size() == 1U);
    BOOST_TEST(judged(records).longest_gap > 7 * s);
    records.push_back({event::excuse, "*", 0, 11 * s, 16 * s});
    BOOST_TEST(judged(records).objections.empty());
}

BOOST_AUTO_TEST_CASE(objects_to_a_call_that_hangs_unless_its_process_was_stopped)
{
    const record hangs{event::call, "c5.1", 0, 12 * s, 16 * s, "acquire:busy"};
    BOOST_TEST(with({hangs}).objections.size() == 1U);
    BOOST_TEST(with({hangs, {event::frozen, "c5.1", 0, 13 * s, 15 * s}}).objections.empty());
}

BOOST_AUTO_TEST_CASE(objects_to_a_late_signal_to_a_crash_and_to_a_campaign_without_an_end)
{
    BOOST_TEST(with({{event::signalled, "c1.1", 10, 25 * s, 0}}).objections.size() == 1U);
    BOOST_TEST(with({{event::crashed, "c1.1", 0, 15 * s, 0, "signal:11"}}).crashes == 1);
    auto records = good();
    records.pop_back();
    BOOST_TEST(!judged(records).objections.empty());
    BOOST_TEST(!judged({}).objections.empty());
}

BOOST_AUTO_TEST_CASE(reads_what_was_written_and_nothing_else)
{
    const record r{event::held, "c1.2", 42, 1, -5, "acquire:busy", 7, "hold_1f"};
    BOOST_TEST((from_line(to_line(r)) == r));
    for (const char* line : {"", "held", "held c1 1 2 3", "held c1 1 2 3 - 0", "held c1 1 2 x - 0 -", "seen c1 1 2 3 - 0 -",
                             "held c1 1 2 3 - x -", "held c1 1 2 3 - 0 ", "held c1 1 2 3 - 0 - -"})
        BOOST_TEST(!from_line(line).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
