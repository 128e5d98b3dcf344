// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_STEPS_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_STEPS_HPP

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/odbc/detail/driver/batches.hpp>
#include <leasehold/odbc/detail/driver/connection.hpp>
#include <leasehold/odbc/detail/flow/advice.hpp>
#include <leasehold/odbc/detail/flow/attempts_flow.hpp>
#include <leasehold/odbc/detail/flow/batch_flow.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>
#include <leasehold/odbc/detail/flow/observing_flow.hpp>
#include <leasehold/odbc/detail/session/job.hpp>
#include <leasehold/odbc/detail/session/session.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// The jobs, and the steps of jobs, that several operations of the store need. The others stand with their operation, in odbc/src.hpp.
namespace leasehold::inline v0::odbc::detail {

// Does nothing: a session connects before it carries out a job.
inline auto connect_job() noexcept
{
    return job_of{[](session&, bool) { return outcome<bool>{true}; }, {.uses_table = false}};
}

inline outcome<bool> renew_term(session& on, std::int64_t token, duration ttl)
{
    on.database().set_time_to_live(ttl);
    return on.database().observes() ? observing_renew_flow(on.database(), on.by(), token) : renew_flow(on.database(), token);
}

inline outcome<bool> release_term(session& on, std::int64_t token, duration min_hold_left, bool repeated)
{
    const bool min_hold = min_hold_left > duration::zero();
    on.database().set_time_to_live(min_hold_left);
    return on.database().observes() ? observing_release_flow(on.database(), on.by(), token, min_hold, repeated)
                                    : release_flow(on.database(), token, min_hold, repeated);
}

// Releases the term with that token, of the call's name and owner.
inline auto release_job(std::int64_t token, duration min_hold_left = {})
{
    const auto step = [=](session& on, bool repeated) { return release_term(on, token, min_hold_left, repeated); };
    return job_of{step, {.ends_token = token}};
}

// Once per store: whether another connection sees the term that this one has written. Somebody may have got a later term since. The look
// is not bound to the call's time: connecting may take longer, and what comes out is for the next one too.
inline fault look_from_outside(session& on, std::int64_t token)
{
    connection outside{on.database().config()};
    outside.begin_call(session::time_point::max());
    outside.in().name.assign(on.name());
    fault failed = outside.connect();
    if (failed == fault::none) failed = observe(outside);
    if (failed != fault::none) {
        on.database().set_last_report(outside.last_report());
        return failed;
    }
    if (!outside.found() || (outside.number(column::version) != on.version() && outside.number(column::token) <= token)) {
        on.disconnect();
        return on.database().fail(fault::failure, advice::not_committed);
    }
    on.database().config()->note_commits();
    return fault::none;
}

// One attempt at the call's name. `hint`: see grant_flow(), for the first try.
class attempt_job final : public job_with_result<attempt_job, grant_answer> {
public:
    explicit attempt_job(duration ttl, std::int64_t hint = 0) noexcept : job_with_result{job_traits{}}, ttl_{ttl}, hint_{hint} {}

    fault try_once(session& on, bool) override
    {
        connection& db = on.database();
        db.set_time_to_live(ttl_);
        const std::int64_t hint = std::exchange(hint_, 0);
        const outcome<grant_answer> answer = db.observes() ? observing_grant_flow(db, on.by()) : grant_flow(db, hint);
        result = *answer;
        if (!db.observes() || !result.result.granted() || !db.reads_back() || db.config()->is_known_to_commit()) return answer.failed();
        const fault unseen = look_from_outside(on, result.result.token.value());
        if (unseen != fault::none) result = {};
        return unseen;
    }

    // Busy only if the term is another owner's. A name that was released, or whose min_hold is over, is free: no fence of it can be open,
    // since its release took the write lock. Where terms end by observation there are no fences.
    bool read_as_busy(session& on) override
    {
        connection& db = on.database();
        if (db.observes()) {
            const outcome<duration> left = on.observed_left();
            if (*left <= duration::zero() || db.number(column::whose) == owner_is_us) return false;
            result = busy_for(db.number(column::token), *left);
            return true;
        }
        if (db.run(statement::read) != fault::none || !db.found() || holder_read(db) == holder::us) return false;
        const bool has_term = db.number(column::live) != 0;
        if (!has_term && (db.number(column::released) != 0 || db.number(column::whose) == owner_is_nobody)) return false;
        result = busy_as_read(db);
        return true;
    }

