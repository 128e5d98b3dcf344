// SPDX-License-Identifier: BSL-1.0
// Grants and releases that take a session lock along: the row decides, and no lock is left that nobody knows of.
#include <support/printing.hpp>
#include <unit/odbc/detail/scripted_database.hpp>

#include <leasehold/odbc/detail/lock_flow.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

BOOST_AUTO_TEST_SUITE(lock_flow_test)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;
using od::fault;
using od::grant_answer;
using od::statement;
using statements = std::vector<statement>;

namespace {

constexpr std::int64_t us = od::owner_is_us;
constexpr std::int64_t another = 0;
constexpr bool live = true;
constexpr bool over = false;
constexpr bool with_lock = true;

// A flow's outcome, as its caller sees it.
struct outcome {
    fault failed = fault::none;
    grant_answer answer{};
    bool locked = false;
};

outcome locking_grant(scripted_database& db, std::int64_t hint = 0)
{
    outcome result;
    result.failed = od::locking_grant_flow(db, hint, result.answer, result.locked);
    return result;
}

outcome grant_in_line(scripted_database& db, std::int64_t hint = 0)
{
    outcome result;
    result.failed = od::grant_in_line_flow(db, hint, result.answer, result.locked);
    return result;
}

scripted_database in_one(std::initializer_list<reply> replies)
{
    scripted_database db{replies};
    db.one_statement = true;
    return db;
}

}  // namespace

BOOST_AUTO_TEST_CASE(grant_in_one_statement_tells_whether_it_got_the_lock)
{
    for (const bool got : {false, true}) {
        auto db = in_one({shows_grant(true, 3, 0, true, got)});
        const outcome result = locking_grant(db);
        BOOST_TEST(result.answer.result.granted());
        BOOST_TEST(result.answer.fresh);
        BOOST_TEST(result.locked == got);
        BOOST_TEST((db.asked == statements{statement::locking_grant}));
    }
    auto busy = in_one({shows_grant(false, 3, 700, false)});
    const outcome result = locking_grant(busy);
    BOOST_TEST(!result.answer.result.granted());
    BOOST_TEST(result.answer.result.remaining == 700us);
    BOOST_TEST(!result.answer.out_of_turn);
    BOOST_TEST(!result.locked);
}

BOOST_AUTO_TEST_CASE(grant_in_one_statement_first_tries_the_term_it_remembers)
{
    for (const bool got : {false, true}) {
        auto still = in_one({shows({{od::column::locked, got}})});
        const outcome result = locking_grant(still, 6);
        BOOST_TEST(result.answer.result.granted());
        BOOST_TEST(result.answer.result.token == lh::fencing_token{7});
        BOOST_TEST(result.answer.fresh);
        BOOST_TEST(result.locked == got);
        BOOST_TEST((still.asked == statements{statement::locking_retake}));
    }
    auto gone = in_one({no_row(), shows_grant(false, 8, 700, false)});
    const outcome busy = locking_grant(gone, 6);
    BOOST_TEST(!busy.answer.result.granted());
    BOOST_TEST(!busy.locked);
    BOOST_TEST((gone.asked == statements{statement::locking_retake, statement::locking_grant}));

    auto fenced = in_one({fails(fault::lock_timeout), shows_row(6, another, over, -10)});
    const outcome waited = locking_grant(fenced, 6);
    BOOST_TEST(waited.failed == fault::none);
    BOOST_TEST(!waited.answer.result.granted());
    BOOST_TEST(waited.locked);
    auto broken = in_one({fails(fault::connection_lost)});
    BOOST_TEST(locking_grant(broken, 6).failed == fault::connection_lost);
    BOOST_TEST(broken.asked.size() == 1U);
}

BOOST_AUTO_TEST_CASE(grant_of_what_was_busy_the_last_time_looks_first_and_leaves_the_lock)
{
    auto still = in_one({shows_row(8, another, live, 700)});
    const outcome busy = locking_grant(still, od::busy_last_time);
    BOOST_TEST(!busy.answer.result.granted());
    BOOST_TEST(busy.answer.result.remaining == 700us);
    BOOST_TEST(!busy.locked);
    BOOST_TEST((still.asked == statements{statement::read}));

    auto free = in_one({shows_row(8, another, over, -5), shows_grant(true, 9, 0, true, true)});
    const outcome granted = locking_grant(free, od::busy_last_time);
    BOOST_TEST(granted.answer.result.granted());
    BOOST_TEST(granted.locked);
    BOOST_TEST((free.asked == statements{statement::read, statement::locking_grant}));
}

