// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_SESSION_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_SESSION_HPP

#include <leasehold/odbc/detail/driver/batches.hpp>
#include <leasehold/odbc/detail/driver/connecting.hpp>
#include <leasehold/odbc/detail/driver/connection.hpp>
#include <leasehold/odbc/detail/flow/attempts_flow.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>
#include <leasehold/odbc/detail/flow/handover_flow.hpp>
#include <leasehold/odbc/detail/flow/observing_flow.hpp>
#include <leasehold/odbc/detail/flow/operator_flows.hpp>
#include <leasehold/odbc/detail/queue/session_lock_key.hpp>
#include <leasehold/odbc/detail/session/call.hpp>
#include <leasehold/odbc/detail/session/retries.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

inline constexpr const char* no_purge =
    "names can't be purged here: the generic dialect and stores that expire by observation keep no time of last use";

inline constexpr const char* no_handover = "this dialect has no statements for the data and the requests of a term (dialect::spec::handover)";

// PostgreSQL has no room for more locks of any kind: nobody can connect, or lock a table, before some are given back.
inline constexpr const char* out_of_shared_memory = "53200";
// New connections made in one call after the first was lost.
inline constexpr int max_reconnects = 1;

// One connection that carries out one request at a time, with retries and a new connection within the request's time. Without
// threads: the thread that calls perform() may block in the driver. Not thread-safe.
class session {
public:
    using time_point = connection::time_point;

    explicit session(std::shared_ptr<const configuration> config)
        : call_timeout_{config->options().call_timeout}, lock_timeout_{config->lock_timeout()}, gate_{config->gate()},
          seen_{config->seen()}, db_{std::move(config)},
          pause_{reinterpret_cast<std::uintptr_t>(this) >> 4U}
    {
    }

    // Copies all of the request.
    void prepare(const request& asked, time_point deadline)
    {
        what_ = asked.what;
        version_ = 0;
        token_ = asked.token;
        time_ = asked.time;
        many_ = asked.many;
        attempted_ = asked.attempted;
        lock_connection_ = 0;
        lock_cancelled_ = false;
        deadline_ = deadline;
        db_.begin_call(deadline);
        db_.in().name.assign(asked.name);
        db_.in().owner.assign(asked.owner);
        db_.in().data.assign(asked.data);
    }

    // After prepare(): which session lock it is about; for `unlock`, the connection that has it.
    void set_lock(const session_lock_key& key, std::uint64_t connection = 0) noexcept
    {
        lock_connection_ = connection;
        db_.in().lock_number = key.number();
        const auto text = key.text();
        db_.in().lock_name.assign({text.data(), text.size()});
    }

    // From any thread: a wait for a lock that hasn't begun doesn't begin.
    void cancel_lock() noexcept { lock_cancelled_ = true; }
    // From any thread: by what number others can end it; 0: not known yet.
    [[nodiscard]] std::int64_t backend() const noexcept { return backend_; }
    // Which connection this is: the first, the second, ...; between calls.
    [[nodiscard]] std::uint64_t connection_number() const noexcept { return connection_number_; }

    // Fills in the answer; an exception (std::bad_alloc) ends up there too.
    void perform() noexcept
    {
        answer_.failed = fault::none;
        try {
            answer_.thrown = nullptr;
            answer_.record.reset();
            answer_.reason.reset();
            answer_.records.clear();
            answer_.purged = {};
            answer_.yes = false;
            try_until_deadline();
        } catch (...) {
            answer_.failed = fault::failure;
            answer_.thrown = std::current_exception();
        }
    }

    // Ends a term that an attempt was granted and nobody was told of. Best effort.
    void undo(std::string_view name, std::string_view owner, std::int64_t token) noexcept
    {
        what_ = operation::release;
        db_.in().name.assign(name);
        db_.in().owner.assign(owner);
        version_ = 0;
        token_ = token;
        time_ = duration::zero();
        deadline_ = std::chrono::steady_clock::now() + call_timeout_;
        db_.begin_call(deadline_);
        perform();
    }

    void disconnect() noexcept { db_.disconnect(); }

