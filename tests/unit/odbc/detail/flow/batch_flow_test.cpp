// SPDX-License-Identifier: BSL-1.0
// Many terms at once on a database that does as told: which statements it is asked for, and what the answers are.
#include <leasehold/odbc/detail/flow/batch_flow.hpp>

#include <unit/odbc/detail/flow/scripted_database.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(batch_flow_test)

namespace lh = leasehold;
using namespace lh::odbc::detail;

namespace {

// Terms are known by their tokens here: 0, 1, 2, ...
struct batching_database {
    std::set<std::int64_t> over;     // lost
    std::set<std::int64_t> locked;   // by somebody else
    std::set<std::int64_t> unknown;  // counted by no statement for many, though live
    std::map<std::size_t, fault> failures;  // of the n-th statement for many
    bool available = true;
    fault begin = fault::none;
    fault commit = fault::none;
    fault rollback = fault::none;

    std::vector<std::size_t> asked;  // terms in each statement for many
    std::vector<std::int64_t> alone;
    std::vector<std::int64_t> released;
    int transactions = 0, commits = 0, given_up = 0;
    int brief_waits = 1000;  // at locked rows, for which there is time
    int full_waits = 1000;

    [[nodiscard]] bool batches() const { return available; }
    [[nodiscard]] bool has_time_for(lock_wait wait) const { return (wait == lock_wait::brief ? brief_waits : full_waits) > 0; }
    void disable_batches()
    {
        ++given_up;
        available = false;
    }
    fault begin_transaction()
    {
        ++transactions;
        pending.clear();
        return begin;
    }
    fault end_transaction(bool commits_it)
    {
        if (!commits_it || commit != fault::none) return commits_it ? commit : rollback;
        ++commits;
        over.insert(pending.begin(), pending.end());
        released.insert(released.end(), pending.begin(), pending.end());
        return fault::none;
    }
    fault run_batch(batch_kind kind, const batch& of, std::span<const item_number> items)
    {
        asked.push_back(items.size());
        if (const auto found = failures.find(asked.size()); found != failures.end()) return found->second;
        count = 0;
        for (const item_number i : items) {
            if (locked.contains(of.token(i))) return --brief_waits, fault::lock_timeout;
            if (over.contains(of.token(i)) || unknown.contains(of.token(i))) continue;
            ++count;
            if (kind == batch_kind::releases) pending.push_back(of.token(i));
        }
        return fault::none;
    }
    [[nodiscard]] std::int64_t rows() const { return count; }

    std::int64_t count = 0;
    std::vector<std::int64_t> pending;
};

struct scene {
    explicit scene(std::size_t terms) : many{terms}
    {
        for (std::size_t i = 0; i < terms; ++i) many.add("name", "owner", static_cast<std::int64_t>(i));
    }

    fault run(batch_kind kind)
    {
        return batch_flow(db, kind, many, [&](std::string_view, std::string_view, std::int64_t token) -> outcome<bool> {
            db.alone.push_back(token);
            if (single_fails) return fault::failure;
            if (db.locked.contains(token)) return --db.full_waits, fault::lock_timeout;
            if (overtaken.contains(token)) return fault::overtaken;
            const bool yes = !db.over.contains(token);
            if (yes && kind == batch_kind::releases) db.over.insert(token);
            return yes;
        });
    }

    [[nodiscard]] std::string answers() const
    {
        std::string text;
        for (item_number i = 0; i < many.size(); ++i) {
            const lh::batch_answer said = many.answer(i);
            text += said == lh::batch_answer::yes ? 'y' : said == lh::batch_answer::no ? 'n' : '?';
        }
        return text;
    }

