// SPDX-License-Identifier: BSL-1.0
// Expiry by observation, on a row in memory: who gets it when, and what a clock of the database can do to it (nothing).
#include <support/printing.hpp>
#include <unit/odbc/detail/flow/observing_flow_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace observing_flow_test {

using namespace leasehold_test::observing_flows;

}  // namespace observing_flow_test

BOOST_FIXTURE_TEST_SUITE(observing_flow_test, scene)

BOOST_AUTO_TEST_CASE(new_name_and_released_name_are_granted_at_once)
{
    BOOST_TEST(holder.attempt().token == lh::fencing_token{1});
    BOOST_TEST(shared->version == holder.request);
    shared->ttl_us = 0;
    const auto result = other.attempt();
    BOOST_TEST(result.granted());
    BOOST_TEST(result.token == lh::fencing_token{2});
}

BOOST_AUTO_TEST_CASE(challenger_takes_what_it_has_seen_unchanged_for_the_holders_ttl)
{
    BOOST_TEST(holder.attempt().granted());
    other.db.ttl_us = 1'000'000;
    BOOST_TEST(busy(other.attempt(), 10s));
    other.now += 9s;
    BOOST_TEST(busy(other.attempt(), 1s));
    other.now += 1s;
    const auto result = other.attempt();
    BOOST_TEST(result.granted());
    BOOST_TEST(result.token == lh::fencing_token{2});
    BOOST_TEST(shared->owner == "other");
    BOOST_TEST(!holder.renew(1));
    BOOST_TEST(other.renew(2));
}

BOOST_AUTO_TEST_CASE(each_renewal_restarts_the_observation)
{
    BOOST_TEST(holder.attempt().granted());
    for (int i = 0; i < 20; ++i) {
        BOOST_TEST(busy(other.attempt(), 10s));
        other.now += 9s;
        BOOST_TEST(busy(other.attempt(), 1s));
        BOOST_TEST(holder.renew(1));
        other.now += 1s;
    }
}

BOOST_AUTO_TEST_CASE(first_look_never_takes_however_old_the_row_is)
{
    shared = row{"holder", 5, 3, 10'000'000};
    other.now += 24h * 365;
    BOOST_TEST(busy(other.attempt(), 10s));
}

BOOST_AUTO_TEST_CASE(renewal_between_the_look_and_the_take_over_wins)
{
    BOOST_TEST(holder.attempt().granted());
    BOOST_TEST(busy(other.attempt(), 10s));
    other.now += 10s;
    other.db.before = [this](statement which) {
        if (which == statement::take) BOOST_TEST(holder.renew(1));
    };
    BOOST_TEST(busy(other.attempt(), 10s));
    BOOST_TEST(shared->owner == "holder");
}

BOOST_AUTO_TEST_CASE(of_two_challengers_one_takes_and_the_other_observes_it_from_the_start)
{
    BOOST_TEST(holder.attempt().granted());
    contender third{shared, "third"};
    BOOST_TEST(busy(other.attempt(), 10s));
    BOOST_TEST(busy(third.attempt(), 10s));
    other.now += 10s;
    third.now += 10s;
    third.db.before = [this](statement which) {
        if (which == statement::take) BOOST_TEST(other.attempt().granted());
    };
    BOOST_TEST(busy(third.attempt(), 10s));
    BOOST_TEST(shared->owner == "other");
    BOOST_TEST(shared->token == 2);
}

BOOST_AUTO_TEST_CASE(owner_goes_on_with_its_own_term_and_never_shortens_it)
{
    BOOST_TEST(holder.attempt().granted());
    holder.now += 9s;
    holder.db.ttl_us = 1'000'000;
    const auto again = holder.attempt();
    BOOST_TEST(again.granted());
    BOOST_TEST(again.token == lh::fencing_token{2});
    BOOST_TEST(shared->ttl_us == 10'000'000);
    BOOST_TEST(shared->version == holder.request);
}

BOOST_AUTO_TEST_CASE(owner_begins_a_new_term_when_its_own_has_had_its_time)
{
    BOOST_TEST(holder.attempt().granted());
    holder.now += 9s;
    BOOST_TEST(holder.renew(1));
    holder.now += 9s;
    BOOST_TEST(holder.attempt().token == lh::fencing_token{2});
    holder.now += 10s;
    BOOST_TEST(!holder.renew(2));
    BOOST_TEST(holder.left() == 0s);
    BOOST_TEST(holder.attempt().token == lh::fencing_token{3});
    BOOST_TEST(holder.left() == 10s);
}

BOOST_AUTO_TEST_CASE(late_release_frees_but_is_none)
{
    BOOST_TEST(holder.attempt().granted());
    holder.now += 10s;
    BOOST_TEST(!holder.release(1, true));
    BOOST_TEST(shared->ttl_us == 0);
    BOOST_TEST(other.attempt().token == lh::fencing_token{2});
    BOOST_TEST(other.release(2));
    BOOST_TEST(!other.release(2));
}

BOOST_AUTO_TEST_CASE(inspection_is_a_look)
{
    BOOST_TEST(other.left() == 0s);
    BOOST_TEST(holder.attempt().granted());
    BOOST_TEST(other.left() == 10s);
    other.now += 10s;
    BOOST_TEST(other.left() == 0s);
    BOOST_TEST(other.attempt().granted());
}