    [[nodiscard]] answer& result() noexcept { return answer_; }
    [[nodiscard]] const connection& database() const noexcept { return db_; }
    // Of the last request, if it was acquire_many; else null.
    [[nodiscard]] const std::shared_ptr<attempts>& attempted() const noexcept { return attempted_; }
    [[nodiscard]] duration call_timeout() const noexcept { return call_timeout_; }
    [[nodiscard]] operation what() const noexcept { return what_; }
    // Of the last request; not written while it is carried out.
    [[nodiscard]] std::string_view name() const noexcept { return db_.in().name.view(); }
    [[nodiscard]] std::string_view owner() const noexcept { return db_.in().owner.view(); }
    // The token of the term that came out of it, which only matters if nobody waits for the answer any longer; 0: none did.
    [[nodiscard]] std::int64_t granted_token() const noexcept
    {
        const bool granted = what_ == operation::acquire && answer_.failed == fault::none && answer_.grant.result.granted();
        return granted ? answer_.grant.result.token.value() : 0;
    }
    [[nodiscard]] bool runs_in_process() const noexcept
    {
        return db_.sql() != nullptr && db_.sql()->spec().in_process;
    }

private:
    void try_until_deadline()
    {
        const time_point begun = std::chrono::steady_clock::now();
        int reconnects = 0;
        bool repeated = false;
        for (int tries = 0;; ++tries) {
            fault failed = db_.connected() ? fault::none : connect();
            if (failed == fault::none) failed = step(repeated);
            answer_.failed = failed;
            if (failed == fault::none) return;
            if (db_.last_report().details.sqlstate == out_of_shared_memory) db_.give_up_locks();
            if (db_.met_pooler() && reconnects++ < max_reconnects) continue;
            if (failed == fault::connection_lost && db_.connected()) db_.config()->note_lost_connection();
            if (what_ == operation::lock) {
                // The place in line is lost; whether it is worth another is for the waiter to say.
                if (!lock_cancelled_ || failed == fault::connection_lost) db_.disconnect();
            } else if (failed == fault::connection_lost || failed == fault::read_only) {
                db_.disconnect();
                repeated = repeated || failed == fault::connection_lost;
                if (reconnects++ < max_reconnects) continue;
            } else if (failed == fault::conflict || failed == fault::lock_timeout || failed == fault::starting) {
                if (busy_by_now(begun)) return;
                const bool once = what_ == operation::connect || (what_ == operation::purge && failed == fault::lock_timeout);
                if (!once && pause_.before_next(tries, deadline_)) continue;
            } else if (failed == fault::timeout || (failed == fault::failure && db_.last_report().details.advice.empty())) {
                db_.disconnect();  // what state it is in isn't known
            }
            answer_.details = explanation();
            return;
        }
    }

    // A conflict may come of statements none of which failed, or none but in a way that could be waited out; so may what is overtaken.
    [[nodiscard]] store_diagnostics explanation() const
    {
        if (db_.last_report().kind != fault::none) return db_.last_report().details;
        store_diagnostics details = db_.last_refusal();
        details.advice = answer_.failed == fault::overtaken ? advice::overtaken : advice::conflict;
        return details;
    }

    // SQLite has one lock for all that write, and no telling it from a conflict. A grant that has met it for long enough is
    // busy if the name had a term before, which its holder may have fenced.
    bool busy_by_now(time_point begun)
    {
        const bool attempt = what_ == operation::acquire || what_ == operation::acquire_many;
        if (!attempt || answer_.failed != fault::conflict || !runs_in_process()) return false;
        if (std::chrono::steady_clock::now() - begun < lock_timeout_) return false;
        if (what_ == operation::acquire_many) return busy_of_many();
        const report why = db_.last_report();
        const bool read = look_who_holds() == fault::none && db_.found();
        // One's own term is nobody else's.
        if (read && (db_.number(column::live) == 0 || db_.number(column::whose) != owner_is_us)) {
            answer_.failed = fault::none;
            return true;
        }
        db_.set_last_report(why);
        return false;
    }

    bool busy_of_many()
    {
        const report why = db_.last_report();
        if (attempted_busy_as_read(db_, *attempted_)) {
            answer_.failed = fault::none;
            return true;
        }
        db_.set_last_report(why);
        return false;
    }

    fault look_who_holds()
    {
        if (!db_.observes()) return busy_after_reading(db_, answer_.grant);
        const fault failed = observe(db_);
        if (failed == fault::none) answer_.grant = busy_as_read(db_);
        return failed;
    }

    // Of this request, and the same in all its tries: see observing_flow.hpp.
    std::int64_t version()
    {
        if (version_ == 0) version_ = observations::new_version();
        return version_;
    }

