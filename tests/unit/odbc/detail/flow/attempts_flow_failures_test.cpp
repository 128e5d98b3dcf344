// SPDX-License-Identifier: BSL-1.0
// Many attempts at once: exactly which statements they take, and that a statement that failed counts for nothing.
#include <unit/odbc/detail/flow/attempts_flow_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(attempts_flow_failures_test)

using namespace leasehold_test::attempts_flows;

namespace {

void check_asked(const scene& s, const asked& wanted) { BOOST_TEST(s.table.asked == wanted, boost::test_tools::per_element()); }
void check_listed(const scene& s, const asked& wanted) { BOOST_TEST(s.table.listed == wanted, boost::test_tools::per_element()); }

void check_busy(const scene& s, item_number i, std::int64_t token, lh::duration remaining)
{
    const auto& said = s.many.answer(i);
    BOOST_REQUIRE(said.has_value());
    BOOST_TEST(!said->result.granted());
    BOOST_TEST(!said->fresh);
    BOOST_TEST(said->result.token.value() == token);
    BOOST_TEST((said->result.remaining == remaining));
}

std::vector<std::string> numbers(int first, int last)
{
    std::vector<std::string> names;
    for (int i = first; i < last; ++i) names.push_back(std::to_string(i));
    return names;
}

}  // namespace

BOOST_AUTO_TEST_CASE(held_names_are_busy_and_nothing_is_written)
{
    scene s{{"a", "b"}, 2};
    s.table.rows_of = {{"a", {"x", 3, true}}, {"b", {"x", 9, true}}};
    BOOST_TEST(s.run() == fault::none);
    check_asked(s, {"read 2"});
    check_busy(s, 0, 3, 1s);
    check_busy(s, 1, 9, 1s);
}

BOOST_AUTO_TEST_CASE(released_term_of_the_asking_owner_is_free_like_any_other)
{
    scene s{{"a", "b"}, 2};
    s.table.rows_of = {{"a", {"me", 3, false}}, {"b", {"x", 9, false}}};
    BOOST_TEST(s.run() == fault::none);
    check_asked(s, {"read 2", "take 2"});
    scene repeated{{"a", "b"}, 1};
    repeated.table.one_statement = true;
    repeated.table.rows_of = {{"b", {"me", 3, false}}};
    BOOST_TEST(repeated.run(true) == fault::none);
    BOOST_TEST(repeated.answers() == "yn");
    check_asked(repeated, {"read 2", "grant 2"});
}

BOOST_AUTO_TEST_CASE(own_term_is_attempted_by_itself_and_once)
{
    for (const bool repeated : {false, true})
        for (const std::string own : {"a", "b"}) {
            scene s{{"a", "b"}, 2};
            s.table.grant(own, "me");
            BOOST_TEST(s.run(repeated) == fault::none);
            BOOST_TEST(s.answers() == "yy");
            check_asked(s, {"read 2", "single " + own, "floor", "insert 1"});
            s.check_told();
        }
}

BOOST_AUTO_TEST_CASE(after_the_own_terms_of_a_lost_reply_come_the_others)
{
    scene s{{"a", "b", "c"}, 3};
    s.table.one_statement = true;
    s.table.rows_of = {{"a", {"x", 3, true}}};
    s.table.grant("b", "me");
    BOOST_TEST(s.run(true) == fault::none);
    BOOST_TEST(s.answers() == "nyy");
    check_asked(s, {"read 3", "single b", "grant 2"});
    s.check_told();
}

