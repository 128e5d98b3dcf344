// SPDX-License-Identifier: BSL-1.0
// Expiry by observation over a driver that nobody knows: its counts of rows and its errors are not believed. The row is read back.
#include <support/printing.hpp>
#include <unit/odbc/detail/observing_flow_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <functional>
#include <new>
#include <string>
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

BOOST_AUTO_TEST_CASE(who_comes_between_a_release_and_the_look_at_it_makes_it_no_loss)
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

BOOST_AUTO_TEST_CASE(what_is_not_kept_is_refused_in_a_new_row_and_in_one_that_was_there)
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

BOOST_AUTO_TEST_SUITE_END()
