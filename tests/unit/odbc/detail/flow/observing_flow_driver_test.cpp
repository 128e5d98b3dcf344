// SPDX-License-Identifier: BSL-1.0
// Expiry by observation over a driver that nobody knows: its counts of rows and its errors are not believed. The row is read back.
#include <support/printing.hpp>
#include <unit/odbc/detail/flow/observing_flow_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <tuple>
#include <utility>

namespace observing_flow_driver_test {

using namespace leasehold_test::observing_flows;

}  // namespace observing_flow_driver_test

BOOST_FIXTURE_TEST_SUITE(observing_flow_driver_test, scene)

BOOST_AUTO_TEST_CASE(no_count_of_rows_is_needed)
{
    for (const bool believes : {true, false}) {
        shared.reset();
        for (contender* each : {&holder, &other}) {
            each->seen.~observations();
            new (&each->seen) od::observations{};
            each->db.believes = believes;
            each->db.count = [](std::int64_t) { return -1; };
        }
        BOOST_TEST(holder.attempt().granted());
        BOOST_TEST(holder.renew(1));
        BOOST_TEST(busy(other.attempt(), 10s));
        BOOST_TEST(!other.renew(1));
        BOOST_TEST(!other.release(1));
        BOOST_TEST(holder.release(1));
        BOOST_TEST(!holder.release(1));
        BOOST_TEST(other.attempt().token == lh::fencing_token{2});
        BOOST_TEST(holder.force_release());
        BOOST_TEST(!holder.force_release());
        BOOST_TEST(!other.renew(2));
    }
}

BOOST_AUTO_TEST_CASE(count_that_is_always_one_is_not_believed)
{
    for (contender* each : {&holder, &other}) {
        each->db.believes = false;
        each->db.count = [](std::int64_t) { return 1; };
    }
    shared = row{"", 1, 5, 0};
    other.db.before = [this](statement which) {
        if (which == statement::take) BOOST_TEST(holder.attempt().granted());
    };
    BOOST_TEST(busy(other.attempt(), 10s));
    BOOST_TEST(shared->owner == "holder");
    BOOST_TEST(!other.renew(2));
    BOOST_TEST(holder.release(2));
    BOOST_TEST(!holder.release(2));
}

BOOST_AUTO_TEST_CASE(owner_that_comes_between_a_release_and_the_look_at_it_makes_it_no_loss)
{
    for (const std::int64_t said : {-1, 1}) {
        contender first{shared, "first"};
        contender next{shared, "next"};
        shared.reset();
        first.db.believes = false;
        first.db.count = [said](std::int64_t rows) { return rows > 0 ? said : 0; };
        BOOST_TEST(first.attempt().granted());
        bool released = false;
        first.db.before = [&](statement which) {
            if (which == statement::observe && released) BOOST_TEST(next.attempt().granted());
            released = which == statement::release;
        };
        BOOST_TEST(first.release(1));
        first.db.before = [](statement) {};
        BOOST_TEST(!first.release(1));
        BOOST_TEST(first.failed == fault::none);
        BOOST_TEST(shared->owner == "next");
        BOOST_TEST(shared->ttl_us > 0);
    }
}

BOOST_AUTO_TEST_CASE(two_renewals_of_one_term_that_meet_are_both_renewals)
{
    holder.db.believes = false;
    BOOST_TEST(holder.attempt().granted());
    holder.db.before = [this](statement which) {
        if (which == statement::observe) shared->version = next_version();
    };
    BOOST_TEST(holder.renew(1));
    shared->owner = "other";
    BOOST_TEST(!holder.renew(1));
}

BOOST_AUTO_TEST_CASE(write_that_is_not_kept_is_refused_in_a_new_row_and_in_one_that_was_there)
{
    const std::pair<std::function<void(row&)>, const char*> changes[]{
        {[](row& r) { r.version = static_cast<std::int32_t>(r.version & 0xff); }, "64-bit"},
        {[](row& r) { r.token = 0; }, "64-bit"},
        {[](row& r) { r.ttl_us /= 1000; }, "64-bit"},
        {[](row& r) { r.owner.resize(8, ' '); }, "byte by byte"},
    };
    for (const auto& [change, words] : changes)
        for (const bool there : {false, true}) {
            contender fresh{shared, "holder"};
            fresh.db.believes = false;
            fresh.db.keep = change;
            shared.reset();
            if (there) shared = row{"", 1, 5, 0};
            BOOST_TEST(!fresh.attempt().granted());
            BOOST_TEST((fresh.failed == fault::failure || fresh.failed == fault::conflict));
            if (fresh.failed == fault::failure) BOOST_TEST(fresh.db.advice.find(words) != std::string::npos, fresh.db.advice);
        }
}