BOOST_AUTO_TEST_CASE(no_more_than_wanted_come_out_of_a_lost_reply)
{
    for (const bool one_statement : {false, true}) {
        scene s{{"a", "b", "c", "d"}, 2};
        s.table.one_statement = one_statement;
        s.table.rows_of = {{"a", {"x", 3, true}}, {"b", {"x", 5, false}}, {"c", {"x", 6, false}}, {"d", {"x", 7, false}}};
        s.table.after[one_statement ? 1 : 2] = fault::connection_lost;
        BOOST_TEST(s.run() == fault::connection_lost);
        BOOST_TEST(s.table.rows_of["b"].owner == "me");
        s.table.rows_of["a"].live = false;  // in the meantime
        s.table.asked.clear();
        s.table.after.clear();
        BOOST_TEST(s.run(true) == fault::none);
        BOOST_TEST(s.answers() == "nyyn");
        check_asked(s, one_statement ? asked{"read 4", "single b", "single c"} : asked{"read 3", "single b", "single c"});
        BOOST_TEST(!s.table.rows_of["a"].live);
        BOOST_TEST(!s.table.rows_of["d"].live);
        s.check_told();
    }
}

BOOST_AUTO_TEST_CASE(more_own_terms_than_wanted_are_left_as_they_are)
{
    scene s{{"a", "b", "c"}, 1};
    s.table.rows_of = {{"c", {"x", 4, false}}};
    s.table.grant("a", "me");
    s.table.grant("b", "me");
    BOOST_TEST(s.run(true) == fault::none);
    BOOST_TEST(s.answers() == "ynn");
    check_asked(s, {"read 3", "single a"});
    BOOST_TEST(!s.table.rows_of["c"].live);
}

BOOST_AUTO_TEST_CASE(held_name_behind_the_last_chosen_may_be_free_by_the_next_look)
{
    scene s{{"a", "b"}, 1};
    s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, true}}};
    s.table.before[2] = [&] {
        s.table.grant("a", "another");
        s.table.rows_of["b"].live = false;
        return fault::none;
    };
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "ny");
    check_asked(s, {"read 2", "take 1", "read 2", "take 1"});
}

BOOST_AUTO_TEST_CASE(nothing_is_asked_when_there_are_enough_or_all_have_answers)
{
    for (const std::size_t most : {1U, 2U, 5U}) {
        scene s{{"a", "b"}, most};
        s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, false}}};
        BOOST_TEST(s.run() == fault::none);
        BOOST_TEST(s.answers() == (most == 1 ? "yn" : "yy"));
        check_asked(s, {"read 2", most == 1 ? "take 1" : "take 2"});
    }
    scene alone{{"a", "b"}, 1};
    alone.table.together = 0;
    BOOST_TEST(alone.run() == fault::none);
    BOOST_TEST(alone.answers() == "yn");
    check_asked(alone, {"single a"});
    scene one_by_one{{"a", "b"}, 1};
    one_by_one.table.before[1] = [] { return fault::failure; };
    BOOST_TEST(one_by_one.run() == fault::none);
    BOOST_TEST(one_by_one.answers() == "yn");
    check_asked(one_by_one, {"read 2", "single a"});
}

BOOST_AUTO_TEST_CASE(row_that_was_purged_since_the_last_look_is_a_new_name)
{
    scene s{{"a", "b"}, 2};
    s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, false}}};
    s.table.before[2] = [&] { return s.table.rows_of.erase("a"), fault::none; };
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "yy");
    check_asked(s, {"read 2", "take 2", "read 2", "single b", "floor", "insert 1"});
    s.check_told();
}

BOOST_AUTO_TEST_CASE(rows_are_written_in_the_order_of_their_names)
{
    scene taken{{"c", "a", "b"}, 3};
    taken.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, false}}, {"c", {"x", 4, false}}};
    BOOST_TEST(taken.run() == fault::none);
    check_listed(taken, {"read c a b", "take a b c"});
    scene inserted{{"c", "a", "b"}, 3};
    BOOST_TEST(inserted.run() == fault::none);
    check_listed(inserted, {"read c a b", "floor", "insert a b c"});
}

BOOST_AUTO_TEST_CASE(failed_write_counts_for_nothing_whatever_number_of_rows_is_there)
{
    for (const bool there : {false, true}) {
        scene s{{"a", "b"}, 2};
        if (there) s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, false}}};
        s.table.before[there ? 2 : 3] = [&] { return s.table.count = 2, fault::conflict; };
        BOOST_TEST(s.run() == fault::conflict);
        BOOST_TEST(s.answers() == "??");
        check_asked(s, there ? asked{"read 2", "take 2"} : asked{"read 2", "floor", "insert 2"});
    }
}

