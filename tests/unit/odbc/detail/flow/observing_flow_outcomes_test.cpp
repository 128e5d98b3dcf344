// SPDX-License-Identifier: BSL-1.0
// Expiry by observation: exactly which statements it takes, and what counts for nothing: a row that was there before, a write
// that failed, a look that found none.
#include <support/printing.hpp>
#include <unit/odbc/detail/flow/observing_flow_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

namespace observing_flow_outcomes_test {

using namespace leasehold_test::observing_flows;

}  // namespace observing_flow_outcomes_test

BOOST_FIXTURE_TEST_SUITE(observing_flow_outcomes_test, scene)

BOOST_AUTO_TEST_CASE(only_a_grant_of_what_nobody_held_is_fresh)
{
    BOOST_TEST(holder.attempt().granted());
    BOOST_TEST(holder.fresh);
    BOOST_TEST(holder.attempt().granted());
    BOOST_TEST(!holder.fresh);
    BOOST_TEST(busy(other.attempt(), 10s));
    BOOST_TEST(!other.fresh);
    other.now += 10s;
    BOOST_TEST(other.attempt().granted());
    BOOST_TEST(other.fresh);
    BOOST_TEST(other.release(3));
    BOOST_TEST(holder.attempt().granted());
    BOOST_TEST(holder.fresh);
}

BOOST_AUTO_TEST_CASE(where_counts_are_believed_nothing_is_read_back)
{
    BOOST_TEST(holder.attempt().granted());
    check_asked(holder, {statement::observe, statement::insert});
    BOOST_TEST(holder.attempt().granted());
    check_asked(holder, {statement::observe, statement::take});
    BOOST_TEST(holder.renew(2));
    check_asked(holder, {statement::renew});
    BOOST_TEST(!holder.renew(1));
    check_asked(holder, {statement::renew});
    BOOST_TEST(holder.release(2));
    check_asked(holder, {statement::release});
    BOOST_TEST(!holder.release(2));
    check_asked(holder, {statement::release});
    BOOST_TEST(!holder.release_again(2));
    check_asked(holder, {statement::release, statement::observe});
    BOOST_TEST(holder.attempt().granted());
    BOOST_TEST(other.force_release());
    check_asked(other, {statement::observe, statement::force_release});
    BOOST_TEST(!other.force_release());
    check_asked(other, {statement::observe});
}

BOOST_AUTO_TEST_CASE(lost_race_is_followed_by_one_look)
{
    shared = row{"", 1, 5, 0};
    other.db.before = [this](statement which) {
        if (which == statement::take) BOOST_TEST(holder.attempt().granted());
    };
    BOOST_TEST(busy(other.attempt(), 10s));
    check_asked(other, {statement::observe, statement::take, statement::observe});
}

BOOST_AUTO_TEST_CASE(name_that_another_inserts_first_is_busy)
{
    other.db.before = [this](statement which) {
        if (which == statement::insert) BOOST_TEST(holder.attempt().granted());
    };
    BOOST_TEST(busy(other.attempt(), 10s));
    BOOST_TEST(other.failed == fault::none);
}

BOOST_AUTO_TEST_CASE(row_that_keeps_changing_is_looked_at_so_often)
{
    shared = row{"", 1, 5, 0};
    other.db.before = [this](statement which) {
        if (which == statement::take) ++shared->version;
    };
    static_cast<void>(other.attempt());
    BOOST_TEST(other.failed == fault::conflict);
    BOOST_TEST(other.db.asked.size() == std::size_t{2} * od::max_looks);
}

BOOST_AUTO_TEST_CASE(locked_row_is_busy_with_its_term)
{
    shared = row{"holder", 3, 5, 0};
    other.db.failures[statement::take] = fault::lock_timeout;
    const auto result = other.attempt();
    BOOST_TEST(busy(result, 0s));
    BOOST_TEST(result.token == lh::fencing_token{3});
    BOOST_TEST(!other.fresh);
}