BOOST_AUTO_TEST_CASE(lock_that_may_have_been_got_is_said_to_be_got)
{
    auto waited = in_one({fails(fault::lock_timeout), shows_row(3, another, live, 10)});
    const outcome busy = locking_grant(waited);
    BOOST_TEST(busy.failed == fault::none);
    BOOST_TEST(!busy.answer.result.granted());
    BOOST_TEST(busy.locked);

    auto failing = in_one({fails(fault::conflict)});
    BOOST_TEST(locking_grant(failing).locked);
    scripted_database by_steps{no_row(), fails(fault::conflict)};
    const outcome failed = locking_grant(by_steps);
    BOOST_TEST(failed.failed == fault::conflict);
    BOOST_TEST(failed.locked);
    scripted_database first_read{fails(fault::failure)};
    BOOST_TEST(grant_in_line(first_read).locked);
}

BOOST_AUTO_TEST_CASE(grant_in_one_statement_is_repeated_after_a_duplicate_key_and_not_for_ever)
{
    auto db = in_one({fails(fault::duplicate_key), shows_grant(true, 1, 0, true, true)});
    BOOST_TEST(locking_grant(db).answer.result.granted());
    BOOST_TEST(db.asked.size() == 2U);
    auto never = in_one({fails(fault::duplicate_key)});
    BOOST_TEST(locking_grant(never).failed == fault::duplicate_key);
    BOOST_TEST(never.asked.size() == static_cast<std::size_t>(od::max_looks));
}

BOOST_AUTO_TEST_CASE(grant_by_steps_takes_the_lock_with_a_new_term_and_with_nothing_else)
{
    scripted_database taken{shows_row(8, another, over, -1), changes(1)};
    outcome result = locking_grant(taken);
    BOOST_TEST(result.answer.result.token == lh::fencing_token{9});
    BOOST_TEST(result.locked);
    BOOST_TEST((taken.asked == statements{statement::read, statement::locking_take}));

    scripted_database inserted{no_row(), changes(1)};
    result = locking_grant(inserted);
    BOOST_TEST(result.locked);
    BOOST_TEST((inserted.asked == statements{statement::read, statement::locking_insert}));

    scripted_database hinted{changes(1)};
    result = locking_grant(hinted, 8);
    BOOST_TEST(result.locked);
    BOOST_TEST((hinted.asked == statements{statement::locking_take}));

    scripted_database ours{shows_row(8, us, live, 10), changes(1)};
    result = locking_grant(ours);
    BOOST_TEST(result.answer.result.granted());
    BOOST_TEST(!result.answer.fresh);
    BOOST_TEST(result.locked);
    BOOST_TEST((ours.asked == statements{statement::read, statement::locking_take}));

    scripted_database busy{shows_row(8, another, live, 10)};
    BOOST_TEST(!locking_grant(busy).locked);
}

BOOST_AUTO_TEST_CASE(grant_in_line_leaves_a_free_name_to_who_has_the_lock)
{
    auto in_one_statement = in_one({shows_grant(false, 8, -20, false, false)});
    outcome result = grant_in_line(in_one_statement);
    BOOST_TEST(!result.answer.result.granted());
    BOOST_TEST(result.answer.out_of_turn);
    BOOST_TEST(result.answer.result.remaining == -20us);
    BOOST_TEST((in_one_statement.asked == statements{statement::queued_grant}));

    scripted_database by_steps{shows_row(8, another, over, -20, false, !with_lock)};
    result = grant_in_line(by_steps);
    BOOST_TEST(!result.answer.result.granted());
    BOOST_TEST(result.answer.out_of_turn);
    BOOST_TEST(result.answer.result.token == lh::fencing_token{8});
    BOOST_TEST(result.answer.result.remaining == -20us);
    BOOST_TEST(!result.locked);
    BOOST_TEST((by_steps.asked == statements{statement::queued_read}));
}

