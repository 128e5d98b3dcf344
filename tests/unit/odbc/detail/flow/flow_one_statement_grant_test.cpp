// SPDX-License-Identifier: BSL-1.0
// Which statement comes next: grants on a database that grants in one statement and answers as written.
#include <unit/odbc/detail/flow/grant_flow_checks.hpp>

#include <leasehold/odbc/detail/flow/flow.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

BOOST_AUTO_TEST_SUITE(flow_one_statement_grant_test)

using namespace leasehold_test;
using namespace leasehold_test::grant_flows;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(grant_in_one_statement_is_one_statement)
{
    grant_answer answer;
    scripted_database free{shows_grant(true, 7, 0, true)};
    free.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(free, 0)) == fault::none);
    check_granted(answer, 7, true);
    BOOST_TEST((free.asked == statements{statement::grant}));

    scripted_database ours{shows_grant(true, 7, 0, false)};
    ours.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(ours, 0)) == fault::none);
    check_granted(answer, 7, false);

    scripted_database busy{shows_grant(false, 8, 1500, false)};
    busy.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(busy, 0)) == fault::none);
    check_busy(answer, 8, 1500us);
}

BOOST_AUTO_TEST_CASE(grant_in_one_statement_first_tries_the_term_it_remembers)
{
    grant_answer answer;
    scripted_database still{changes(1)};
    still.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(still, 6)) == fault::none);
    check_granted(answer, 7, true);
    BOOST_TEST((still.asked == statements{statement::take}));
    BOOST_TEST(still.tokens.front() == 6);

    scripted_database gone{changes(0), shows_grant(false, 8, 1500, false)};
    gone.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(gone, 6)) == fault::none);
    check_busy(answer, 8, 1500us);
    BOOST_TEST((gone.asked == statements{statement::take, statement::grant}));

    scripted_database fenced{fails(fault::lock_timeout), shows_row(6, another, over, -900), changes(0)};
    fenced.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(fenced, 6)) == fault::none);
    check_busy(answer, 0, 0us);
    BOOST_TEST((fenced.asked == statements{statement::take, statement::read, statement::write_nothing}));

    scripted_database locked{fails(fault::lock_timeout), shows_row(6, another, over, -900), fails(fault::lock_timeout)};
    locked.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(locked, 6)) == fault::lock_timeout);

    scripted_database purged{fails(fault::lock_timeout), no_row_after(shows_row(6, another, live, 900))};
    purged.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(purged, 6)) == fault::lock_timeout);

    scripted_database unread{fails(fault::lock_timeout), fails(fault::connection_lost)};
    unread.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(unread, 6)) == fault::connection_lost);
    check_busy(answer, 0, 0us);

    scripted_database broken{fails(fault::connection_lost)};
    broken.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(broken, 6)) == fault::connection_lost);
    BOOST_TEST(broken.asked.size() == 1U);
}

BOOST_AUTO_TEST_CASE(grant_of_what_was_busy_the_last_time_looks_first)
{
    grant_answer answer;
    scripted_database still{shows_row(8, another, live, 1500)};
    still.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(still, od::busy_last_time)) == fault::none);
    check_busy(answer, 8, 1500us);
    BOOST_TEST((still.asked == statements{statement::read}));

    for (const reply& seen : {no_row(), no_row_after(shows_row(8, another, live, 100)), shows_row(8, another, over, -5),
                              shows_row(8, us, live, 100)}) {
        scripted_database changed{seen, shows_grant(true, 9, 0, true)};
        changed.one_statement = true;
        BOOST_TEST(came_to(answer, od::grant_flow(changed, od::busy_last_time)) == fault::none);
        check_granted(answer, 9, true);
        BOOST_TEST((changed.asked == statements{statement::read, statement::grant}));
    }

    scripted_database broken{fails(fault::connection_lost)};
    broken.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(broken, od::busy_last_time)) == fault::connection_lost);
    BOOST_TEST((broken.asked == statements{statement::read}));

    scripted_database by_steps{shows_row(8, another, live, 1500)};
    BOOST_TEST(came_to(answer, od::grant_flow(by_steps, od::busy_last_time)) == fault::none);
    check_busy(answer, 8, 1500us);
    BOOST_TEST((by_steps.asked == statements{statement::read}));
}

