// SPDX-License-Identifier: BSL-1.0
// Expiry by observation, on a row in memory: who gets it when, and what a clock of the database can do to it (nothing).
#include <support/printing.hpp>
#include <unit/odbc/detail/scripted_database.hpp>

#include <leasehold/odbc/detail/flow/observing_flow.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <new>
#include <string>
#include <utility>

namespace observing_flow_test {

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;
using od::fault;
using od::grant_answer;
using od::statement;

namespace {

struct row {
    std::string owner;
    std::int64_t token = 1;
    std::int64_t version = 0;
    std::int64_t ttl_us = 0;
};

// What the statements do, to one row that several of them share. There is no clock in it: nothing could ask for one.
class table_connection {
public:
    table_connection(std::optional<row>& the_row, std::string owner) : row_{the_row}, owner_{std::move(owner)} {}

    std::function<void(statement)> before = [](statement) {};  // what others do in between
    std::map<statement, fault> failures;
    std::function<std::int64_t(std::int64_t)> count = [](std::int64_t rows) { return rows; };  // what is said of it
    std::function<void(row&)> keep = [](row&) {};                                              // what becomes of what is written
    bool believes = true;
    bool reply_lost = false;  // of the next statement, which is carried out
    std::string advice;
    bool constraint = false;  // what the failures are of

    fault run(statement which)
    {
        before(which);
        if (failures.contains(which)) return failures[which];
        rows_ = 0;
        if (which == statement::observe) {
            shown_ = row_;
        } else if (which == statement::insert) {
            if (row_) return fault::duplicate_key;
            row_ = row{owner_, 1, version_, ttl_us};
            rows_ = 1;
        } else if (which == statement::take && row_ && row_->token == token_ && row_->version == seen_) {
            row_ = row{owner_, token_ + 1, version_, ttl_us};
            rows_ = 1;
        } else if (which == statement::release && row_ && row_->token == token_ && row_->owner == owner_ && row_->ttl_us > 0) {
            if (ttl_us > 0) row_->owner.clear();
            row_->ttl_us = ttl_us;
            row_->version = version_;
            rows_ = 1;
        } else if (which == statement::renew && row_ && row_->token == token_ && row_->owner == owner_ && row_->ttl_us > 0) {
            row_->ttl_us = std::max(row_->ttl_us, ttl_us);
            row_->version = version_;
            rows_ = 1;
        } else if (which == statement::force_release && row_ && row_->ttl_us > 0) {
            row_->ttl_us = 0;
            row_->version = version_;
            rows_ = 1;
        }
        if (which != statement::observe) rows_ = count(rows_);
        if (row_) keep(*row_);
        return std::exchange(reply_lost, false) ? fault::connection_lost : fault::none;
    }
    [[nodiscard]] bool found() const { return shown_.has_value(); }
    [[nodiscard]] std::int64_t rows() const { return rows_; }
    [[nodiscard]] std::int64_t time_to_live_us() const { return ttl_us; }
    [[nodiscard]] bool reads_back() const { return !believes; }
    [[nodiscard]] bool shows_name() const { return true; }
    [[nodiscard]] bool met_constraint() const { return constraint; }
    fault fail(fault kind, const char* words)
    {
        advice = words;
        return kind;
    }
    void set_time_to_live(lh::duration ttl) { ttl_us = std::chrono::ceil<std::chrono::microseconds>(ttl).count(); }
    [[nodiscard]] std::int64_t number(od::column which) const
    {
        switch (which) {
        case od::column::token: return shown_->token;
        case od::column::version: return shown_->version;
        case od::column::remaining: return shown_->ttl_us;
        case od::column::live: return shown_->ttl_us > 0;
        case od::column::whose:
            return shown_->owner == owner_ ? od::owner_is_us : shown_->owner.empty() ? od::owner_is_nobody : 0;
        default: return 0;
        }
    }
    void set_token(std::int64_t token) { token_ = token; }
    void set_version(std::int64_t version) { version_ = version; }
    void set_seen(std::int64_t version) { seen_ = version; }

    std::int64_t ttl_us = 10'000'000;

private:
    std::optional<row>& row_;
    std::optional<row> shown_;
    std::string owner_;
    std::int64_t token_ = 0;
    std::int64_t version_ = 0;
    std::int64_t seen_ = 0;
    std::int64_t rows_ = 0;
};

std::int64_t next_version()
{
    static std::int64_t last = 1000;
    return ++last;
}

struct contender {
    table_connection db;
    lh::time_point now{1h};
    od::observations seen{};
    fault failed = fault::none;

    contender(std::optional<row>& the_row, std::string owner) : db{the_row, std::move(owner)} {}

    std::int64_t request = 0;  // whose version the writes leave

    lh::acquire_result attempt()
    {
        request = next_version();
        return attempt_again();
    }
    lh::acquire_result attempt_again()
    {
        grant_answer answer;
        failed = od::observing_grant_flow(db, seen, "n", request, [this] { return now; }, answer);
        return answer.result;
    }
    bool release(std::int64_t token, bool min_hold_left = false)
    {
        request = next_version();
        return release_again(token, min_hold_left, false);
    }
    bool release_again(std::int64_t token, bool min_hold_left = false, bool repeated = true)
    {
        bool released = true;
        const std::int64_t ttl_us = db.ttl_us;
        if (!min_hold_left) db.ttl_us = 0;
        failed =
            od::observing_release_flow(db, seen, "n", token, request, min_hold_left, repeated, [this] { return now; }, released);
        db.ttl_us = ttl_us;
        return released;
    }
    bool force_release()
    {
        bool ended = false;
        failed = od::observing_force_release_flow(db, next_version(), false, ended);
        return ended;
    }
    lh::duration left()
    {
        lh::duration d{};
        failed = od::observing_inspect_flow(db, seen, "n", [this] { return now; }, d);
        return d;
    }
    bool renew(std::int64_t token)
    {
        bool renewed = true;
        failed = od::observing_renew_flow(db, seen, "n", token, next_version(), [this] { return now; }, renewed);
        return renewed;
    }
};

struct scene {
    std::optional<row> shared;
    contender holder{shared, "holder"};
    contender other{shared, "other"};
};

bool busy(const lh::acquire_result& result, lh::duration remaining)
{
    return !result.granted() && result.remaining == remaining;
}

}  // namespace
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

BOOST_AUTO_TEST_CASE(each_renewal_begins_the_observation_anew)
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

BOOST_AUTO_TEST_CASE(who_closes_a_name_knows_since_when)
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

BOOST_AUTO_TEST_CASE(row_that_was_made_anew_is_not_the_one_observed)
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

BOOST_AUTO_TEST_CASE(what_was_written_is_known_by_its_version_when_the_reply_is_lost)
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