    batching_database db;
    batch many;
    std::set<std::int64_t> overtaken;  // perhaps by an earlier try
    bool single_fails = false;
};

std::string with_no(std::string answers, std::initializer_list<std::size_t> where, char what = 'n')
{
    for (const std::size_t i : where) answers[i] = what;
    return answers;
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_statement_is_enough_where_every_term_is_counted)
{
    scene renewals{256};
    BOOST_TEST(renewals.run(batch_kind::renewals) == fault::none);
    BOOST_TEST(renewals.answers() == std::string(256, 'y'));
    BOOST_TEST(renewals.db.asked == std::vector<std::size_t>{256});
    BOOST_TEST(renewals.db.transactions == 0);
    BOOST_TEST(renewals.db.commits == 0);
    BOOST_TEST(renewals.db.alone.empty());
    scene releases{256};
    BOOST_TEST(releases.run(batch_kind::releases) == fault::none);
    BOOST_TEST(releases.answers() == std::string(256, 'y'));
    BOOST_TEST(releases.db.commits == 1);
    BOOST_TEST(releases.db.released.size() == 256U);
}

BOOST_AUTO_TEST_CASE(release_whose_outcome_can_not_be_seen_leaves_the_others_their_answers)
{
    scene s{40};
    s.db.over = {7, 12, 30};
    s.overtaken = {7, 30};
    BOOST_TEST(s.run(batch_kind::releases) == fault::overtaken);
    BOOST_TEST(s.answers() == with_no(with_no(std::string(40, 'y'), {12}), {7, 30}, '?'));
}

BOOST_AUTO_TEST_CASE(locked_row_is_worth_another_try_whatever_else_is_unknown)
{
    for (const auto& [locked, overtaken] : {std::pair{3, 30}, std::pair{30, 3}}) {
        scene s{40};
        s.db.over = {overtaken};
        s.overtaken = {overtaken};
        s.db.locked = {locked};
        BOOST_TEST(s.run(batch_kind::releases) == fault::lock_timeout);
    }
}

BOOST_AUTO_TEST_CASE(whose_term_is_over_is_found_in_a_few_statements)
{
    for (const batch_kind kind : {batch_kind::renewals, batch_kind::releases}) {
        scene s{256};
        s.db.over = {77};
        BOOST_TEST(s.run(kind) == fault::none);
        BOOST_TEST(s.answers() == with_no(std::string(256, 'y'), {77}));
        BOOST_TEST(s.db.asked.size() == 17U);
        BOOST_TEST(s.db.alone.size() == 16U);
        BOOST_TEST(s.db.given_up == 0);
    }
}

BOOST_AUTO_TEST_CASE(releases_that_were_not_all_counted_are_taken_back_before_they_are_asked_for_again)
{
    scene s{20};
    s.db.over = {3};
    BOOST_TEST(s.run(batch_kind::releases) == fault::none);
    BOOST_TEST(s.answers() == with_no(std::string(20, 'y'), {3}));
    BOOST_TEST(s.db.transactions > s.db.commits);
}

BOOST_AUTO_TEST_CASE(row_that_is_not_counted_though_live_costs_time_only)
{
    scene s{40};
    s.db.unknown = {0, 39};
    BOOST_TEST(s.run(batch_kind::renewals) == fault::none);
    BOOST_TEST(s.answers() == std::string(40, 'y'));
}

BOOST_AUTO_TEST_CASE(one_or_a_database_without_such_statements_is_one_by_one)
{
    scene one{1};
    BOOST_TEST(one.run(batch_kind::renewals) == fault::none);
    BOOST_TEST(one.answers() == "y");
    BOOST_TEST(one.db.asked.empty());
    scene plain{5};
    plain.db.available = false;
    plain.db.over = {1};
    BOOST_TEST(plain.run(batch_kind::releases) == fault::none);
    BOOST_TEST(plain.answers() == "ynyyy");
    BOOST_TEST(plain.db.asked.empty());
    BOOST_TEST(plain.db.transactions == 0);
    scene none{0};
    BOOST_TEST(none.run(batch_kind::renewals) == fault::none);
}

BOOST_AUTO_TEST_CASE(locked_row_keeps_nobody_else_waiting)
{
    for (const batch_kind kind : {batch_kind::renewals, batch_kind::releases}) {
        scene s{64};
        s.db.locked = {10};
        s.db.over = {20};
        BOOST_TEST(s.run(kind) == fault::lock_timeout);
        BOOST_TEST(s.answers() == with_no(with_no(std::string(64, 'y'), {20}), {10}, '?'));
        s.db.locked.clear();
        s.db.alone.clear();
        BOOST_TEST(s.run(kind) == fault::none);
        BOOST_TEST(s.answers() == with_no(std::string(64, 'y'), {20}));
        BOOST_TEST(s.db.alone == std::vector<std::int64_t>{10}, "what has an answer is not asked for again");
    }
}

BOOST_AUTO_TEST_CASE(locked_rows_are_waited_for_last_and_while_there_is_time)
{
    for (const batch_kind kind : {batch_kind::renewals, batch_kind::releases})
        for (const int full_waits : {0, 1, 2, 1000}) {
            scene s{20};
            s.db.locked = {3, 8, 9};
            s.db.over = {2, 8};
            s.db.full_waits = full_waits;
            BOOST_TEST(s.run(kind) == fault::lock_timeout);
            BOOST_TEST(s.answers() == with_no(with_no(std::string(20, 'y'), {2}), {3, 8, 9}, '?'));
            std::vector<std::int64_t> alone{2, 3, 8, 9};  // what was counted by no statement, and is not locked, first
            if (full_waits < 3) alone.resize(static_cast<std::size_t>(full_waits) + 1);
            BOOST_TEST(s.db.alone == alone, boost::test_tools::per_element());
        }
}

BOOST_AUTO_TEST_CASE(one_term_is_waited_for_only_if_there_is_time)
{
    for (const batch_kind kind : {batch_kind::renewals, batch_kind::releases}) {
        scene locked{1};
        locked.db.locked = {0};
        locked.db.full_waits = 0;
        BOOST_TEST(locked.run(kind) == fault::lock_timeout);
        BOOST_TEST(locked.answers() == "?");
        BOOST_TEST(locked.db.alone.empty());
        scene live{1};
        live.db.full_waits = 0;
        BOOST_TEST(live.run(kind) == fault::none);
        BOOST_TEST(live.answers() == "y");
        BOOST_TEST(live.db.asked == std::vector<std::size_t>{1});
        BOOST_TEST(live.db.alone.empty());
        scene over{1};
        over.db.over = {0};
        over.db.full_waits = 0;
        BOOST_TEST(over.run(kind) == fault::none);
        BOOST_TEST(over.answers() == "n");
    }
}

BOOST_AUTO_TEST_CASE(no_more_is_sent_when_there_is_no_time_for_another_locked_row)
{
    scene s{4};
    s.db.locked = {1, 2};
    s.db.brief_waits = 2;
    BOOST_TEST(s.run(batch_kind::renewals) == fault::lock_timeout);
    BOOST_TEST(s.answers() == "y???");
    BOOST_TEST(s.db.asked == (std::vector<std::size_t>{4, 1, 1}), boost::test_tools::per_element());
    BOOST_TEST(s.db.alone.empty());
}

BOOST_AUTO_TEST_CASE(failure_of_a_locked_term_is_told_in_the_end)
{
    for (const fault failed : {fault::none, fault::overtaken}) {
        scene s{4};
        s.db.failures[1] = s.db.failures[2] = fault::lock_timeout;  // of all, and of the first
        if (failed != fault::none) s.overtaken = {0};
        BOOST_TEST(s.run(batch_kind::renewals) == failed);
        BOOST_TEST(s.answers() == (failed == fault::none ? "yyyy" : "?yyy"));
        BOOST_TEST(s.db.alone == std::vector<std::int64_t>{0});
    }
}

BOOST_AUTO_TEST_CASE(conflict_or_lost_connection_ends_the_try_and_keeps_what_is_known)
{
    for (const fault why : {fault::conflict, fault::connection_lost, fault::timeout}) {
        scene s{256};
        s.db.over = {0};
        s.db.failures[4] = why;  // the first is for all, the second for the first sixteen
        BOOST_TEST(s.run(batch_kind::renewals) == why);
        BOOST_TEST(s.answers() == std::string(16, '?') + std::string(16, 'y') + std::string(224, '?'));
        BOOST_TEST(s.run(batch_kind::renewals) == fault::none);
        BOOST_TEST(s.answers() == with_no(std::string(256, 'y'), {0}));
    }
}

BOOST_AUTO_TEST_CASE(failure_of_one_item_comes_last)
{
    scene s{256};
    s.db.locked = {0};
    s.single_fails = true;
    BOOST_TEST(s.run(batch_kind::renewals) == fault::failure);
    BOOST_TEST(s.answers() == '?' + std::string(255, 'y'));
}

BOOST_AUTO_TEST_CASE(commit_that_fails_answers_nobody)
{
    scene s{30};
    s.db.commit = fault::connection_lost;
    BOOST_TEST(s.run(batch_kind::releases) == fault::connection_lost);
    BOOST_TEST(s.answers() == std::string(30, '?'));
}

BOOST_AUTO_TEST_CASE(transaction_that_can_not_be_rolled_back_ends_the_connection_whatever_failed_before)
{
    for (const fault statement : {fault::none, fault::failure, fault::lock_timeout, fault::conflict}) {
        scene s{64};
        s.db.over = {7};
        s.db.rollback = fault::connection_lost;
        if (statement != fault::none) s.db.failures = {{1, statement}};
        BOOST_TEST(s.run(batch_kind::releases) == fault::connection_lost);
        BOOST_TEST(s.answers() == std::string(64, '?'));
        BOOST_TEST(s.db.alone.empty());
    }
}

BOOST_AUTO_TEST_CASE(statement_that_the_database_does_not_know_is_done_without)
{
    scene s{30};
    s.db.failures[1] = fault::failure;
    s.db.over = {3};
    BOOST_TEST(s.run(batch_kind::releases) == fault::none);
    BOOST_TEST(s.answers() == with_no(std::string(30, 'y'), {3}));
    BOOST_TEST(s.db.given_up == 1);
}

BOOST_AUTO_TEST_CASE(failure_of_the_table_is_not_blamed_on_the_statement_for_many)
{
    scene s{30};
    s.db.failures[1] = fault::failure;
    s.single_fails = true;
    BOOST_TEST(s.run(batch_kind::renewals) == fault::failure);
    BOOST_TEST(s.answers() == std::string(30, '?'));
    BOOST_TEST(s.db.given_up == 0);
    BOOST_TEST(s.db.alone.size() == 1U);
}

BOOST_AUTO_TEST_CASE(failure_of_one_by_itself_is_the_answer)
{
    scene one{1};
    one.single_fails = true;
    BOOST_TEST(one.run(batch_kind::renewals) == fault::failure);
    BOOST_TEST(one.answers() == "?");
    BOOST_TEST(one.db.alone.size() == 1U);
    BOOST_TEST(one.db.given_up == 0);
}

BOOST_AUTO_TEST_CASE(two_are_one_statement)
{
    for (const batch_kind kind : {batch_kind::renewals, batch_kind::releases}) {
        scene two{2};
        BOOST_TEST(two.run(kind) == fault::none);
        BOOST_TEST(two.answers() == "yy");
        BOOST_TEST(two.db.asked == std::vector<std::size_t>{2});
        BOOST_TEST(two.db.alone.empty());
    }
}

BOOST_AUTO_TEST_CASE(nothing_is_released_without_a_transaction)
{
    scene s{30};
    s.db.begin = fault::connection_lost;
    BOOST_TEST(s.run(batch_kind::releases) == fault::connection_lost);
    BOOST_TEST(s.answers() == std::string(30, '?'));
    BOOST_TEST(s.db.asked.empty());
    BOOST_TEST(s.db.commits == 0);
}

BOOST_AUTO_TEST_CASE(failed_statement_counts_for_nothing_whatever_number_of_rows_is_there)
{
    for (const batch_kind kind : {batch_kind::renewals, batch_kind::releases}) {
        scene s{30};
        s.db.count = 30;
        s.db.failures[1] = fault::conflict;
        BOOST_TEST(s.run(kind) == fault::conflict);
        BOOST_TEST(s.answers() == std::string(30, '?'));
        BOOST_TEST(s.db.commits == 0);
    }
}

BOOST_AUTO_TEST_CASE(row_that_was_locked_for_a_moment_leaves_no_trace)
{
    for (const batch_kind kind : {batch_kind::renewals, batch_kind::releases}) {
        scene s{30};
        s.db.failures[1] = fault::lock_timeout;
        BOOST_TEST(s.run(kind) == fault::none);
        BOOST_TEST(s.answers() == std::string(30, 'y'));
    }
}

BOOST_AUTO_TEST_CASE(without_statements_for_many_too_a_locked_row_keeps_nobody_else_waiting)
{
    scene s{30};
    s.db.failures[1] = fault::failure;
    s.db.locked = {3};
    s.db.over = {10};
    s.overtaken = {10};
    BOOST_TEST(s.run(batch_kind::releases) == fault::lock_timeout);
    BOOST_TEST(s.answers() == with_no(std::string(30, 'y'), {3, 10}, '?'));
    BOOST_TEST(s.db.alone.size() == 30U);
    BOOST_TEST(s.db.given_up == 0, "not all of them showed that they work");
}

BOOST_AUTO_TEST_CASE(statement_that_was_given_up_is_not_asked_for_again)
{
    scene s{30};
    s.db.failures = {{1, fault::lock_timeout}, {2, fault::failure}};
    BOOST_TEST(s.run(batch_kind::renewals) == fault::none);
    BOOST_TEST(s.answers() == std::string(30, 'y'));
    BOOST_TEST(s.db.asked == (std::vector<std::size_t>{30, 2}), boost::test_tools::per_element());
    BOOST_TEST(s.db.alone.size() == 30U);
}

BOOST_AUTO_TEST_SUITE_END()