BOOST_AUTO_TEST_CASE(grant_in_one_statement_that_met_another_in_the_same_instant_reads_who_it_was)
{
    for (const reply& met : {no_row(), fails(fault::lock_timeout)}) {
        grant_answer answer;
        scripted_database db{met, shows_row(3, another, live, 900)};
        db.one_statement = true;
        BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::none);
        check_busy(answer, 3, 900us);
        BOOST_TEST((db.asked == (met.failed == fault::none ? statements{statement::grant, statement::read}
                                                           : statements{statement::grant, statement::read, statement::read})));
    }
}

// A trigger undoes what is written; or somebody was granted it and released it in the same instant.
BOOST_AUTO_TEST_CASE(grant_in_one_statement_that_was_granted_nothing_though_nobody_holds_is_a_conflict)
{
    for (const reply& left : {no_row(), shows_row(3, another, over, -5)}) {
        grant_answer answer;
        scripted_database db{no_row(), left};
        db.one_statement = true;
        BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::conflict);
    }
}

BOOST_AUTO_TEST_CASE(grant_in_one_statement_that_found_its_own_row_locked_is_tried_once_more)
{
    grant_answer answer;
    scripted_database db{fails(fault::lock_timeout), shows_row(3, us, live, 900), shows_grant(true, 4, 0, false)};
    db.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::none);
    check_granted(answer, 4, false);
    BOOST_TEST((db.asked == statements{statement::grant, statement::read, statement::grant}));

    scripted_database fenced{fails(fault::lock_timeout), shows_row(3, us, live, 900), fails(fault::lock_timeout),
                             shows_row(3, us, live, 900)};
    fenced.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(fenced, 0)) == fault::lock_timeout);
    check_busy(answer, 0, 0us);
    BOOST_TEST((fenced.asked == statements{statement::grant, statement::read, statement::grant, statement::read}));

    scripted_database ended{fails(fault::lock_timeout), shows_row(3, us, over, -5), shows_row(3, us, over, -5), changes(0)};
    ended.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(ended, 0)) == fault::none);
    check_busy(answer, 0, 0us);
    BOOST_TEST((ended.asked == statements{statement::grant, statement::read, statement::read, statement::write_nothing}));

    const reply none_left = no_row_after(shows_row(3, us, live, 900));
    scripted_database gone{fails(fault::lock_timeout), none_left, none_left};
    gone.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(gone, 0)) == fault::lock_timeout);

    scripted_database unread{fails(fault::lock_timeout), fails(fault::connection_lost)};
    unread.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(unread, 0)) == fault::connection_lost);
    BOOST_TEST((unread.asked == statements{statement::grant, statement::read}));
}

// Busy with its own term, it would be told that another holds what it holds itself.
BOOST_AUTO_TEST_CASE(grant_in_one_statement_is_never_busy_with_a_term_of_the_asking_owner)
{
    grant_answer answer;
    scripted_database remembered{fails(fault::lock_timeout), shows_row(32, us, live, 900)};
    remembered.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(remembered, 32)) == fault::lock_timeout);
    check_busy(answer, 0, 0us);
    BOOST_TEST((remembered.asked == statements{statement::take, statement::read}));

    scripted_database granted_nothing{no_row(), shows_row(32, us, live, 900)};
    granted_nothing.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(granted_nothing, 0)) == fault::conflict);
    check_busy(answer, 0, 0us);
}

BOOST_AUTO_TEST_CASE(grant_in_one_statement_is_repeated_after_a_duplicate_key_and_not_for_ever)
{
    grant_answer answer;
    scripted_database db{fails(fault::duplicate_key), shows_grant(false, 1, 5, false)};
    db.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::none);
    check_busy(answer, 1, 5us);

    scripted_database never{fails(fault::duplicate_key)};
    never.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(never, 0)) == fault::duplicate_key);
    BOOST_TEST(never.asked.size() == static_cast<std::size_t>(od::max_looks));

    // Also where the owner's own row was locked for too long before.
    scripted_database locked{fails(fault::lock_timeout), shows_row(3, us, live, 900), fails(fault::duplicate_key),
                             shows_grant(true, 4, 0, false)};
    locked.one_statement = true;
    BOOST_TEST(came_to(answer, od::grant_flow(locked, 0)) == fault::none);
    check_granted(answer, 4, false);
}

BOOST_AUTO_TEST_SUITE_END()
