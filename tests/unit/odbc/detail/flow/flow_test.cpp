// SPDX-License-Identifier: BSL-1.0
// Which statement comes next: grants by several statements, renewals and releases on a database that answers as written.
#include <unit/odbc/detail/flow/grant_flow_checks.hpp>

#include <leasehold/odbc/detail/flow/flow.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

BOOST_AUTO_TEST_SUITE(flow_test)

using namespace leasehold_test;
using namespace leasehold_test::grant_flows;
using namespace std::chrono_literals;
using tokens = std::vector<std::int64_t>;

BOOST_AUTO_TEST_CASE(grant_of_a_new_name_reads_and_inserts)
{
    grant_answer answer;
    scripted_database db{no_row(), changes(1)};
    BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::none);
    check_granted(answer, 1, true);
    BOOST_TEST((db.asked == statements{statement::read, statement::insert}));

    scripted_database purged{no_row_after(shows_row(8, another, live, 70)), changes(1)};
    BOOST_TEST(came_to(answer, od::grant_flow(purged, 0)) == fault::none);
    check_granted(answer, 1, true);
}

BOOST_AUTO_TEST_CASE(grant_of_a_new_name_that_fails_is_no_grant_and_not_repeated)
{
    grant_answer answer;
    scripted_database db{no_row(), fails(fault::connection_lost)};
    BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::connection_lost);
    BOOST_TEST(!answer.result.granted());
    BOOST_TEST((db.asked == statements{statement::read, statement::insert}));
}

BOOST_AUTO_TEST_CASE(grant_of_a_new_name_begins_at_the_floor_where_names_are_purged)
{
    grant_answer answer;
    scripted_database db{no_row(), shows({{od::column::token, 30}}), changes(1)};
    db.has_floor = true;
    BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::none);
    check_granted(answer, 30, true);
    BOOST_TEST((db.asked == statements{statement::read, statement::floor, statement::insert}));
    BOOST_TEST(db.tokens.back() == 30);

    for (const reply& floor : {no_row(), no_row_after(shows({{od::column::token, 30}})), shows({{od::column::token, 0}})}) {
        scripted_database without{no_row(), floor, changes(1)};
        without.has_floor = true;
        BOOST_TEST(came_to(answer, od::grant_flow(without, 0)) == fault::none);
        check_granted(answer, 1, true);
        BOOST_TEST(without.tokens.back() == 1);
    }

    scripted_database broken{no_row(), fails(fault::connection_lost)};
    broken.has_floor = true;
    BOOST_TEST(came_to(answer, od::grant_flow(broken, 0)) == fault::connection_lost);
    BOOST_TEST((broken.asked == statements{statement::read, statement::floor}));
}

BOOST_AUTO_TEST_CASE(grant_of_a_new_name_that_finds_the_floor_raised_looks_again)
{
    grant_answer answer;
    scripted_database db{no_row(),   shows({{od::column::token, 30}}), changes(0),
                         no_row(),   shows({{od::column::token, 31}}), changes(1)};
    db.has_floor = true;
    BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::none);
    check_granted(answer, 31, true);
    BOOST_TEST((db.asked == statements{statement::read, statement::floor, statement::insert, statement::read, statement::floor,
                                       statement::insert}));

    scripted_database locked{no_row(), shows({{od::column::token, 30}}), fails(fault::lock_timeout),
                             shows_row(30, another, live, 70)};
    locked.has_floor = true;
    BOOST_TEST(came_to(answer, od::grant_flow(locked, 0)) == fault::none);
    check_busy(answer, 30, 70us);
    BOOST_TEST((locked.asked == statements{statement::read, statement::floor, statement::insert, statement::read}));

    scripted_database still_locked{no_row(), shows({{od::column::token, 30}}), fails(fault::lock_timeout), no_row()};
    still_locked.has_floor = true;
    BOOST_TEST(came_to(answer, od::grant_flow(still_locked, 0)) == fault::lock_timeout);
    BOOST_TEST(still_locked.asked.size() == 4U);
}

BOOST_AUTO_TEST_CASE(grant_of_a_free_name_takes_it_from_the_term_that_was_read)
{
    grant_answer answer;
    scripted_database db{shows_row(41, another, over, -5), changes(1)};
    BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::none);
    check_granted(answer, 42, true);
    BOOST_TEST((db.asked == statements{statement::read, statement::take}));
    BOOST_TEST(db.tokens.back() == 41);
}

BOOST_AUTO_TEST_CASE(grant_of_an_expired_term_of_our_own_is_a_new_term)
{
    grant_answer answer;
    scripted_database db{shows_row(41, us, over, -5), changes(1)};
    BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::none);
    check_granted(answer, 42, true);
}

