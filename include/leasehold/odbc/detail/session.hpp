// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_HPP

#include <leasehold/odbc/detail/call.hpp>
#include <leasehold/odbc/detail/connection.hpp>
#include <leasehold/odbc/detail/flow.hpp>
#include <leasehold/odbc/detail/schema_flow.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// New connections made in one call after the first was lost.
inline constexpr int max_reconnects = 1;
// Pauses between tries after a conflict: the first and the longest, each with jitter.
inline constexpr std::chrono::microseconds first_pause{500};
inline constexpr std::chrono::microseconds longest_pause{50'000};

// One connection that carries out one request at a time, with retries and reconnection within the request's time. Without
// threads: whoever calls perform() may block in the driver. Not thread-safe.
class session {
public:
    using time_point = connection::time_point;

    explicit session(std::shared_ptr<const configuration> config)
        : patience_{config->options().call_timeout}, db_{std::move(config)},
          random_{static_cast<std::minstd_rand::result_type>(reinterpret_cast<std::uintptr_t>(this) >> 4U)}
    {
    }

    // Copies all of the request.
    void prepare(const request& asked, time_point deadline)
    {
        what_ = asked.what;
        token_ = asked.token;
        time_ = asked.time;
        first_ = asked.first;
        deadline_ = deadline;
        db_.set_deadline(deadline);
        db_.in().name.assign(asked.name);
        db_.in().owner.assign(asked.owner);
    }

    // Fills in the answer; an exception (std::bad_alloc) ends up there too.
    void perform() noexcept
    {
        answer_.failed = fault::none;
        try {
            answer_.thrown = nullptr;
            answer_.record.reset();
            answer_.records.clear();
            persevere();
        } catch (...) {
            answer_.failed = fault::failure;
            answer_.thrown = std::current_exception();
        }
    }

    // Ends the term that the last request was granted and nobody was told of. Best effort.
    void undo() noexcept
    {
        prepare_undo();
        perform();
    }

    void disconnect() noexcept { db_.disconnect(); }

    [[nodiscard]] answer& result() noexcept { return answer_; }
    [[nodiscard]] const connection& database() const noexcept { return db_; }
    [[nodiscard]] operation what() const noexcept { return what_; }
    // Of the last request; not written while it is carried out.
    [[nodiscard]] std::string_view name() const noexcept { return db_.in().name.view(); }
    [[nodiscard]] std::string_view owner() const noexcept { return db_.in().owner.view(); }
    // A new term has come out of it, which only matters if nobody waits for the answer any longer.
    [[nodiscard]] bool was_granted_a_new_term() const noexcept
    {
        return what_ == operation::acquire && answer_.failed == fault::none && answer_.grant.result.granted() &&
               answer_.grant.fresh;
    }
    [[nodiscard]] bool runs_in_process() const noexcept
    {
        return db_.sql() != nullptr && db_.sql()->description().in_process;
    }

private:
    void prepare_undo() noexcept
    {
        what_ = operation::release;
        token_ = answer_.grant.result.token.value();
        time_ = duration::zero();
        deadline_ = std::chrono::steady_clock::now() + patience_;
        db_.set_deadline(deadline_);
    }

    void persevere()
    {
        int reconnects = 0;
        bool repeated = false;
        for (int tries = 0;; ++tries) {
            fault failed = db_.connected() ? fault::none : db_.connect();
            if (failed == fault::none) failed = step(repeated);
            answer_.failed = failed;
            if (failed == fault::none) return;
            if (failed == fault::connection_lost) {
                db_.disconnect();
                repeated = true;
                if (reconnects++ < max_reconnects) continue;
            } else if (failed == fault::conflict || failed == fault::lock_timeout || failed == fault::starting) {
                if (what_ != operation::connect && pause(tries)) continue;
            } else if (failed == fault::timeout || (failed == fault::failure && db_.last_report().details.advice.empty())) {
                db_.disconnect();  // what state it is in isn't known
            }
            answer_.details = db_.last_report().details;
            return;
        }
    }

    // Before the next try; false where it would begin after the deadline.
    bool pause(int tries)
    {
        const auto limit = std::min<std::chrono::microseconds>(first_pause * (1 << std::min(tries, 7)), longest_pause);
        const std::chrono::microseconds chosen{
            std::uniform_int_distribution<std::int64_t>{limit.count() / 4, limit.count()}(random_)};
        const auto now = std::chrono::steady_clock::now();
        if (deadline_ - now <= chosen) return false;
        std::this_thread::sleep_for(chosen);
        return true;
    }

    fault step(bool repeated)
    {
        switch (what_) {
        case operation::acquire: return acquire();
        case operation::renew: db_.set_time_to_live(time_); return renew_flow(db_, token_, answer_.yes);
        case operation::release:
            db_.set_time_to_live(time_);
            return release_flow(db_, token_, time_ > duration::zero(), repeated, answer_.yes);
        case operation::inspect: return inspect();
        case operation::list: return list();
        case operation::force_release: {
            const fault failed = db_.run(statement::force_release);
            answer_.yes = failed == fault::none && db_.rows() > 0;
            return failed;
        }
        case operation::create_schema: return schema_flow(db_);
        case operation::connect: return fault::none;
        }
        return fault::none;
    }

    fault acquire()
    {
        if (first_.token != 0) {
            bool ignored = false;
            db_.set_time_to_live(first_.keep_closed);
            const fault failed = release_flow(db_, first_.token, first_.keep_closed > duration::zero(), false, ignored);
            if (failed != fault::none) return failed;
            first_ = {};
        }
        db_.set_time_to_live(time_);
        return grant_flow(db_, std::exchange(token_, 0), answer_.grant);
    }

    lease_record record(std::string_view name) const
    {
        const std::chrono::microseconds remaining{std::max<std::int64_t>(1, db_.number(column::remaining))};
        return {std::string{name}, std::string{db_.text(column::owner)}, fencing_token{db_.number(column::token)},
                remaining};
    }

    fault inspect()
    {
        const fault failed = db_.run(statement::inspect);
        if (failed == fault::none && db_.found()) answer_.record = record(name());
        return failed;
    }

    // The range ends with the greatest text that begins with the prefix and fits; what a foreign collation lets through
    // beside it is dropped here, and the order of bytes made.
    fault list()
    {
        constexpr std::string_view last_character = "\xF4\x8F\xBF\xBF";
        std::string upper{name()};
        while (upper.size() + last_character.size() <= max_name_bytes) upper += last_character;
        db_.in().upper.assign(upper);
        answer_.records.clear();
        const fault failed = db_.run_each(statement::list, [this](const connection& row) {
            if (row.text(column::name).starts_with(name())) answer_.records.push_back(record(row.text(column::name)));
        });
        std::sort(answer_.records.begin(), answer_.records.end(),
                  [](const auto& a, const auto& b) { return a.name < b.name; });
        return failed;
    }

    duration patience_;  // for undo()
    connection db_;
    std::minstd_rand random_;
    operation what_ = operation::connect;
    std::int64_t token_ = 0;
    duration time_{};
    unfinished_release first_{};
    time_point deadline_ = time_point::max();
    answer answer_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