BOOST_AUTO_TEST_CASE(first_failure_ends_the_try)
{
    scene own{{"a", "b"}, 2};
    own.table.rows_of = {{"b", {"x", 9, false}}};
    own.table.grant("a", "me");
    own.single_fails = fault::conflict;
    BOOST_TEST(own.run() == fault::conflict);
    BOOST_TEST(own.answers() == "??");
    check_asked(own, {"read 2", "single a"});

    scene take{{"a", "b"}, 2};
    take.table.rows_of = {{"a", {"x", 9, false}}};
    take.table.before[2] = [] { return fault::conflict; };
    BOOST_TEST(take.run() == fault::conflict);
    BOOST_TEST(take.answers() == "??");
    check_asked(take, {"read 2", "take 1"});

    scene floor{{"a", "b"}, 2};
    floor.table.before[2] = [] { return fault::connection_lost; };
    BOOST_TEST(floor.run() == fault::connection_lost);
    BOOST_TEST(floor.answers() == "??");
    check_asked(floor, {"read 2", "floor"});

    scene unread{{"a", "b"}, 2};
    unread.table.one_statement = true;
    unread.table.before[1] = [] { return fault::connection_lost; };
    BOOST_TEST(unread.run(true) == fault::connection_lost);
    BOOST_TEST(unread.answers() == "??");
    check_asked(unread, {"read 2"});
}

BOOST_AUTO_TEST_CASE(part_that_others_keep_changing_goes_on_one_by_one)
{
    scene s{{"a", "b"}, 2};
    s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, false}}};
    asked wanted;
    for (int look = 0; look < max_looks_at_part; ++look) {
        wanted.emplace_back("read 2");
        wanted.emplace_back("take 2");
        s.table.before[wanted.size()] = [&] { return ++s.table.rows_of["a"].token, ++s.table.rows_of["b"].token, fault::none; };
    }
    wanted.emplace_back("single a");
    wanted.emplace_back("single b");
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "yy");
    check_asked(s, wanted);

    scene met{{"a", "b"}, 2};
    met.table.one_statement = true;
    asked again;
    for (int look = 0; look < max_looks_at_part; ++look) {
        again.emplace_back("grant 2");
        met.table.before[again.size()] = [] { return fault::duplicate_key; };
    }
    again.emplace_back("single a");
    again.emplace_back("single b");
    BOOST_TEST(met.run() == fault::none);
    BOOST_TEST(met.answers() == "yy");
    check_asked(met, again);
}

BOOST_AUTO_TEST_CASE(name_that_a_statement_left_without_an_answer_is_asked_for_again)
{
    scene s{{"a", "b"}, 2};
    s.table.one_statement = true;
    s.table.passed_over = {"b"};
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "yy");
    check_asked(s, {"grant 2", "grant 1"});
}

BOOST_AUTO_TEST_CASE(parts_hold_each_name_once_and_the_last_what_is_left)
{
    scene three{{"a", "b", "c"}, 3};
    three.table.together = 2;
    three.table.one_statement = true;
    BOOST_TEST(three.run() == fault::none);
    BOOST_TEST(three.answers() == "yyy");
    check_asked(three, {"grant 2", "single c"});
    scene five{{"a", "b", "c", "d", "e"}, 5};
    five.table.together = 3;
    five.table.one_statement = true;
    BOOST_TEST(five.run() == fault::none);
    BOOST_TEST(five.answers() == "yyyyy");
    check_listed(five, {"grant a b c", "grant d e"});
}

BOOST_AUTO_TEST_CASE(busy_names_use_up_nothing_of_what_is_wanted)
{
    for (const bool one_statement : {false, true}) {
        scene s{{"a", "b", "c", "d"}, 2};
        s.table.together = 2;
        s.table.one_statement = one_statement;
        s.table.rows_of = {{"a", {"x", 3, true}}, {"b", {"x", 9, true}}};
        BOOST_TEST(s.run() == fault::none);
        BOOST_TEST(s.answers() == "nnyy");
    }
}