BOOST_AUTO_TEST_CASE(only_who_is_in_line_and_has_not_got_the_lock_is_out_of_turn)
{
    auto not_in_line = in_one({shows_grant(false, 8, 0, false, false)});
    BOOST_TEST(!locking_grant(not_in_line).answer.out_of_turn);
    auto with_the_lock = in_one({shows_grant(false, 8, 0, false, true)});
    BOOST_TEST(!grant_in_line(with_the_lock).answer.out_of_turn);
}

BOOST_AUTO_TEST_CASE(grant_in_line_takes_a_free_name_when_it_gets_the_lock)
{
    auto in_one_statement = in_one({shows_grant(true, 9, 0, true, true)});
    outcome result = grant_in_line(in_one_statement);
    BOOST_TEST(result.answer.result.granted());
    BOOST_TEST(result.locked);

    scripted_database by_steps{shows_row(8, another, over, -20, false, with_lock), changes(1)};
    result = grant_in_line(by_steps);
    BOOST_TEST(result.answer.result.token == lh::fencing_token{9});
    BOOST_TEST(result.locked);
    BOOST_TEST((by_steps.asked == statements{statement::queued_read, statement::take}));

    // Somebody out of turn was quicker: the lock is there all the same, and is to be given back.
    scripted_database too_late{shows_row(8, another, over, -20, false, with_lock), changes(0),
                               shows_row(9, another, live, 50)};
    result = grant_in_line(too_late);
    BOOST_TEST(!result.answer.result.granted());
    BOOST_TEST(!result.answer.out_of_turn);
    BOOST_TEST(result.answer.result.remaining == 50us);
    BOOST_TEST(result.locked);
}

BOOST_AUTO_TEST_CASE(grant_in_line_takes_a_name_as_it_was_left_without_reading_first)
{
    scripted_database still{changes(1)};
    outcome result = grant_in_line(still, 8);
    BOOST_TEST(result.answer.result.token == lh::fencing_token{9});
    BOOST_TEST(result.answer.fresh);
    BOOST_TEST(result.locked);
    BOOST_TEST((still.asked == statements{statement::queued_take}));
    BOOST_TEST(still.tokens.front() == 8);

    // Held, or in use since, or somebody has the lock.
    scripted_database gone{changes(0), shows_row(9, another, over, -20, false, !with_lock)};
    result = grant_in_line(gone, 8);
    BOOST_TEST(result.answer.out_of_turn);
    BOOST_TEST(!result.locked);
    BOOST_TEST((gone.asked == statements{statement::queued_take, statement::queued_read}));

    // A row that stays locked, by a fence: whether the lock was got is not known.
    scripted_database fenced{fails(fault::lock_timeout), shows_row(8, another, live, 50)};
    result = grant_in_line(fenced, 8);
    BOOST_TEST(result.failed == fault::none);
    BOOST_TEST(!result.answer.result.granted());
    BOOST_TEST(result.locked);
    BOOST_TEST((fenced.asked == statements{statement::queued_take, statement::read}));

    scripted_database broken{fails(fault::connection_lost)};
    result = grant_in_line(broken, 8);
    BOOST_TEST(result.failed == fault::connection_lost);
    BOOST_TEST(result.locked);

    scripted_database busy_before{shows_row(8, another, live, 50)};
    grant_in_line(busy_before, od::busy_last_time);
    BOOST_TEST((busy_before.asked == statements{statement::queued_read}));
}

BOOST_AUTO_TEST_CASE(grant_in_line_of_a_held_name_is_busy_and_gets_no_lock)
{
    auto in_one_statement = in_one({shows_grant(false, 8, 900, false, false)});
    outcome result = grant_in_line(in_one_statement);
    BOOST_TEST(!result.answer.out_of_turn);
    BOOST_TEST(result.answer.result.remaining == 900us);

    scripted_database by_steps{shows_row(8, another, live, 900)};
    result = grant_in_line(by_steps);
    BOOST_TEST(!result.answer.result.granted());
    BOOST_TEST(!result.answer.out_of_turn);
    BOOST_TEST(!result.locked);
    BOOST_TEST((by_steps.asked == statements{statement::queued_read}));
}