BOOST_AUTO_TEST_CASE(grant_of_a_held_name_is_busy_and_writes_nothing)
{
    for (const std::int64_t whose : {another, nobody}) {
        grant_answer answer;
        scripted_database db{shows_row(9, whose, live, 2500)};
        BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::none);
        check_busy(answer, 9, 2500us);
        BOOST_TEST((db.asked == statements{statement::read}));
    }
}

BOOST_AUTO_TEST_CASE(grant_of_our_own_unexpired_term_takes_it_over_by_a_write)
{
    for (const std::int64_t left : {999, 1000, 1'000'000}) {
        grant_answer answer;
        scripted_database db{shows_row(9, us, live, left), changes(1)};
        BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::none);
        check_granted(answer, 10, false);
        BOOST_TEST((db.asked == statements{statement::read, statement::take}));
        BOOST_TEST(db.tokens.back() == 9);
    }

    // What was read was the past, as on a node of a cluster that lags.
    grant_answer answer;
    scripted_database past{shows_row(9, us, live, 5000), changes(0), shows_row(10, another, live, 70)};
    BOOST_TEST(came_to(answer, od::grant_flow(past, 0)) == fault::none);
    check_busy(answer, 10, 70us);
}

BOOST_AUTO_TEST_CASE(grant_looks_again_after_somebody_was_quicker_and_not_for_ever)
{
    grant_answer answer;
    scripted_database db{shows_row(4, another, over, -1), changes(0), shows_row(5, another, live, 70)};
    BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::none);
    check_busy(answer, 5, 70us);
    BOOST_TEST((db.asked == statements{statement::read, statement::take, statement::read}));

    scripted_database inserted{no_row(), fails(fault::duplicate_key), shows_row(1, another, live, 70)};
    BOOST_TEST(came_to(answer, od::grant_flow(inserted, 0)) == fault::none);
    check_busy(answer, 1, 70us);

    std::vector<reply> again_and_again;
    for (int i = 0; i < od::max_looks; ++i) again_and_again.insert(again_and_again.end(), {no_row(), fails(fault::duplicate_key)});
    scripted_database refused{again_and_again};
    BOOST_TEST(came_to(answer, od::grant_flow(refused, 0)) == fault::duplicate_key, "by another unique index");
    BOOST_TEST(refused.asked.size() == static_cast<std::size_t>(2 * od::max_duplicates));

    scripted_database never{shows_row(4, another, over, -1)};
    BOOST_TEST(came_to(answer, od::grant_flow(never, 0)) == fault::conflict);
    BOOST_TEST(never.asked.size() == static_cast<std::size_t>(2 * od::max_looks));
}

BOOST_AUTO_TEST_CASE(grant_of_a_row_that_somebody_has_locked_is_busy)
{
    grant_answer answer;
    scripted_database db{shows_row(4, another, over, -1), fails(fault::lock_timeout), shows_row(4, another, over, -1), changes(0)};
    BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::none);
    BOOST_TEST(!answer.result.granted());
    BOOST_TEST((db.asked == statements{statement::read, statement::take, statement::read, statement::write_nothing}));
}

// Busy with its own term, it would be told that another holds what it holds itself.
BOOST_AUTO_TEST_CASE(grant_that_met_a_lock_at_the_row_of_its_own_term_is_no_busy_answer)
{
    grant_answer answer;
    scripted_database db{shows_row(32, us, live, 900), fails(fault::lock_timeout), shows_row(32, us, live, 800)};
    BOOST_TEST(came_to(answer, od::grant_flow(db, 0)) == fault::lock_timeout);
    check_busy(answer, 0, 0us);
    BOOST_TEST((db.asked == statements{statement::read, statement::take, statement::read}));
    BOOST_TEST((od::errc_of(fault::lock_timeout) == leasehold::errc::store_conflict));

    scripted_database remembered{fails(fault::lock_timeout), shows_row(32, us, live, 800)};
    BOOST_TEST(came_to(answer, od::grant_flow(remembered, 32)) == fault::lock_timeout);
    check_busy(answer, 0, 0us);

    // Another attempt of the same owner has inserted it.
    scripted_database inserted{no_row(), fails(fault::lock_timeout), shows_row(1, us, live, 800)};
    BOOST_TEST(came_to(answer, od::grant_flow(inserted, 0)) == fault::lock_timeout);
    check_busy(answer, 0, 0us);
}