    fault step(bool repeated)
    {
        switch (what_) {
        case operation::acquire: return acquire();
        case operation::look: return look();
        case operation::renew: return renew();
        case operation::release: return release(repeated);
        case operation::inspect: return inspect();
        case operation::list: return list_flow(db_, name(), answer_.records);
        case operation::purge: return purge();
        case operation::publish:
        case operation::request_handover:
        case operation::handover_requested: return hand_over();
        case operation::force_release: return force_release(repeated);
        case operation::create_schema: return schema_flow(db_);
        case operation::health: return health_flow(db_, &wall_now, answer_.health);
        case operation::connect: return fault::none;
        case operation::lock: return lock();
        case operation::try_lock: return try_lock();
        case operation::renew_many: return many(batch_kind::renewals, repeated);
        case operation::release_many: return many(batch_kind::releases, repeated);
        case operation::acquire_many: return acquire_many(repeated);
        case operation::unlock: return unlock();
        case operation::end_wait: {
            if (!db_.locks()) return fault::none;
            const fault failed = db_.end_wait(token_);
            return failed == fault::failure ? fault::none : failed;  // no such session any longer
        }
        }
        return fault::none;
    }

    static duration wall_now() noexcept
    {
        return std::chrono::duration_cast<duration>(std::chrono::system_clock::now().time_since_epoch());
    }

    fault renew()
    {
        db_.set_time_to_live(time_);
        if (db_.observes())
            return observing_renew_flow(db_, seen_, name(), token_, version(), &observations::now, answer_.yes);
        return renew_flow(db_, token_, answer_.yes);
    }

    fault release(bool repeated)
    {
        const bool min_hold = time_ > duration::zero();
        db_.set_time_to_live(time_);
        if (db_.observes())
            return observing_release_flow(db_, seen_, name(), token_, version(), min_hold, repeated, &observations::now,
                                          answer_.yes);
        return release_flow(db_, token_, min_hold, repeated, answer_.yes);
    }

    fault force_release(bool repeated)
    {
        if (db_.observes()) return observing_force_release_flow(db_, version(), repeated, answer_.yes);
        const fault failed = db_.run(statement::force_release);
        answer_.yes = failed == fault::none && db_.rows() > 0;
        return failed;
    }

    fault many(batch_kind kind, bool repeated)
    {
        db_.set_time_to_live(time_);
        return batch_flow(db_, kind, *many_, [&](std::string_view name, std::string_view owner, std::int64_t token, bool& yes) {
            db_.in().name.assign(name);
            db_.in().owner.assign(owner);
            token_ = token;
            const fault failed = kind == batch_kind::renewals ? renew() : release(repeated);
            yes = failed == fault::none && answer_.yes;
            return failed;
        });
    }

    fault acquire_many(bool repeated)
    {
        db_.set_time_to_live(time_);
        return attempts_flow(db_, *attempted_, repeated, [&](std::string_view name, std::string_view owner, grant_answer& said) {
            db_.in().name.assign(name);
            db_.in().owner.assign(owner);
            return grant_flow(db_, 0, said);
        });
    }

    fault acquire()
    {
        db_.set_time_to_live(time_);
        const std::int64_t hint = std::exchange(token_, 0);
        return db_.observes() ? acquire_as_observed() : grant_flow(db_, hint, answer_.grant);
    }

    fault look()
    {
        answer_.grant = {};
        const fault failed = db_.run(statement::read);
        if (failed != fault::none || !db_.found()) return failed;
        const bool live = db_.number(column::live) != 0;
        answer_.yes = db_.number(column::whose) == owner_is_us;
        answer_.grant.result.token = fencing_token{db_.number(column::token)};
        answer_.grant.result.remaining = live ? std::chrono::microseconds{std::max<std::int64_t>(db_.number(column::remaining), 1)} : std::chrono::microseconds{0};
        return failed;
    }

    fault acquire_as_observed()
    {
        const fault failed = observing_grant_flow(db_, seen_, name(), version(), &observations::now, answer_.grant);
        if (failed != fault::none || !answer_.grant.result.granted() || !db_.reads_back()) return failed;
        return db_.config()->is_known_to_commit() ? fault::none : look_from_outside();
    }

    // Once per store: what this connection has written, another one sees.
    fault look_from_outside()
    {
        connection outside{db_.config()};
        outside.begin_call(deadline_);
        outside.in().name.assign(name());
        fault failed = outside.connect();
        if (failed == fault::none) failed = observe(outside);
        if (failed != fault::none) {
            db_.set_last_report(outside.last_report());
            return failed;
        }
        // Somebody may have gone on from what was seen.
        const bool seen = outside.found() && (outside.number(column::version) == version() ||
                                              outside.number(column::token) > answer_.grant.result.token.value());
        if (seen) {
            db_.config()->note_commits();
            return fault::none;
        }
        db_.disconnect();
        return db_.fail(fault::failure, advice::not_committed);
    }

    [[nodiscard]] bool has_lock() const noexcept { return lock_connection_ != 0 && lock_connection_ == connection_number_; }