BOOST_AUTO_TEST_CASE(grant_in_line_of_our_own_term_takes_it_over_without_the_lock)
{
    scripted_database db{shows_row(8, us, live, 10), changes(1)};
    const outcome result = grant_in_line(db);
    BOOST_TEST(result.answer.result.granted());
    BOOST_TEST(!result.answer.fresh);
    BOOST_TEST(!result.locked);
    BOOST_TEST((db.asked == statements{statement::queued_read, statement::take}));
}

BOOST_AUTO_TEST_CASE(grant_in_line_of_a_new_name_is_a_grant_like_any_other)
{
    scripted_database db{no_row(), no_row(), changes(1)};
    const outcome result = grant_in_line(db);
    BOOST_TEST(result.answer.result.granted());
    BOOST_TEST(result.locked);
    BOOST_TEST((db.asked == statements{statement::queued_read, statement::read, statement::locking_insert}));
}

BOOST_AUTO_TEST_CASE(who_was_handed_the_lock_takes_the_term_it_was_handed_without_reading_first)
{
    grant_answer answer;
    scripted_database by_steps{changes(1)};
    BOOST_TEST(od::grant_when_handed_flow(by_steps, 8, answer) == fault::none);
    BOOST_TEST(answer.result.token == lh::fencing_token{9});
    BOOST_TEST((by_steps.asked == statements{statement::take}));
    BOOST_TEST(by_steps.tokens.back() == 8);

    // It was not a release that passed the lock on, and the term goes on.
    scripted_database still_held{changes(0), shows_row(8, another, live, 400)};
    BOOST_TEST(od::grant_when_handed_flow(still_held, 8, answer) == fault::none);
    BOOST_TEST(!answer.result.granted());
    BOOST_TEST(answer.result.remaining == 400us);

    auto in_one_statement = in_one({shows_grant(true, 9, 0, true)});
    BOOST_TEST(od::grant_when_handed_flow(in_one_statement, 8, answer) == fault::none);
    BOOST_TEST((in_one_statement.asked == statements{statement::held_grant}));
}

BOOST_AUTO_TEST_CASE(release_gives_the_lock_back_in_the_same_statement)
{
    for (const bool keep_closed : {false, true}) {
        bool released = false;
        scripted_database db{changes(1)};
        BOOST_TEST(od::unlocking_release_flow(db, 5, keep_closed, released) == fault::none);
        BOOST_TEST(released);
        BOOST_TEST((db.asked == statements{keep_closed ? statement::unlocking_close : statement::unlocking_release}));
        BOOST_TEST(db.tokens.back() == 5);
    }
}

BOOST_AUTO_TEST_CASE(release_of_a_lost_term_gives_the_lock_back_all_the_same)
{
    bool released = true;
    scripted_database db{changes(0), no_row()};
    BOOST_TEST(od::unlocking_release_flow(db, 5, false, released) == fault::none);
    BOOST_TEST(!released);
    BOOST_TEST((db.asked == statements{statement::unlocking_release, statement::unlock}));

    scripted_database stuck{changes(0), fails(fault::connection_lost)};
    BOOST_TEST(od::unlocking_release_flow(stuck, 5, false, released) == fault::connection_lost);
}

BOOST_AUTO_TEST_CASE(first_grant_that_meets_anothers_gives_back_the_lock_it_may_have_got)
{
    scripted_database db{no_row(), fails(fault::duplicate_key), changes(0), shows_row(1, another, live, 5)};
    const outcome met = locking_grant(db);
    BOOST_TEST(met.failed == fault::none);
    BOOST_TEST(!met.answer.result.granted());
    BOOST_TEST(!met.locked);
    BOOST_TEST((db.asked == statements{statement::read, statement::locking_insert, statement::unlock, statement::read}));

    scripted_database waited{no_row(), fails(fault::lock_timeout), changes(0), shows_row(1, another, live, 5)};
    BOOST_TEST(locking_grant(waited).failed == fault::none);
    BOOST_TEST((waited.asked == statements{statement::read, statement::locking_insert, statement::unlock, statement::read}));

    scripted_database purged{no_row(), shows({{od::column::token, 30}}), changes(0), changes(7), shows_row(31, another, live, 5)};
    purged.has_floor = true;
    BOOST_TEST(!locking_grant(purged).answer.result.granted());
    BOOST_TEST((purged.asked == statements{statement::read, statement::floor, statement::locking_insert, statement::unlock,
                                           statement::read}));
}

BOOST_AUTO_TEST_SUITE_END()