BOOST_AUTO_TEST_CASE(write_that_fails_counts_for_nothing_whatever_number_of_rows_is_there)
{
    const reply broken{.failed = fault::connection_lost, .rows = 1};
    grant_answer answer;
    scripted_database take{shows_row(4, another, over, -1), broken};
    BOOST_TEST(came_to(answer, od::grant_flow(take, 0)) == fault::connection_lost);
    BOOST_TEST(!answer.result.granted());
    bool done = false;
    scripted_database renew{broken};
    BOOST_TEST(came_to(done, od::renew_flow(renew, 5)) == fault::connection_lost);
    BOOST_TEST(!done);
    scripted_database release{broken};
    BOOST_TEST(came_to(done, od::release_flow(release, 5, false, false)) == fault::connection_lost);
    BOOST_TEST(!done);
}

BOOST_AUTO_TEST_CASE(hint_saves_the_read_when_it_is_right_and_costs_one_statement_when_it_is_not)
{
    grant_answer answer;
    scripted_database right{changes(1)};
    BOOST_TEST(came_to(answer, od::grant_flow(right, 12)) == fault::none);
    check_granted(answer, 13, true);
    BOOST_TEST((right.asked == statements{statement::take}));
    BOOST_TEST((right.tokens == tokens{12}));

    scripted_database first{changes(1)};
    BOOST_TEST(came_to(answer, od::grant_flow(first, 1)) == fault::none);
    check_granted(answer, 2, true);
    BOOST_TEST((first.asked == statements{statement::take}));

    scripted_database wrong{changes(0), shows_row(14, another, live, 10)};
    BOOST_TEST(came_to(answer, od::grant_flow(wrong, 12)) == fault::none);
    check_busy(answer, 14, 10us);
    BOOST_TEST((wrong.asked == statements{statement::take, statement::read}));

    scripted_database locked{fails(fault::lock_timeout), shows_row(14, another, live, 10)};
    BOOST_TEST(came_to(answer, od::grant_flow(locked, 12)) == fault::none);
    check_busy(answer, 14, 10us);
}

BOOST_AUTO_TEST_CASE(grant_that_fails_says_so_and_asks_no_further)
{
    for (const std::int64_t hint : {0, 5})
        for (const bool one_statement : {false, true}) {
            grant_answer answer;
            scripted_database db{fails(fault::connection_lost)};
            db.one_statement = one_statement;
            BOOST_TEST(came_to(answer, od::grant_flow(db, hint)) == fault::connection_lost);
            BOOST_TEST(!answer.result.granted());
            BOOST_TEST(db.asked.size() == 1U);
        }
}

BOOST_AUTO_TEST_CASE(renewal_is_one_statement)
{
    bool renewed = false;
    scripted_database db{changes(1)};
    BOOST_TEST(came_to(renewed, od::renew_flow(db, 5)) == fault::none);
    BOOST_TEST(renewed);
    BOOST_TEST((db.asked == statements{statement::renew}));
    BOOST_TEST((db.tokens == tokens{5}));
}

BOOST_AUTO_TEST_CASE(renewal_that_matches_no_row_has_lost_the_term)
{
    bool renewed = true;
    scripted_database db{changes(0)};
    BOOST_TEST(came_to(renewed, od::renew_flow(db, 5)) == fault::none);
    BOOST_TEST(!renewed);
    BOOST_TEST(db.asked.size() == 1U);
}

BOOST_AUTO_TEST_CASE(release_is_one_statement)
{
    bool released = false;
    scripted_database db{changes(1)};
    BOOST_TEST(came_to(released, od::release_flow(db, 5, false, false)) == fault::none);
    BOOST_TEST(released);
    BOOST_TEST((db.asked == statements{statement::release}));
    BOOST_TEST((db.tokens == tokens{5}));

    scripted_database lost{changes(0)};
    BOOST_TEST(came_to(released, od::release_flow(lost, 5, false, false)) == fault::none);
    BOOST_TEST(!released);
    BOOST_TEST((lost.asked == statements{statement::release}));
}

