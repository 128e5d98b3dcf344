// SPDX-License-Identifier: BSL-1.0
// Which statement comes next in a step of a purge, on a database that answers as written.
#include <unit/odbc/detail/flow/scripted_database.hpp>

#include <leasehold/odbc/detail/flow/operator_flows.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(operator_flows_purge_test)

using namespace leasehold_test;
using namespace leasehold_test::flows;
using od::purge_step;

namespace {

constexpr auto all = static_cast<std::int64_t>(leasehold::dialect::purge_sql::rows_per_step);

reply shows_floor(std::int64_t token) { return shows({{od::column::token, token}}); }

}  // namespace

BOOST_AUTO_TEST_CASE(step_that_finds_nothing_unused_is_one_look)
{
    purge_step step{7, "old"};
    scripted_database none{shows_step(0, 0, "")};
    BOOST_TEST(came_to(step, od::purge_flow(none)) == fault::none);
    BOOST_TEST(step.removed == 0);
    BOOST_TEST(step.last == "");
    BOOST_TEST((none.asked == statements{statement::look}));

    scripted_database used{shows_step(all, 0, "m")};
    BOOST_TEST(came_to(step, od::purge_flow(used)) == fault::none);
    BOOST_TEST(step.last == "m");
    BOOST_TEST((used.asked == statements{statement::look}));

    scripted_database nothing{no_row()};
    BOOST_TEST(came_to(step, od::purge_flow(nothing)) == fault::none);
    BOOST_TEST(step.last == "");

    scripted_database stale{no_row_after(shows_step(all, 42, "m"))};
    BOOST_TEST(came_to(step, od::purge_flow(stale)) == fault::none);
    BOOST_TEST(step.last == "");
    BOOST_TEST((stale.asked == statements{statement::look}));
}

// As in a table that was taken over, where a new column of tokens has zeros.
BOOST_AUTO_TEST_CASE(rows_with_the_token_0_are_removed_too)
{
    purge_step step;
    scripted_database db{shows_step(1, 1, "m"), shows_floor(1), changes(1)};
    BOOST_TEST(came_to(step, od::purge_flow(db)) == fault::none);
    BOOST_TEST(step.removed == 1);
    BOOST_TEST((db.asked == statements{statement::look, statement::floor, statement::remove}));
}

BOOST_AUTO_TEST_CASE(floor_is_raised_before_anything_is_removed)
{
    purge_step step;
    scripted_database db{shows_step(all, 42, "m"), shows_floor(7), changes(1), changes(5)};
    BOOST_TEST(came_to(step, od::purge_flow(db)) == fault::none);
    BOOST_TEST(step.removed == 5);
    BOOST_TEST(step.last == "m");
    BOOST_TEST((db.asked == statements{statement::look, statement::floor, statement::raise_floor, statement::remove}));
    BOOST_TEST(db.tokens[2] == 42);
    BOOST_TEST(db.tokens[3] == 42);
    BOOST_TEST((db.uppers == std::vector<std::string>{"m"}));
}

BOOST_AUTO_TEST_CASE(floor_that_is_high_enough_stays_and_is_no_limit_to_what_goes)
{
    for (const std::int64_t floor : {42, 99}) {
        purge_step step;
        scripted_database db{shows_step(3, 42, "m"), shows_floor(floor), changes(2)};
        BOOST_TEST(came_to(step, od::purge_flow(db)) == fault::none);
        BOOST_TEST(step.removed == 2);
        BOOST_TEST((db.asked == statements{statement::look, statement::floor, statement::remove}));
        BOOST_TEST(db.tokens.back() == 42);
    }
}

BOOST_AUTO_TEST_CASE(last_step_is_the_one_with_fewer_rows)
{
    purge_step step;
    scripted_database db{shows_step(all - 1, 2, "m"), shows_floor(2), changes(1)};
    BOOST_TEST(came_to(step, od::purge_flow(db)) == fault::none);
    BOOST_TEST(step.last == "");
}

BOOST_AUTO_TEST_CASE(missing_floor_is_made_and_then_raised)
{
    for (const reply& made : {changes(1), fails(fault::duplicate_key)}) {
        purge_step step;
        scripted_database db{shows_step(1, 9, "m"), no_row(), made, shows_floor(1), changes(1), changes(1)};
        BOOST_TEST(came_to(step, od::purge_flow(db)) == fault::none);
        BOOST_TEST(step.removed == 1);
        BOOST_TEST((db.asked == statements{statement::look, statement::floor, statement::add_floor, statement::floor,
                                           statement::raise_floor, statement::remove}));
    }

    purge_step step;
    reply none = shows_floor(99);  // of an earlier row
    none.found = false;
    scripted_database db{shows_step(1, 9, "m"), none, changes(1), shows_floor(9), changes(1)};
    BOOST_TEST(came_to(step, od::purge_flow(db)) == fault::none);
    BOOST_TEST(
        (db.asked == statements{statement::look, statement::floor, statement::add_floor, statement::floor, statement::remove}));
}

BOOST_AUTO_TEST_CASE(floor_that_somebody_else_has_raised_is_read_again)
{
    purge_step step;
    scripted_database db{shows_step(1, 9, "m"), shows_floor(5), changes(0), shows_floor(12), changes(1)};
    BOOST_TEST(came_to(step, od::purge_flow(db)) == fault::none);
    BOOST_TEST((db.asked ==
                statements{statement::look, statement::floor, statement::raise_floor, statement::floor, statement::remove}));

    // A floor of 5 that no row is counted for, again and again.
    scripted_database never{shows_step(1, 9, "m"), shows_floor(5)};
    BOOST_TEST(came_to(step, od::purge_flow(never)) == fault::conflict);
    BOOST_TEST((never.asked.back() == statement::raise_floor));
    BOOST_TEST(never.asked.size() == static_cast<std::size_t>(1 + 2 * od::max_looks));
}

BOOST_AUTO_TEST_CASE(rows_that_somebody_has_locked_are_left_to_the_next_purge)
{
    purge_step step;
    scripted_database db{shows_step(all, 9, "m"), shows_floor(9), {.failed = fault::lock_timeout, .rows = 5}};
    BOOST_TEST(came_to(step, od::purge_flow(db)) == fault::none);
    BOOST_TEST(step.removed == 0);
    BOOST_TEST(step.last == "m");
}

BOOST_AUTO_TEST_CASE(failure_ends_the_step_and_nothing_is_removed_without_a_floor)
{
    const reply look = shows_step(all, 9, "m");
    const reply broken = fails(fault::connection_lost);
    for (const auto& replies : {std::vector{broken}, std::vector{look, broken}, std::vector{look, no_row(), broken},
                                std::vector{look, shows_floor(1), broken}, std::vector{look, shows_floor(9), broken}}) {
        purge_step step;
        scripted_database db{replies};
        BOOST_TEST(came_to(step, od::purge_flow(db)) == fault::connection_lost);
        BOOST_TEST(step.removed == 0);
        BOOST_TEST(step.last == "");
        BOOST_TEST(db.asked.size() == replies.size());
    }
    purge_step step;
    scripted_database locked{look, shows_floor(1), fails(fault::lock_timeout)};
    BOOST_TEST(came_to(step, od::purge_flow(locked)) == fault::lock_timeout);
    BOOST_TEST((locked.asked.back() == statement::raise_floor));
}

BOOST_AUTO_TEST_SUITE_END()
