// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_ODBC_DETAIL_OBSERVING_FLOW_SCENE_HPP
#define LEASEHOLD_TESTS_UNIT_ODBC_DETAIL_OBSERVING_FLOW_SCENE_HPP

// One row in memory, and those who want it, each with a clock and observations of its own.

#include <leasehold/odbc/detail/flow/observing_flow.hpp>

#include <unit/odbc/detail/flow/scripted_database.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold_test::observing_flows {

namespace lh = leasehold;
namespace od = leasehold::odbc::detail;
using namespace std::chrono_literals;
using od::fault;
using od::grant_answer;
using od::statement;

struct row {
    std::string owner;
    std::int64_t token = 1;
    std::int64_t version = 0;
    std::int64_t ttl_us = 0;
};

/// What the statements do, to one row that several of them share. There is no clock in it: nothing could ask for one.
class table_connection {
public:
    table_connection(std::optional<row>& the_row, std::string owner) : row_{the_row}, owner_{std::move(owner)} {}

    std::function<void(statement)> before = [](statement) {};  // what others do in between
    std::map<statement, fault> failures;
    std::map<statement, fault> late;  // those of statements that are carried out, and may have shown a row
    std::function<std::int64_t(std::int64_t)> count = [](std::int64_t rows) { return rows; };  // what is said of it
    std::function<void(row&)> keep = [](row&) {};                                              // what becomes of what is written
    bool believes = true;
    bool reply_lost = false;  // of the next statement, which is carried out
    bool others_name = false;  // the row that is found is another name's
    std::string advice;
    bool constraint = false;  // what the failures are of
    std::vector<statement> asked;

    fault run(statement which)
    {
        const fault failed = carry_out(which);
        last_report_ = {failed, {{}, 0, {}, failed == fault::none ? "" : "of the last failure"}};
        return failed;
    }
    [[nodiscard]] bool found() const { return found_; }
    [[nodiscard]] std::int64_t rows() const { return rows_; }
    [[nodiscard]] std::int64_t time_to_live_us() const { return ttl_us; }
    [[nodiscard]] bool reads_back() const { return !believes; }
    [[nodiscard]] bool shows_name() const { return found_ && !others_name; }
    [[nodiscard]] bool met_constraint() const { return constraint; }
    fault fail(fault kind, const char* words)
    {
        advice = words;
        return kind;
    }
    [[nodiscard]] const od::failure& last_report() const { return last_report_; }
    void set_last_report(od::failure last) { last_report_ = std::move(last); }
    void set_time_to_live(lh::duration ttl) { ttl_us = std::chrono::ceil<std::chrono::microseconds>(ttl).count(); }
    [[nodiscard]] std::int64_t number(od::column which) const
    {
        switch (which) {
        case od::column::token: return shown_.token;
        case od::column::version: return shown_.version;
        case od::column::remaining: return shown_.ttl_us;
        case od::column::live: return shown_.ttl_us > 0;
        case od::column::whose: return shown_.owner == owner_ ? od::owner_is_us : shown_.owner.empty() ? od::owner_is_nobody : 0;
        default: return 0;
        }
    }
    [[nodiscard]] std::string_view text(od::column which) const
    {
        return which == od::column::name ? "n" : which == od::column::owner ? std::string_view{shown_.owner} : "";
    }
    [[nodiscard]] bool has_text(od::column) const { return false; }
    template <class Each>
    fault run_each(statement which, Each each)
    {
        asked.push_back(which);
        if (!row_ || row_->ttl_us == 0) return fault::none;
        shown_ = *row_;
        each(*this);
        return fault::none;
    }
    void set_upper(std::string_view) {}
    void set_token(std::int64_t token) { token_ = token; }
    void set_version(std::int64_t version) { version_ = version; }
    void set_seen(std::int64_t version) { seen_ = version; }

    std::int64_t ttl_us = 10'000'000;

private:
    fault carry_out(statement which)
    {
        asked.push_back(which);
        before(which);
        if (failures.contains(which)) return failures[which];
        if (which == statement::insert && row_) return fault::duplicate_key;
        rows_ = 0;
        found_ = false;
        if (which == statement::observe) {
            found_ = row_.has_value();
            if (found_) shown_ = *row_;
        } else {
            rows_ = count(write(which));
        }
        if (row_) keep(*row_);
        if (late.contains(which)) return late[which];
        return std::exchange(reply_lost, false) ? fault::connection_lost : fault::none;
    }

