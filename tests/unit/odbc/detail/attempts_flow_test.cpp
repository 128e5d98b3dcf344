// SPDX-License-Identifier: BSL-1.0
// Many attempts at once on a table in memory: which statements they take, and that nobody is granted what is not free.
#include <leasehold/odbc/detail/flow/attempts_flow.hpp>

#include "scripted_database.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(attempts_flow_test)

namespace lh = leasehold;
using namespace lh::odbc::detail;
using namespace std::chrono_literals;

namespace {

struct table_row {
    std::string owner;
    std::int64_t token = 0;
    bool live = false;
};

// Answers as a database would, and lets others come in between.
struct attempting_table {
    bool one_statement = false;
    std::size_t together = 100;
    std::map<std::string, table_row, std::less<>> rows_of;
    std::set<std::string, std::less<>> locked;
    std::map<std::size_t, std::function<fault()>> before;  // the n-th statement, from 1

    std::vector<std::string> asked;  // such as "read 3"
    int given_up = 0;

    [[nodiscard]] std::size_t attempts_together() const { return together; }
    [[nodiscard]] bool single_statement_grant() const { return one_statement; }
    [[nodiscard]] bool purges() const { return true; }
    void give_up_batches() { ++given_up; }
    [[nodiscard]] bool found() const { return true; }
    [[nodiscard]] std::int64_t rows() const { return count; }
    [[nodiscard]] std::int64_t number(column) const { return 7; }  // the floor
    void set_token(std::int64_t token) { first = token; }

    fault began(const std::string& what)
    {
        asked.push_back(what);
        const auto found = before.find(asked.size());
        return found == before.end() ? fault::none : found->second();
    }
    fault run(statement) { return began("floor"); }

    fault run_attempts(batch_kind kind, attempts& of, std::span<const item_number> items)
    {
        const char* const names[] = {"", "", "grant ", "read ", "take ", "insert "};
        const fault failed = began(names[static_cast<std::size_t>(kind)] + std::to_string(items.size()));
        if (failed != fault::none) return failed;
        for (const item_number i : items)
            if (kind != batch_kind::reads && locked.contains(of.name(i))) return fault::lock_timeout;
        count = 0;
        std::size_t left = of.left();
        for (const item_number i : items) {
            const auto found = rows_of.find(of.name(i));
            const bool there = found != rows_of.end();
            switch (kind) {
            case batch_kind::reads:
                if (there)
                    of.set_row(i, {found->second.token, found->second.live, found->second.owner == of.owner(i), 1s, found->second.owner});
                break;
            case batch_kind::takes:
                if (!there || found->second.live || found->second.token != of.token(i) || found->second.owner != of.holder(i)) break;
                found->second = {std::string{of.owner(i)}, found->second.token + 1, true};
                ++count;
                break;
            case batch_kind::inserts:
                if (there) return fault::duplicate_key;
                rows_of[std::string{of.name(i)}] = {std::string{of.owner(i)}, first, true};
                ++count;
                break;
            default: {
                if (there && found->second.live && found->second.owner != of.owner(i)) {
                    of.set_answer(i, {{lh::acquire_status::busy, lh::fencing_token{found->second.token}, 1s}, false});
                    break;
                }
                if (left == 0) break;
                --left;
                of.set_answer(i, granted(grant(of.name(i), of.owner(i)), true));
            }
            }
        }
        return fault::none;
    }

    std::int64_t grant(std::string_view name, std::string_view owner)
    {
        table_row& row = rows_of[std::string{name}];
        row = {std::string{owner}, row.token == 0 ? 7 : row.token + 1, true};
        return row.token;
    }

    std::int64_t count = 0;
    std::int64_t first = 0;
};

struct scene {
    scene(std::vector<std::string> names, std::size_t most) : many{names.size(), most}
    {
        for (const std::string& each : names) many.add(each, "me");
    }

    fault run(bool repeated = false)
    {
        return attempts_flow(table, many, repeated, [&](std::string_view name, std::string_view owner) {
            grant_answer said;
            table.asked.push_back("single " + std::string{name});
            const auto found = table.rows_of.find(name);
            if (found != table.rows_of.end() && found->second.live && found->second.owner != owner)
                said = {{lh::acquire_status::busy, lh::fencing_token{found->second.token}, 1s}, false};
            else if (!table.locked.contains(name))
                said = granted(table.grant(name, owner), true);
            return unless(single_fails, [&] { return said; });
        });
    }