// Busy with its own term, it would be told that another holds what it holds itself.
BOOST_AUTO_TEST_CASE(locked_row_of_the_asking_owner_is_never_busy_with_its_own_term)
{
    shared = row{"holder", 3, 5, 10'000'000};
    holder.db.failures[statement::take] = fault::lock_timeout;
    BOOST_TEST(busy(holder.attempt(), 0s));
    BOOST_TEST(holder.failed == fault::lock_timeout);
    check_asked(holder, {statement::observe, statement::take});

    // It is over: then somebody may be taking it.
    holder.now += 10s;
    const auto result = holder.attempt();
    BOOST_TEST(holder.failed == fault::none);
    BOOST_TEST(busy(result, 0s));
    BOOST_TEST(result.token == lh::fencing_token{});
}

BOOST_AUTO_TEST_CASE(row_of_a_locked_table_is_not_busy)
{
    shared = row{"holder", 3, 5, 0};
    other.db.failures = {{statement::take, fault::lock_timeout}, {statement::write_nothing, fault::lock_timeout}};
    static_cast<void>(other.attempt());
    BOOST_TEST(other.failed == fault::lock_timeout);
}

BOOST_AUTO_TEST_CASE(granted_attempt_whose_reply_was_lost_is_not_fresh_and_writes_no_more)
{
    holder.db.before = [this](statement which) { holder.db.reply_lost = which == statement::insert; };
    static_cast<void>(holder.attempt());
    BOOST_TEST(holder.failed == fault::connection_lost);
    holder.db.before = [](statement) {};
    holder.db.reply_lost = false;
    holder.db.asked.clear();
    BOOST_TEST(holder.attempt_again().token == lh::fencing_token{1});
    BOOST_TEST(!holder.fresh);
    check_asked(holder, {statement::observe});
}

BOOST_AUTO_TEST_CASE(repeated_attempt_after_the_end_of_its_term_is_a_new_term)
{
    BOOST_TEST(holder.attempt().granted());
    holder.now += 10s;
    BOOST_TEST(holder.attempt_again().token == lh::fencing_token{2});
    BOOST_TEST(holder.fresh);
}

BOOST_AUTO_TEST_CASE(term_has_the_time_that_was_asked_for_unless_it_continues_a_longer_one)
{
    BOOST_TEST(holder.attempt().granted());
    BOOST_TEST(busy(other.attempt(), 10s));
    other.now += 10s;
    other.db.ttl_us = 1'000'000;
    BOOST_TEST(other.attempt().granted());
    BOOST_TEST(shared->ttl_us == 1'000'000);
    other.db.ttl_us = 3'000'000;
    BOOST_TEST(other.attempt().granted());
    BOOST_TEST(shared->ttl_us == 3'000'000);
}

BOOST_AUTO_TEST_CASE(longer_time_of_a_term_that_ended_before_it_was_continued_is_forgotten)
{
    for (const bool purged : {false, true}) {
        shared = row{"holder", 4, 5, 60'000'000};
        holder.db.ttl_us = 10'000'000;
        holder.db.before = [this, purged](statement which) {
            if (which != statement::take || shared->ttl_us == 0) return;
            if (purged)
                shared.reset();
            else
                shared = row{"", 4, 6, 0};
        };
        BOOST_TEST(holder.attempt().granted());
        BOOST_TEST(holder.fresh);
        BOOST_TEST(shared->ttl_us == 10'000'000);
    }
}

BOOST_AUTO_TEST_CASE(only_a_renewal_that_took_place_extends_what_is_known_of_the_term)
{
    BOOST_TEST(holder.attempt().granted());
    holder.now += 9s;
    BOOST_TEST(holder.renew(1));
    holder.now += 9s;
    BOOST_TEST(holder.renew(1));
    holder.now += 9s;
    holder.db.failures[statement::renew] = fault::conflict;
    BOOST_TEST(!holder.renew(1));
    holder.db.failures.clear();
    holder.db.asked.clear();
    holder.now += 1s;
    BOOST_TEST(!holder.renew(1));
    check_asked(holder, {});
}

BOOST_AUTO_TEST_CASE(release_that_failed_leaves_what_is_known_of_the_term)
{
    BOOST_TEST(holder.attempt().granted());
    holder.now += 5s;
    holder.db.ttl_us = 3'000'000;
    holder.db.failures[statement::release] = fault::conflict;
    BOOST_TEST(!holder.release(1, true));
    BOOST_TEST(holder.failed == fault::conflict);
    holder.now += 4s;
    BOOST_TEST(holder.renew(1));
}