BOOST_AUTO_TEST_CASE(duplicate_key_of_a_driver_that_nobody_knows_is_looked_after)
{
    other.db.believes = false;
    other.db.constraint = true;
    other.db.failures[statement::insert] = fault::failure;
    other.db.before = [this](statement which) {
        if (which == statement::insert) BOOST_TEST(holder.attempt().granted());
    };
    BOOST_TEST(busy(other.attempt(), 10s));
    BOOST_TEST(other.failed == fault::none);
    shared.reset();
    other.db.before = [](statement) {};
    static_cast<void>(other.attempt());  // a column more, perhaps, that must not be NULL
    BOOST_TEST(other.failed == fault::failure);
}

BOOST_AUTO_TEST_CASE(row_that_cannot_be_read_back_is_refused)
{
    holder.db.believes = false;
    holder.db.before = [this](statement which) {
        if (which == statement::observe) shared.reset();
    };
    BOOST_TEST(!holder.attempt().granted());
    BOOST_TEST(holder.failed == fault::failure);
    BOOST_TEST(holder.db.advice.find("read back") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(failed_insert_is_looked_after_only_where_it_may_be_a_duplicate_key)
{
    const auto attempt = [this](bool believes, bool constraint, fault why) {
        shared.reset();
        other.db.believes = believes;
        other.db.constraint = constraint;
        other.db.failures[statement::insert] = why;
        static_cast<void>(other.attempt());
        BOOST_TEST(other.failed == why);
        check_asked(other, {statement::observe, statement::insert});
    };
    attempt(true, true, fault::failure);
    attempt(true, false, fault::connection_lost);
    attempt(false, false, fault::failure);
    attempt(false, true, fault::connection_lost);
    other.db.failures.clear();
    other.db.constraint = true;  // of an earlier statement
    BOOST_TEST(other.attempt().granted());
    BOOST_TEST(other.fresh);
    check_asked(other, {statement::observe, statement::insert, statement::observe});
}

BOOST_AUTO_TEST_CASE(constraint_that_is_no_duplicate_key_is_told_in_its_own_words)
{
    other.db.believes = false;
    other.db.constraint = true;
    other.db.failures[statement::insert] = fault::failure;
    static_cast<void>(other.attempt());
    BOOST_TEST(other.failed == fault::failure);
    check_asked(other, {statement::observe, statement::insert, statement::observe});
    BOOST_TEST((other.db.last_report().kind == fault::failure));
    BOOST_TEST(other.db.last_report().details.server_message == "of the last failure");
}

BOOST_AUTO_TEST_CASE(row_that_never_comes_to_rest_is_blamed_on_the_driver_only_if_it_is_our_own)
{
    const auto keep_changing = [this](bool believes, const char* owner, std::int64_t said = 0) {
        shared = row{owner, 1, 5, 0};
        if (*owner != 0) shared->ttl_us = 10'000'000;
        other.db.believes = believes;
        other.db.count = [said](std::int64_t) { return said; };
        other.db.advice.clear();
        other.db.before = [this](statement which) {
            if (which == statement::take) ++shared->version;
        };
        static_cast<void>(other.attempt());
    };
    keep_changing(true, "other");
    check_failed(other, fault::conflict);
    keep_changing(true, "other", -1);
    check_failed(other, fault::conflict);
    keep_changing(false, "");
    check_failed(other, fault::conflict);
    keep_changing(false, "other");
    check_failed(other, fault::failure, "64-bit");
    shared.reset();  // and the last row that was seen is our own
    other.db.advice.clear();
    other.db.before = [](statement) {};
    other.db.failures[statement::insert] = fault::duplicate_key;
    static_cast<void>(other.attempt());
    check_failed(other, fault::duplicate_key);  // of another index: there is no row of the name
}

BOOST_AUTO_TEST_CASE(row_of_another_name_is_refused_where_nothing_is_believed)
{
    shared = row{"holder", 1, 5, 10'000'000};
    other.db.others_name = true;
    BOOST_TEST(busy(other.attempt(), 10s));
    check_failed(other, fault::none);
    other.db.believes = false;
    static_cast<void>(other.attempt());
    check_failed(other, fault::failure, "byte by byte");
    BOOST_TEST(other.left() == 0s);
    BOOST_TEST(other.failed == fault::failure);
    other.db.late[statement::observe] = fault::connection_lost;
    other.db.advice.clear();
    static_cast<void>(other.attempt());
    check_failed(other, fault::connection_lost);
}

BOOST_AUTO_TEST_CASE(write_that_can_not_be_read_back_is_not_known_to_have_happened)
{
    holder.db.believes = false;
    const auto lose_the_look = [this](statement which) {
        before_the_look_after(holder, which, [this] { holder.db.late[statement::observe] = fault::connection_lost; });
    };
    const auto check_lost = [this](bool yes) {
        BOOST_TEST(!yes);
        BOOST_TEST(holder.failed == fault::connection_lost);
        holder.db.late.clear();
    };
    lose_the_look(statement::insert);
    check_lost(holder.attempt().granted());
    check_asked(holder, {statement::observe, statement::insert, statement::observe});
    lose_the_look(statement::take);
    check_lost(holder.attempt().granted());
    check_asked(holder, {statement::observe, statement::take, statement::observe});
    lose_the_look(statement::renew);
    check_lost(holder.renew(2));
    lose_the_look(statement::release);
    check_lost(holder.release(2));
    lose_the_look(statement::force_release);
    BOOST_TEST(holder.attempt().granted());
    check_lost(holder.force_release());
}

BOOST_AUTO_TEST_CASE(new_row_that_can_not_be_looked_at_is_not_said_to_be_missing)
{
    holder.db.believes = false;
    before_the_look_after(holder, statement::insert, [this] { holder.db.failures[statement::observe] = fault::connection_lost; });
    BOOST_TEST(!holder.attempt().granted());
    check_failed(holder, fault::connection_lost);
}

BOOST_AUTO_TEST_CASE(row_that_went_between_a_take_over_and_the_look_at_it_is_made_again)
{
    shared = row{"", 4, 5, 0};
    holder.db.believes = false;
    before_the_look_after(holder, statement::take, [this] { shared.reset(); });
    BOOST_TEST(holder.attempt().token == lh::fencing_token{1});
    check_failed(holder, fault::none);
}

BOOST_AUTO_TEST_CASE(inserted_row_that_somebody_else_has_by_now_is_busy_and_one_that_shows_nobody_we_know_is_refused)
{
    holder.db.believes = false;
    before_the_look_after(holder, statement::insert, [this] { shared = row{"next", 2, next_version(), 10'000'000}; });
    BOOST_TEST(busy(holder.attempt(), 10s));
    check_failed(holder, fault::none);
    contender fresh_table{shared, "a longer owner"};
    shared.reset();
    fresh_table.db.believes = false;
    fresh_table.db.keep = [](row& r) {
        r.owner.resize(3);
        r.version = 1;
    };
    static_cast<void>(fresh_table.attempt());
    check_failed(fresh_table, fault::failure, "byte by byte");
    BOOST_TEST(fresh_table.db.asked.size() == 3U);
}

BOOST_AUTO_TEST_CASE(renewal_that_changed_no_row_or_another_term_is_none)
{
    contender restarted{shared, "holder"};
    holder.db.believes = restarted.db.believes = false;
    BOOST_TEST(holder.attempt().granted());
    holder.db.count = [](std::int64_t) { return 0; };
    BOOST_TEST(!holder.renew(1));
    check_failed(holder, fault::none);
    holder.db.count = [](std::int64_t) { return -1; };
    BOOST_TEST(holder.renew(1));
    BOOST_TEST(restarted.attempt().token == lh::fencing_token{2});
    BOOST_TEST(!holder.renew(1));
    check_failed(holder, fault::none);
    shared.reset();
    BOOST_TEST(!restarted.renew(2));  // the row that was seen last is its own
    before_the_look_after(restarted, statement::renew, [this] { shared.reset(); });
    shared = row{"holder", 2, next_version(), 10'000'000};
    BOOST_TEST(!restarted.renew(2));
    check_failed(restarted, fault::none);
}

BOOST_AUTO_TEST_CASE(repeated_release_that_let_somebody_in_is_a_release)
{
    holder.db.believes = false;
    holder.db.count = [](std::int64_t) { return -1; };
    BOOST_TEST(holder.attempt().granted());
    before_the_look_after(holder, statement::release, [this] { BOOST_TEST(other.attempt().granted()); });
    holder.request = next_version();
    BOOST_TEST(holder.release_again(1));
    BOOST_TEST(holder.failed == fault::none);
}

BOOST_AUTO_TEST_CASE(forced_release_that_let_somebody_in_is_known_by_its_count)
{
    for (const auto& [live, said, ended] : {std::tuple{true, -1, true}, std::tuple{true, 1, true}, std::tuple{false, 0, false}}) {
        shared = row{"holder", 1, 5, live ? 10'000'000 : 0};
        contender by{shared, "operator"};
        contender next{shared, "next"};
        by.db.believes = false;
        by.db.count = [said = said](std::int64_t) { return said; };
        before_the_look_after(by, statement::force_release, [&next] { BOOST_TEST(next.attempt().granted()); });
        BOOST_TEST(by.force_release() == ended);
        BOOST_TEST(by.failed == fault::none);
        BOOST_TEST(shared->owner == (live ? "next" : "holder"));
    }
    shared = row{"holder", 1, 5, 10'000'000};
    other.db.failures[statement::force_release] = fault::conflict;
    other.db.count = [](std::int64_t) { return 1; };
    other.db.asked.clear();
    BOOST_TEST(!other.force_release());
    BOOST_TEST(other.failed == fault::conflict);
    check_asked(other, {statement::observe, statement::force_release});
}

BOOST_AUTO_TEST_SUITE_END()