    [[nodiscard]] item_number attempts_made() const noexcept override { return 1; }
    [[nodiscard]] job_attempt attempt(item_number, const call_texts& texts) const noexcept override
    {
        return {texts.name, texts.owner, texts.wakes.value_or(texts.name), &result};
    }

private:
    duration ttl_;
    std::int64_t hint_;
};

// Many attempts with one ttl. The result is in `many`.
class attempts_job final : public job_with_result<attempts_job, std::monostate> {
public:
    attempts_job(std::shared_ptr<attempts> many, duration ttl) noexcept
        : job_with_result{job_traits{}}, many_{std::move(many)}, ttl_{ttl}
    {
    }

    fault try_once(session& on, bool repeated) override
    {
        on.database().set_time_to_live(ttl_);
        return attempts_flow(on.database(), *many_, repeated, [&on](std::string_view name, std::string_view owner) {
            on.set_names(name, owner);
            return grant_flow(on.database(), 0);
        });
    }

    bool read_as_busy(session& on) override { return attempted_busy_as_read(on.database(), *many_); }

    [[nodiscard]] item_number attempts_made() const noexcept override { return static_cast<item_number>(many_->size()); }
    [[nodiscard]] job_attempt attempt(item_number i, const call_texts&) const noexcept override
    {
        const auto& answer = many_->answer(i);
        return {many_->name(i), many_->owner(i), many_->wakes(i), answer ? &*answer : nullptr};
    }

private:
    std::shared_ptr<attempts> many_;
    duration ttl_;
};

// Renews or releases many terms. The answers are in `many`, also if it fails. `time`: their ttl, or min_hold_left.
struct batch_step {
    batch_kind kind;
    std::shared_ptr<batch> many;
    duration time;

    outcome<bool> operator()(session& on, bool repeated) const
    {
        on.database().set_time_to_live(time);
        return batch_flow(on.database(), kind, *many, [&](std::string_view name, std::string_view owner, std::int64_t token) {
            on.set_names(name, owner);
            return kind == batch_kind::renewals ? renew_term(on, token, time)
                                                : release_term(on, token, time, repeated || on.database().commit_failed());
        });
    }
};

// Uses the session lock that was set. The result: whether the session has taken it.
inline auto lock_job(lock_use use) noexcept
{
    const auto step = [use](session& on, bool) -> outcome<bool> {
        if (use == lock_use::gives_back) return on.lock().give_back();
        return use == lock_use::waits ? on.lock().wait() : on.lock().take(statement::try_lock);
    };
    return job_of{step, {.lock = use, .uses_table = false}};
}

// Ends the wait of another session, see session_lock.
inline auto end_wait_job(std::int64_t backend) noexcept
{
    return job_of{[backend](session& on, bool) -> outcome<bool> { return on.lock().end_wait_of(backend); }, {.uses_table = false}};
}

// After a lock_job.
inline bool has_taken_lock(session& by) noexcept
{
    assert(by.done().traits.lock != lock_use::none);
    return by.failed().kind == fault::none && static_cast<const decltype(lock_job({}))&>(by.done()).result;
}

// The row of the call's name as it is: its token, and what is left of the term.
struct seen_term {
    acquire_result row{};
    bool ours = false;
};

inline outcome<seen_term> look_at_term(session& on)
{
    const connection& db = on.database();
    seen_term seen;
    if (const fault failed = on.database().run(statement::read); failed != fault::none || !db.found()) return failed;
    seen.ours = db.number(column::whose) == owner_is_us;
    seen.row.token = fencing_token{db.number(column::token)};
    if (db.number(column::live) != 0)
        seen.row.remaining = std::chrono::microseconds{std::max<std::int64_t>(db.number(column::remaining), 1)};
    return seen;
}

// Ends the terms of names that nobody held before, which the session's last job was granted and nobody was told of. Nothing else has
// their tokens. Best effort.
inline void undo_grants(session& by)
{
    struct term {
        std::string name, owner;
        std::int64_t token;
    };
    std::vector<term> unknown;
    const job& done = by.done();
    for (item_number i = 0; i < done.attempts_made(); ++i) {
        const job_attempt made = done.attempt(i, {.name = by.name(), .owner = by.owner()});
        if (made.answer && made.answer->result.granted() && made.answer->fresh)
            unknown.push_back({std::string{made.name}, std::string{made.owner}, made.answer->result.token.value()});
    }
    for (const term& granted : unknown) {
        const auto until = std::chrono::steady_clock::now() + by.database().config()->options().call_timeout;
        by.prepare({.name = granted.name, .owner = granted.owner}, release_job(granted.token), until);
        by.perform();
    }
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