BOOST_AUTO_TEST_CASE(renewal_that_finds_no_such_term_extends_nothing)
{
    BOOST_TEST(holder.attempt().granted());
    holder.now += 9s;
    const std::optional<row> unseen = std::exchange(shared, std::nullopt);
    BOOST_TEST(!holder.renew(1));
    BOOST_TEST(holder.failed == fault::none);
    shared = unseen;
    holder.now += 1s;
    holder.db.asked.clear();
    BOOST_TEST(!holder.renew(1));
    check_asked(holder, {});
}

BOOST_AUTO_TEST_CASE(release_that_finds_no_such_term_leaves_what_is_known_of_it)
{
    BOOST_TEST(holder.attempt().granted());
    holder.now += 5s;
    holder.db.ttl_us = 3'000'000;
    const std::optional<row> unseen = std::exchange(shared, std::nullopt);
    BOOST_TEST(!holder.release(1, true));
    BOOST_TEST(holder.failed == fault::none);
    shared = unseen;
    holder.now += 4s;
    BOOST_TEST(holder.renew(1));
}

BOOST_AUTO_TEST_CASE(repeated_release_is_overtaken_only_by_a_later_term_that_it_has_not_let_in)
{
    BOOST_TEST(holder.attempt().granted());
    shared->ttl_us = 0;  // by an operator
    shared->version = next_version();
    holder.request = next_version();
    BOOST_TEST(!holder.release_again(1));
    BOOST_TEST(holder.failed == fault::none);
    BOOST_TEST(other.attempt().granted());
    BOOST_TEST(!holder.release_again(1));
    BOOST_TEST(holder.failed == fault::overtaken);
    holder.db.failures[statement::release] = fault::conflict;
    holder.db.asked.clear();
    BOOST_TEST(!holder.release_again(1));
    BOOST_TEST(holder.failed == fault::conflict);
    check_asked(holder, {statement::release});
    holder.db.failures.clear();
    holder.now += 10s;  // it was over anyway
    BOOST_TEST(!holder.release_again(1));
    BOOST_TEST(holder.failed == fault::none);
    shared.reset();
    contender gone{shared, "holder"};
    shared = row{"other", 2, 5, 10'000'000};
    BOOST_TEST(!gone.release_again(1));
    BOOST_TEST(gone.failed == fault::overtaken);
    shared.reset();
    BOOST_TEST(!gone.release_again(1));
    BOOST_TEST(gone.failed == fault::none);
}

BOOST_AUTO_TEST_CASE(repeated_forced_release_ends_no_later_term)
{
    for (const bool believes : {true, false}) {
        shared.reset();
        contender by{shared, "operator"}, next{shared, "next"};
        by.db.believes = believes;
        BOOST_TEST(contender(shared, "first").attempt().granted());
        by.db.late[statement::force_release] = fault::connection_lost;
        BOOST_TEST(!by.force_release());
        BOOST_TEST(by.failed == fault::connection_lost);
        by.db.late.clear();
        BOOST_TEST(next.attempt().granted());
        BOOST_TEST(by.force_release_again());
        BOOST_TEST(by.failed == fault::none);
        BOOST_TEST(shared->owner == "next");
        BOOST_TEST(shared->ttl_us > 0);
    }
}

BOOST_AUTO_TEST_CASE(failed_look_after_a_repeated_release_is_that_failure)
{
    shared = row{"other", 2, 5, 10'000'000};
    holder.db.late[statement::observe] = fault::timeout;
    BOOST_TEST(!holder.release_again(1));
    BOOST_TEST(holder.failed == fault::timeout);
}

BOOST_AUTO_TEST_CASE(inspection_that_finds_nothing_or_fails_shows_no_time)
{
    BOOST_TEST(holder.attempt().granted());
    BOOST_TEST(other.left() == 10s);
    other.db.late[statement::observe] = fault::timeout;
    BOOST_TEST(other.left() == 0s);
    BOOST_TEST(other.failed == fault::timeout);
    other.db.late.clear();
    shared.reset();
    BOOST_TEST(other.left() == 0s);
    BOOST_TEST(other.failed == fault::none);
}

BOOST_AUTO_TEST_SUITE_END()