BOOST_AUTO_TEST_CASE(repeated_release_reads_whether_the_first_one_did_it)
{
    const auto repeat = [](bool min_hold_left, const reply& row, fault wanted = fault::none) {
        bool released = false;
        scripted_database db{changes(0), row};
        BOOST_TEST(came_to(released, od::release_flow(db, 5, min_hold_left, true)) == wanted);
        BOOST_TEST((db.asked.back() == statement::read));
        return released;
    };
    BOOST_TEST(repeat(false, shows_row(5, us, over, -1, true)));
    BOOST_TEST(repeat(true, shows_row(5, nobody, live, 1000)));
    BOOST_TEST(!repeat(false, shows_row(5, nobody, live, 1000)));
    BOOST_TEST(!repeat(false, shows_row(5, us, over, -1)));           // it ran out
    BOOST_TEST(!repeat(false, shows_row(6, another, live, 1000), fault::overtaken));    // somebody else's since
    BOOST_TEST(!repeat(false, shows_row(6, another, over, 0, true), fault::overtaken));  // and released since
    BOOST_TEST(!repeat(true, shows_row(5, us, live, 1000)));
    BOOST_TEST(!repeat(false, shows_row(5, nobody, over, -1, true)));  // an operator did it
    BOOST_TEST(!repeat(false, shows_row(5, another, over, -1, true)));
    BOOST_TEST(repeat(true, shows_row(5, nobody, over, -1)));  // it was closed, and that has run out
    BOOST_TEST(!repeat(true, shows_row(5, nobody, over, -1, true), fault::overtaken));  // it was closed and opened, or ended by hand
    BOOST_TEST(!repeat(true, shows_row(5, us, over, -1, true)));
    BOOST_TEST(!repeat(false, shows_row(4, us, over, -1, true)));  // a row that was made again
    BOOST_TEST(!repeat(false, no_row()));
    BOOST_TEST(!repeat(false, no_row_after(shows_row(5, us, over, -1, true))));
    BOOST_TEST(!repeat(false, no_row_after(shows_row(6, another, live, 1000))));
    BOOST_TEST(!repeat(false, fails(fault::connection_lost), fault::connection_lost));
}

BOOST_AUTO_TEST_CASE(repeated_release_that_ended_the_term_reads_nothing)
{
    bool released = false;
    scripted_database db{changes(1)};
    BOOST_TEST(came_to(released, od::release_flow(db, 5, false, true)) == fault::none);
    BOOST_TEST(released);
    BOOST_TEST((db.asked == statements{statement::release}));
}

BOOST_AUTO_TEST_CASE(forced_release_ends_the_term_that_it_has_found)
{
    bool ended = false;
    std::int64_t token = 0;
    scripted_database db{shows({{od::column::token, 5}}), changes(1)};
    BOOST_TEST(came_to(ended, od::force_release_flow(db, token, false)) == fault::none);
    BOOST_TEST(ended);
    BOOST_TEST((db.asked == statements{statement::inspect, statement::force_release}));
    BOOST_TEST(db.tokens.back() == 5);

    token = 0;
    scripted_database free{no_row_after(shows({{od::column::token, 5}}))};
    BOOST_TEST(came_to(ended, od::force_release_flow(free, token, false)) == fault::none);
    BOOST_TEST(!ended);
    BOOST_TEST((free.asked == statements{statement::inspect}));

    scripted_database broken{fails(fault::connection_lost)};
    BOOST_TEST(came_to(ended, od::force_release_flow(broken, token, true)) == fault::connection_lost);
    scripted_database cut{shows({{od::column::token, 5}}), fails(fault::connection_lost)};
    BOOST_TEST(came_to(ended, od::force_release_flow(cut, token, false)) == fault::connection_lost);
    BOOST_TEST(token == 5);
}

BOOST_AUTO_TEST_CASE(repeated_forced_release_ends_no_later_term)
{
    bool ended = false;
    std::int64_t token = 5;
    scripted_database db{changes(0)};
    BOOST_TEST(came_to(ended, od::force_release_flow(db, token, true)) == fault::none);
    BOOST_TEST(ended);
    BOOST_TEST((db.asked == statements{statement::force_release}));
    BOOST_TEST((db.tokens == tokens{5}));

    // The try whose reply was lost had found no term yet.
    token = 0;
    scripted_database late{shows({{od::column::token, 6}}), changes(0), no_row()};
    BOOST_TEST(came_to(ended, od::force_release_flow(late, token, true)) == fault::none);
    BOOST_TEST(!ended);
}

BOOST_AUTO_TEST_CASE(forced_release_of_a_term_that_ended_in_between_looks_again_and_not_for_ever)
{
    bool ended = false;
    std::int64_t token = 0;
    scripted_database db{shows({{od::column::token, 5}}), changes(0), shows({{od::column::token, 6}}), changes(1)};
    BOOST_TEST(came_to(ended, od::force_release_flow(db, token, false)) == fault::none);
    BOOST_TEST(ended);
    BOOST_TEST((db.tokens == tokens{0, 5, 5, 6}));

    token = 0;
    scripted_database busy{reply{.found = true, .numbers = {{od::column::token, 5}}}};
    BOOST_TEST(came_to(ended, od::force_release_flow(busy, token, false)) == fault::conflict);
    BOOST_TEST(!ended);
    BOOST_TEST(busy.asked.size() == 2U * od::max_looks);
}

BOOST_AUTO_TEST_SUITE_END()