    fault connect()
    {
        ++connection_number_;
        backend_ = 0;
        if (auto why_not = gate_.wait_for_turn(deadline_)) {
            db_.set_last_report(std::move(*why_not));
            return db_.last_report().kind;
        }
        const fault failed = db_.connect();
        if (failed == fault::none)
            gate_.succeeded();
        else
            gate_.failed(db_.last_report());
        return failed;
    }

    fault try_lock()
    {
        answer_.yes = false;
        if (!db_.locks()) return fault::none;
        const fault failed = db_.run(statement::try_lock);
        answer_.yes = failed == fault::none && db_.number(column::locked) == 1;
        return failed;
    }

    // PostgreSQL warns of a lock that isn't this session's: then a pooler has handed it to another one in between. Such locks stay
    // behind, and are in everybody's way.
    fault unlock()
    {
        if (!has_lock()) return fault::none;
        const fault failed = db_.run(statement::unlock);
        if (failed == fault::none && db_.warned()) db_.give_up_locks();
        return failed;
    }

    // Without a limit: who no longer waits cancels it.
    fault lock()
    {
        answer_.yes = false;
        if (!db_.locks()) return fault::none;
        if (const std::string& set_up = db_.locks()->before_wait; !set_up.empty())
            if (const fault failed = db_.run_text(set_up); failed != fault::none) return failed;
        if (backend_ == 0) {
            if (const fault failed = db_.run(statement::backend); failed != fault::none) return failed;
            backend_ = db_.number(column::token);
        }
        if (lock_cancelled_) return fault::none;
        fault failed = db_.run(statement::lock);
        while (failed == fault::lock_timeout && !lock_cancelled_ && db_.locks()) failed = db_.run(statement::lock);
        answer_.yes = failed == fault::none && db_.number(column::locked) == 1;
        return failed;
    }

    fault inspect()
    {
        if (db_.observes()) {
            duration left{};
            const fault failed = observing_inspect_flow(db_, seen_, name(), &observations::now, left);
            if (failed == fault::none && left > duration::zero()) {
                answer_.record = record_shown(db_, name());
                answer_.record->remaining = left;
                return add_what_was_said();
            }
            return failed;
        }
        const fault failed =
            with_or_without_columns(db_, statement::inspect_all, statement::inspect, [this](statement which) { return db_.run(which); });
        if (failed == fault::none && db_.found()) answer_.record = record_shown(db_, name());
        return failed;
    }

    // To the record of an observed row; another term may have begun since.
    fault add_what_was_said()
    {
        if (!db_.hands_over()) return fault::none;
        const fault failed = db_.run(statement::said);
        if (may_lack_columns(db_, failed)) return fault::none;
        if (failed == fault::none && db_.found() && db_.number(column::token) == answer_.record->token.value())
            add_said(db_, *answer_.record);
        return failed;
    }

    fault purge()
    {
        if (!db_.purges()) return db_.fail(fault::failure, no_purge);
        db_.set_time_to_live(time_);
        return purge_flow(db_, answer_.purged);
    }

    // Where terms expire by observation, whether one is over is not in the row alone.
    fault hand_over()
    {
        if (!db_.hands_over()) return db_.fail(fault::failure, no_handover);
        if (what_ == operation::request_handover) return request();
        if (db_.observes() && seen_.has_run_out(name(), token_, observations::now())) return fault::none;
        if (what_ == operation::publish) return publish_flow(db_, token_, db_.in().data.view(), answer_.yes);
        return requested_flow(db_, token_, answer_.reason);
    }

    fault request()
    {
        if (db_.observes()) {
            duration left{};
            const fault failed = observing_inspect_flow(db_, seen_, name(), &observations::now, left);
            if (failed != fault::none || left <= duration::zero()) return failed;
        }
        return request_flow(db_, answer_.yes);
    }

    duration call_timeout_;  // for undo()
    duration lock_timeout_;
    connect_gate& gate_;  // of the configuration, which the connection keeps alive
    observations& seen_;   // likewise
    connection db_;
    retry_pause pause_;
    operation what_ = operation::connect;
    std::int64_t token_ = 0;
    std::int64_t version_ = 0;
    duration time_{};
    std::shared_ptr<batch> many_;
    std::shared_ptr<attempts> attempted_;
    time_point deadline_ = time_point::max();
    std::uint64_t lock_connection_ = 0;  // the one that has the session lock
    std::uint64_t connection_number_ = 0;
    // Sequentially consistent: lock() tells its number and then looks whether it is cancelled; the thread that cancels sets its flag
    // and then looks for the number. So one of the two sees the other, and no wait goes on that nobody can end.
    std::atomic<std::int64_t> backend_{0};
    std::atomic<bool> lock_cancelled_{false};
    answer answer_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
