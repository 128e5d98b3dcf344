// SPDX-License-Identifier: BSL-1.0
// Many attempts at once on a table in memory: which statements they take, and that nobody is granted what is not free.
#include <unit/odbc/detail/flow/attempts_flow_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(attempts_flow_test)

using namespace leasehold_test::attempts_flows;

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

BOOST_AUTO_TEST_CASE(list_that_may_all_be_granted_begins_with_the_statement_for_free_rows)
{
    scene s{{"new", "free", "own", "busy"}, 4};
    s.table.one_statement = s.table.free_statement = true;
    s.table.rows_of = {{"free", {"x", 3, false}}, {"own", {"me", 5, true}}, {"busy", {"x", 8, true}}};
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "yyyn");
    BOOST_TEST(s.table.listed == (asked{"free new free own busy", "grant new own"}), boost::test_tools::per_element());
    BOOST_TEST(s.many.answer(0)->result.token.value() == 7);
    BOOST_TEST(s.many.answer(1)->result.token.value() == 4);
    BOOST_TEST(s.many.answer(2)->result.token.value() == 6);
    s.check_told();
}

BOOST_AUTO_TEST_CASE(statement_for_free_rows_is_not_used_where_only_some_may_be_granted)
{
    scene s{{"a", "b", "c"}, 2};
    s.table.one_statement = s.table.free_statement = true;
    s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, false}}, {"c", {"x", 4, false}}};
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "yyn");
    BOOST_TEST(s.table.asked == asked{"grant 3"}, boost::test_tools::per_element());
    BOOST_TEST(!s.table.rows_of["c"].live);
}

// The one that it has passed over, since others came first, is not asked for by it again: it may be one's own by now.
BOOST_AUTO_TEST_CASE(statement_for_free_rows_is_the_first_only)
{
    scene s{{"a", "b", "c"}, 3};
    s.table.one_statement = s.table.free_statement = true;
    s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, false}}, {"c", {"x", 4, false}}};
    s.table.passed_over = {"b", "c"};
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "yyy");
    BOOST_TEST(s.table.asked == (asked{"free 3", "grant 2"}), boost::test_tools::per_element());
    s.check_told();
}

// What a lost reply has granted is one's own then, which that statement does not grant.
BOOST_AUTO_TEST_CASE(lost_reply_of_the_statement_for_free_rows_is_taken_over)
{
    scene s{{"a", "b"}, 2};
    s.table.one_statement = s.table.free_statement = true;
    s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, false}}};
    s.table.after[1] = fault::connection_lost;
    BOOST_TEST(s.run() == fault::connection_lost);
    BOOST_TEST(s.answers() == "??");
    BOOST_TEST(s.run(true) == fault::none);
    BOOST_TEST(s.answers() == "yy");
    BOOST_TEST(s.many.answer(0)->result.token.value() == 5);
    BOOST_TEST(s.many.answer(1)->result.token.value() == 11);
    s.check_told();
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
    for (const int statements : {0, 1, 2}) {
        std::vector<std::string> names;
        for (int i = 100; i < 160; ++i) names.push_back(std::to_string(i));
        scene s{names, names.size()};
        s.table.one_statement = statements > 0;
        s.table.free_statement = statements > 1;
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

BOOST_AUTO_TEST_CASE(answers_before_a_failure_stay_in_the_next_try)
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