BOOST_AUTO_TEST_CASE(list_is_a_look_and_leaves_out_what_has_stayed_for_the_holders_ttl)
{
    BOOST_TEST(other.list().empty());
    BOOST_TEST(holder.attempt().granted());
    BOOST_TEST(other.list().size() == 1U);
    other.now += 5s;
    BOOST_REQUIRE(other.list().size() == 1U);
    BOOST_TEST(other.list().front().remaining == 5s);
    BOOST_TEST(holder.renew(1));
    BOOST_REQUIRE(other.list().size() == 1U);
    BOOST_TEST(other.list().front().remaining == 10s);
    other.now += 10s;
    BOOST_TEST(other.list().empty());
    BOOST_TEST(other.attempt().granted());
}

BOOST_AUTO_TEST_CASE(restarted_owner_goes_on_at_once_as_a_new_term)
{
    BOOST_TEST(holder.attempt().granted());
    contender restarted{shared, "holder"};
    BOOST_TEST(restarted.attempt().token == lh::fencing_token{2});
    BOOST_TEST(!holder.renew(1));
    BOOST_TEST(busy(other.attempt(), 10s));
}

BOOST_AUTO_TEST_CASE(closed_name_is_observed_like_a_holder)
{
    shared = row{"", 4, 9, 3'000'000};
    BOOST_TEST(busy(holder.attempt(), 3s));
    holder.now += 3s;
    BOOST_TEST(holder.attempt().token == lh::fencing_token{5});
}

BOOST_AUTO_TEST_CASE(owner_that_closes_a_name_knows_since_when)
{
    BOOST_TEST(holder.attempt().granted());
    holder.db.ttl_us = 3'000'000;
    BOOST_TEST(holder.release(1, true));
    holder.now += 2s;
    BOOST_TEST(busy(holder.attempt(), 1s));
    BOOST_TEST(busy(other.attempt(), 3s));
    holder.now += 1s;
    BOOST_TEST(holder.attempt().token == lh::fencing_token{2});
}

BOOST_AUTO_TEST_CASE(row_that_was_made_again_is_not_the_one_observed)
{
    shared = row{"holder", 1, 500, 10'000'000};
    BOOST_TEST(busy(other.attempt(), 10s));
    other.now += 10s;
    shared.reset();
    BOOST_TEST(holder.attempt().granted());
    BOOST_TEST(busy(other.attempt(), 10s));
}

BOOST_AUTO_TEST_CASE(repeated_release_after_which_somebody_else_was_granted_the_name_is_of_unknown_outcome)
{
    BOOST_TEST(holder.attempt().granted());
    BOOST_TEST(holder.release(1));
    BOOST_TEST(other.attempt().granted());
    BOOST_TEST(!holder.release_again(1));
    BOOST_TEST(holder.failed == fault::overtaken);
    BOOST_TEST(!holder.release_again(1, false, false));
    BOOST_TEST(holder.failed == fault::none);
}

BOOST_AUTO_TEST_CASE(renewal_is_lost_when_released_or_taken)
{
    BOOST_TEST(holder.attempt().granted());
    shared->ttl_us = 0;
    BOOST_TEST(!holder.renew(1));
    shared.reset();
    BOOST_TEST(!holder.renew(1));
}

BOOST_AUTO_TEST_CASE(locked_row_is_busy_and_failures_are_failures)
{
    shared = row{"holder", 1, 5, 0};
    other.db.failures[statement::take] = fault::lock_timeout;
    BOOST_TEST(busy(other.attempt(), 0s));
    BOOST_TEST(other.failed == fault::none);
    for (const statement which : {statement::observe, statement::take}) {
        other.db.failures = {{which, fault::connection_lost}};
        static_cast<void>(other.attempt());
        BOOST_TEST(other.failed == fault::connection_lost);
    }
    shared.reset();
    other.db.failures = {{statement::insert, fault::failure}};
    static_cast<void>(other.attempt());
    BOOST_TEST(other.failed == fault::failure);
    holder.db.failures = {{statement::renew, fault::conflict}};
    BOOST_TEST(!holder.renew(1));
    BOOST_TEST(holder.failed == fault::conflict);
}

BOOST_AUTO_TEST_CASE(row_that_keeps_changing_is_a_conflict_in_the_end)
{
    shared = row{"", 1, 5, 0};
    other.db.before = [this](statement which) {
        if (which == statement::take) ++shared->version;
    };
    static_cast<void>(other.attempt());
    BOOST_TEST(other.failed == fault::conflict);
}

BOOST_AUTO_TEST_CASE(write_is_known_by_its_version_when_the_reply_is_lost)
{
    shared = row{"", 1, 5, 0};
    holder.db.before = [this](statement which) { holder.db.reply_lost = which == statement::take; };
    static_cast<void>(holder.attempt());
    BOOST_TEST(holder.failed == fault::connection_lost);
    const auto result = holder.attempt_again();
    BOOST_TEST(result.granted());
    BOOST_TEST(result.token == lh::fencing_token{2});
    holder.db.before = [this](statement which) { holder.db.reply_lost = which == statement::release; };
    BOOST_TEST(!holder.release(2));
    BOOST_TEST(holder.failed == fault::connection_lost);
    holder.db.before = [](statement) {};
    BOOST_TEST(holder.release_again(2));
    BOOST_TEST(!holder.release(2));
}

BOOST_AUTO_TEST_SUITE_END()