    // How many rows it changed.
    std::int64_t write(statement which)
    {
        const bool live = row_ && row_->ttl_us > 0;
        const bool this_term = live && row_->token == token_ && row_->owner == owner_;
        if (which == statement::insert && !row_) {
            row_ = row{owner_, 1, version_, ttl_us};
        } else if (which == statement::take && row_ && row_->token == token_ && row_->version == seen_) {
            row_ = row{owner_, token_ + 1, version_, ttl_us};
        } else if (which == statement::release && this_term) {
            if (ttl_us > 0) row_->owner.clear();
            row_->ttl_us = ttl_us;
            row_->version = version_;
        } else if (which == statement::renew && this_term) {
            row_->ttl_us = std::max(row_->ttl_us, ttl_us);
            row_->version = version_;
        } else if (which == statement::force_release && live && row_->token == token_) {
            row_->ttl_us = 0;
            row_->version = version_;
        } else {
            return 0;
        }
        return 1;
    }

    std::optional<row>& row_;
    row shown_;  // by the last look that found one
    bool found_ = false;
    std::string owner_;
    std::int64_t token_ = 0;
    std::int64_t version_ = 0;
    std::int64_t seen_ = 0;
    std::int64_t rows_ = 0;
    od::failure last_report_;
};

inline std::int64_t next_version()
{
    static std::int64_t last = 1000;
    return ++last;
}

struct contender {
    table_connection db;
    lh::time_point now{1h};
    od::observations seen{};
    fault failed = fault::none;
    bool fresh = false;

    contender(std::optional<row>& the_row, std::string owner) : db{the_row, std::move(owner)} {}

    std::int64_t request = 0;  // whose version the writes leave
    std::int64_t forced = 0;   // the term that force_release() has found

    auto by(std::int64_t version)
    {
        return od::observer{seen, "n", version, [this] { return now; }};
    }
    lh::acquire_result attempt()
    {
        request = next_version();
        return attempt_again();
    }
    lh::acquire_result attempt_again()
    {
        grant_answer answer;
        failed = came_to(answer, od::observing_grant_flow(db, by(request)));
        fresh = answer.fresh;
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
        failed = came_to(released, od::observing_release_flow(db, by(request), token, min_hold_left, repeated));
        db.ttl_us = ttl_us;
        return released;
    }
    bool force_release()
    {
        request = next_version();
        forced = 0;
        return force_release_again(false);
    }
    bool force_release_again(bool repeated = true)
    {
        bool ended = true;
        failed = came_to(ended, od::observing_force_release_flow(db, request, forced, repeated));
        return ended;
    }
    lh::duration left()
    {
        lh::duration d = 1h;
        failed = came_to(d, od::observing_inspect_flow(db, seen, "n", [this] { return now; }));
        return d;
    }
    std::vector<lh::lease_record> list()
    {
        std::vector<lh::lease_record> records;
        failed = od::observing_list_flow(db, seen, "", records, [this] { return now; });
        return records;
    }
    bool renew(std::int64_t token)
    {
        bool renewed = true;
        failed = came_to(renewed, od::observing_renew_flow(db, by(next_version()), token));
        return renewed;
    }
};

struct scene {
    std::optional<row> shared;
    contender holder{shared, "holder"};
    contender other{shared, "other"};
};

inline bool busy(const lh::acquire_result& result, lh::duration remaining)
{
    return !result.granted() && result.remaining == remaining;
}

using statements = std::vector<statement>;

inline void check_asked(contender& by, const statements& wanted)
{
    BOOST_TEST(by.db.asked == wanted, boost::test_tools::per_element());
    by.db.asked.clear();
}

inline void check_failed(const contender& by, fault wanted, const std::string& words = {})
{
    BOOST_TEST(by.failed == wanted);
    BOOST_TEST(by.db.advice.find(words) != std::string::npos, by.db.advice);
    if (words.empty()) BOOST_TEST(by.db.advice == "");
}

// What others do before the first look that comes after `which`.
inline void before_the_look_after(contender& by, statement which, std::function<void()> act)
{
    by.db.before = [&by, which, act](statement next) {
        const bool is_after = by.db.asked.size() > 1 && by.db.asked[by.db.asked.size() - 2] == which;
        if (next == statement::observe && is_after) act();
    };
}

}  // namespace leasehold_test::observing_flows

#endif