    // "y" granted, "n" busy, "?" no answer.
    [[nodiscard]] std::string answers() const
    {
        std::string text;
        for (item_number i = 0; i < many.size(); ++i) {
            const auto& said = many.answer(i);
            text += !said ? '?' : said->result.granted() ? 'y' : 'n';
        }
        return text;
    }
    // Whoever was told of a term has it.
    void check_told() const
    {
        for (item_number i = 0; i < many.size(); ++i) {
            const auto& said = many.answer(i);
            if (!said || !said->result.granted()) continue;
            const table_row& row = table.rows_of.at(std::string{many.name(i)});
            BOOST_TEST(row.owner == "me");
            BOOST_TEST(row.token == said->result.token.value());
        }
    }

    attempting_table table;
    attempts many;
    fault single_fails = fault::none;
};

using asked = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(free_rows_are_read_and_written_once)
{
    scene s{{"c", "a", "b"}, 3};
    s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, false}}, {"c", {"x", 4, false}}};
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "yyy");
    BOOST_TEST(s.table.asked == (asked{"read 3", "take 3"}), boost::test_tools::per_element());
    BOOST_TEST(s.many.answer(0)->result.token.value() == 5);
    BOOST_TEST(s.many.answer(0)->fresh);
    s.check_told();
}

BOOST_AUTO_TEST_CASE(names_without_a_row_begin_at_the_floor)
{
    scene s{{"a", "b"}, 2};
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "yy");
    BOOST_TEST(s.table.asked == (asked{"read 2", "floor", "insert 2"}), boost::test_tools::per_element());
    BOOST_TEST(s.many.answer(1)->result.token.value() == 7);
}

BOOST_AUTO_TEST_CASE(no_more_than_so_many_are_granted_in_their_order)
{
    for (const bool one_statement : {false, true}) {
        scene s{{"e", "b", "d", "a"}, 2};
        s.table.one_statement = one_statement;
        s.table.rows_of = {{"b", {"x", 3, true}}, {"d", {"x", 1, false}}};
        BOOST_TEST(s.run() == fault::none);
        BOOST_TEST(s.answers() == "ynyn");
        BOOST_TEST(s.many.answer(1)->result.token.value() == 3);
        BOOST_TEST(s.many.answer(3)->result.token.value() == 0);
        BOOST_TEST(!s.table.rows_of.contains("a"));
        s.check_told();
    }
}

BOOST_AUTO_TEST_CASE(nothing_is_asked_where_none_is_wanted)
{
    scene s{{"a", "b"}, 0};
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "nn");
    BOOST_TEST(s.table.asked.empty());
}

BOOST_AUTO_TEST_CASE(others_who_come_in_between_are_not_thrown_out)
{
    scene s{{"a", "b", "c"}, 3};
    s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, false}}, {"c", {"x", 4, false}}};
    s.table.before[2] = [&] { return s.table.grant("b", "another"), fault::none; };
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "yny");
    BOOST_TEST(s.table.rows_of["b"].owner == "another");
    s.check_told();
}

// Two processes with one owner: a row that shows the owner and the next token is not yet one's own.
BOOST_AUTO_TEST_CASE(read_that_shows_the_asking_owner_grants_nothing)
{
    scene s{{"a", "b"}, 2};
    s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, false}}};
    std::int64_t theirs = 0;
    s.table.before[2] = [&] { return theirs = s.table.grant("b", "me"), fault::none; };
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "yy");
    BOOST_TEST(s.many.answer(1)->result.token.value() > theirs);
    s.check_told();
}

BOOST_AUTO_TEST_CASE(name_that_another_inserts_first_is_busy)
{
    scene s{{"a", "b"}, 2};
    s.table.before[3] = [&] { return s.table.grant("a", "another"), fault::none; };
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "ny");
    s.check_told();
}

BOOST_AUTO_TEST_CASE(where_one_was_lost_the_next_free_one_is_tried)
{
    scene s{{"a", "b", "c"}, 1};
    s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, false}}, {"c", {"x", 4, false}}};
    s.table.before[2] = [&] { return s.table.grant("a", "another"), fault::none; };
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "nyn");
    BOOST_TEST(!s.table.rows_of["c"].live);
}