BOOST_AUTO_TEST_CASE(more_grants_than_were_wanted_leave_none_to_be_had)
{
    attempts many{3, 1};
    for (const char* name : {"a", "b", "c"}) many.add(name, "me");
    many.set_answer(0, granted(1, true));
    many.set_answer(1, granted(1, true));
    BOOST_TEST(many.left() == 0U);
}

BOOST_AUTO_TEST_CASE(part_after_there_are_enough_is_not_even_read)
{
    scene s{{"a", "b", "c", "d"}, 2};
    s.table.together = 2;
    s.table.one_statement = true;
    s.table.grant("a", "me");
    s.table.grant("b", "me");
    BOOST_TEST(s.run(true) == fault::none);
    BOOST_TEST(s.answers() == "yynn");
    check_asked(s, {"read 2", "single a", "single b"});
}

BOOST_AUTO_TEST_CASE(database_that_gave_up_such_statements_gets_no_more_of_them)
{
    scene s{{"a", "b", "c", "d"}, 4};
    s.table.together = 2;
    s.table.before[1] = [] { return fault::failure; };
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "yyyy");
    BOOST_TEST(s.table.given_up == 1);
    check_asked(s, {"read 2", "single a", "single b", "single c", "single d"});
}

BOOST_AUTO_TEST_CASE(failure_of_a_single_attempt_is_the_answer)
{
    for (const fault why : {fault::failure, fault::lock_timeout}) {
        scene s{{"a", "b"}, 2};
        s.table.together = 0;
        s.single_fails = why;
        BOOST_TEST(s.run() == why);
        BOOST_TEST(s.table.given_up == 0);
        check_asked(s, {"single a"});
    }
}

BOOST_AUTO_TEST_CASE(locked_row_is_found_in_sixteen_parts_and_waited_for_last)
{
    scene s{numbers(100, 132), 32};
    s.table.one_statement = true;
    s.table.locked = {"120"};
    asked wanted(17, "grant 2");
    wanted.front() = "grant 32";
    wanted.insert(wanted.begin() + 1, "write nothing");
    wanted.insert(wanted.begin() + 13, {"grant 1", "grant 1"});
    wanted.emplace_back("single 120");
    BOOST_TEST(s.run() == fault::none);
    check_asked(s, wanted);
    std::string answers(32, 'y');
    answers[20] = 'n';
    BOOST_TEST(s.answers() == answers);
}

BOOST_AUTO_TEST_CASE(locked_rows_are_waited_for_while_there_is_time_and_busy_as_read_afterwards)
{
    for (const bool one_statement : {false, true}) {
        scene s{{"a", "b", "c", "d"}, 4};
        s.table.one_statement = one_statement;
        for (const char* const name : {"a", "b", "c", "d"}) s.table.rows_of[name] = {"x", 4, false};
        s.table.locked = {"a", "b", "d"};
        s.table.full_waits = 1;
        BOOST_TEST(s.run() == fault::none);
        BOOST_TEST(s.answers() == "nnyn");
        asked wanted{"grant 4", "write nothing", "grant 1", "grant 1", "grant 1", "grant 1", "single a", "read 2"};
        if (!one_statement)
            wanted = {"read 4", "take 4", "write nothing", "read 1", "take 1", "read 1", "take 1",
                      "read 1", "take 1", "read 1",        "take 1", "single a", "read 2"};
        check_asked(s, wanted);
        check_busy(s, 3, 0, 0s);
        s.check_told();
    }
}