// The reply to a write was lost: nobody knows of that term, and more than one must not come out of it.
BOOST_AUTO_TEST_CASE(term_of_a_lost_reply_is_taken_before_any_other)
{
    for (const bool one_statement : {false, true}) {
        scene s{{"a", "b", "c"}, 1};
        s.table.one_statement = one_statement;
        s.table.grant("b", "me");
        BOOST_TEST(s.run(true) == fault::none);
        BOOST_TEST(s.answers() == "nyn");
        BOOST_TEST(!s.table.rows_of.contains("a"));
        s.check_told();
    }
}

BOOST_AUTO_TEST_CASE(own_terms_are_new_terms_in_their_order)
{
    scene s{{"a", "b"}, 1};
    s.table.grant("b", "me");
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "yn");
    scene own{{"a", "b"}, 2};
    own.table.grant("b", "me");
    BOOST_TEST(own.run() == fault::none);
    BOOST_TEST(own.many.answer(1)->result.token.value() == 8);
    own.check_told();
}

BOOST_AUTO_TEST_CASE(locked_row_does_not_keep_the_others)
{
    for (const bool one_statement : {false, true}) {
        std::vector<std::string> names;
        for (int i = 100; i < 160; ++i) names.push_back(std::to_string(i));
        scene s{names, names.size()};
        s.table.one_statement = one_statement;
        for (const std::string& each : names) s.table.rows_of[each] = {"x", 1, false};
        s.table.locked = {"133"};
        BOOST_TEST(s.run() == fault::none);
        std::string expected(60, 'y');
        expected[33] = 'n';
        BOOST_TEST(s.answers() == expected);
        s.check_told();
    }
}

BOOST_AUTO_TEST_CASE(parts_are_as_large_as_the_database_takes_and_stop_when_there_are_enough)
{
    std::vector<std::string> names;
    for (int i = 10; i < 60; ++i) names.push_back(std::to_string(i));
    scene s{names, 25};
    s.table.together = 20;
    s.table.one_statement = true;
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == std::string(25, 'y') + std::string(25, 'n'));
    BOOST_TEST(s.table.asked == (asked{"grant 20", "grant 20"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(database_that_they_are_too_much_for_is_asked_one_by_one)
{
    scene s{{"a", "b"}, 2};
    s.table.before[1] = [] { return fault::failure; };
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "yy");
    BOOST_TEST(s.table.given_up == 1);
    scene plain{{"a", "b"}, 2};
    plain.table.together = 0;
    BOOST_TEST(plain.run() == fault::none);
    BOOST_TEST(plain.table.asked == (asked{"single a", "single b"}), boost::test_tools::per_element());
    scene broken{{"a", "b"}, 2};
    broken.table.before[1] = [] { return fault::failure; };
    broken.single_fails = fault::failure;
    BOOST_TEST(broken.run() == fault::failure);
    BOOST_TEST(broken.answers() == "??");
    BOOST_TEST(broken.table.given_up == 0);
}

BOOST_AUTO_TEST_CASE(what_was_answered_before_a_failure_stays_so_in_the_next_try)
{
    std::vector<std::string> names;
    for (int i = 10; i < 30; ++i) names.push_back(std::to_string(i));
    scene s{names, 20};
    s.table.together = 10;
    s.table.one_statement = true;
    s.table.before[2] = [] { return fault::conflict; };
    BOOST_TEST(s.run() == fault::conflict);
    BOOST_TEST(s.answers() == std::string(10, 'y') + std::string(10, '?'));
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == std::string(20, 'y'));
    s.check_told();
}

BOOST_AUTO_TEST_CASE(where_nobody_can_write_names_that_had_a_term_are_busy)
{
    scene s{{"a", "b"}, 2};
    s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, true}}};
    BOOST_TEST(attempted_busy_as_read(s.table, s.many));
    BOOST_TEST(s.answers() == "nn");
    scene with_new{{"a", "b"}, 2};
    with_new.table.rows_of = {{"a", {"x", 3, false}}};
    BOOST_TEST(!attempted_busy_as_read(with_new.table, with_new.many));
    scene with_own{{"a"}, 1};
    with_own.table.rows_of = {{"a", {"me", 3, true}}};
    BOOST_TEST(!attempted_busy_as_read(with_own.table, with_own.many));
}

BOOST_AUTO_TEST_SUITE_END()