BOOST_AUTO_TEST_CASE(locked_name_without_a_row_is_a_failure_when_the_others_have_their_answers)
{
    scene s{{"a", "b", "c"}, 3};
    s.table.one_statement = true;
    s.table.rows_of = {{"b", {"x", 4, false}}};
    s.table.locked = {"a", "b"};
    s.table.full_waits = 0;
    BOOST_TEST(s.run() == fault::lock_timeout);
    BOOST_TEST(s.answers() == "?ny");

    scene waited{{"a", "b", "c"}, 3};
    waited.table.one_statement = true;
    waited.table.locked = {"a", "b"};
    waited.single_fails = fault::lock_timeout;
    BOOST_TEST(waited.run() == fault::lock_timeout);
    BOOST_TEST(waited.answers() == "??y");
    check_asked(waited, {"grant 3", "write nothing", "grant 1", "grant 1", "grant 1", "single a", "single b"});

    scene lost{{"a", "b", "c"}, 3};
    lost.table.one_statement = true;
    lost.table.locked = {"a", "b"};
    lost.single_fails = fault::connection_lost;
    BOOST_TEST(lost.run() == fault::connection_lost);
    check_asked(lost, {"grant 3", "write nothing", "grant 1", "grant 1", "grant 1", "single a"});
}

BOOST_AUTO_TEST_CASE(one_alone_is_waited_for_only_if_there_is_time)
{
    for (const std::size_t full_waits : {0U, 1U}) {
        scene s{{"a"}, 1};
        s.table.one_statement = true;
        s.table.rows_of = {{"a", {"x", 4, false}}};
        s.table.locked = {"a"};
        s.table.full_waits = full_waits;
        BOOST_TEST(s.run() == fault::none);
        BOOST_TEST(s.answers() == "n");
        check_asked(s, full_waits > 0 ? asked{"single a"} : asked{"grant 1", "write nothing", "read 1"});
    }
}

BOOST_AUTO_TEST_CASE(locked_row_is_not_waited_for_when_there_are_enough)
{
    scene s{{"a", "b", "c"}, 2};
    s.table.one_statement = true;
    s.table.locked = {"a"};
    BOOST_TEST(s.run() == fault::none);
    BOOST_TEST(s.answers() == "nyy");
    check_asked(s, {"grant 3", "write nothing", "grant 1", "grant 1", "grant 1"});
}

BOOST_AUTO_TEST_CASE(no_more_is_tried_when_the_table_is_locked_or_the_time_is_up)
{
    scene whole{{"a", "b", "c"}, 3};
    whole.table.one_statement = true;
    whole.table.table_is_locked = true;
    BOOST_TEST(whole.run() == fault::lock_timeout);
    BOOST_TEST(whole.answers() == "???");
    check_asked(whole, {"grant 3", "write nothing"});

    scene late{{"a", "b", "c"}, 3};
    late.table.one_statement = true;
    late.table.locked = {"b"};
    late.table.brief_waits = 2;
    BOOST_TEST(late.run() == fault::lock_timeout);
    BOOST_TEST(late.answers() == "y??");
    check_asked(late, {"grant 3", "write nothing", "grant 1", "grant 1"});
}

BOOST_AUTO_TEST_CASE(where_nobody_can_write_a_look_in_parts_tells_who_holds)
{
    const auto look = [](scene& s, std::size_t together) {
        s.table.together = together;
        return attempted_busy_as_read(s.table, s.many);
    };
    const std::pair<std::size_t, asked> parts[]{
        {0, {"read 1", "read 1", "read 1"}}, {2, {"read 2", "read 1"}}, {3, {"read 3"}}, {100, {"read 3"}}};
    for (const auto& [together, wanted] : parts) {
        scene s{{"a", "b", "c"}, 3};
        s.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, true}}, {"c", {"me", 4, false}}};
        BOOST_TEST(look(s, together));
        check_asked(s, wanted);
        check_busy(s, 0, 0, 0s);
        check_busy(s, 1, 9, 1s);
        check_busy(s, 2, 0, 0s);
    }
    scene unread{{"a", "b"}, 2};
    unread.table.rows_of = {{"a", {"x", 3, false}}, {"b", {"x", 9, true}}};
    unread.table.after[1] = fault::connection_lost;  // after the rows were read
    BOOST_TEST(!look(unread, 100));
    BOOST_TEST(unread.answers() == "??");
}

BOOST_AUTO_TEST_SUITE_END()
