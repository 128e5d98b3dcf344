// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_SESSION_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_SESSION_HPP

#include <leasehold/odbc/detail/driver/batches.hpp>
#include <leasehold/odbc/detail/driver/connect_gate.hpp>
#include <leasehold/odbc/detail/driver/connecting.hpp>
#include <leasehold/odbc/detail/driver/connection.hpp>
#include <leasehold/odbc/detail/driver/errors.hpp>
#include <leasehold/odbc/detail/flow/advice.hpp>
#include <leasehold/odbc/detail/flow/attempts_flow.hpp>
#include <leasehold/odbc/detail/flow/checkpoint_flow.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>
#include <leasehold/odbc/detail/flow/handover_flow.hpp>
#include <leasehold/odbc/detail/flow/observing_flow.hpp>
#include <leasehold/odbc/detail/flow/operator_flows.hpp>
#include <leasehold/odbc/detail/pauses.hpp>
#include <leasehold/odbc/detail/session/call.hpp>
#include <leasehold/odbc/detail/session/driver_thread.hpp>
#include <leasehold/odbc/detail/session/session_lock.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

inline constexpr const char* no_purge =
    "names can't be purged here: the generic dialect and stores that expire by observation keep no time of last use";

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
        : db_{std::move(config)}, pauses_{first_conflict_pause, longest_conflict_pause, reinterpret_cast<std::uintptr_t>(this) >> 4U}
    {
    }

    // Copies all of the request.
    void prepare(const request& wanted, time_point deadline)
    {
        answer_ = {};  // if it is given up before it begins, nothing was granted
        what_ = wanted.what;
        version_ = 0;
        only_connected_ = false;
        token_ = wanted.token;
        time_ = wanted.time;
        many_ = wanted.many;
        attempted_ = wanted.attempted;
        lock_.reset();
        deadline_ = deadline;
        db_.begin_call(deadline);
        set_names(wanted.name, wanted.owner);
        if (wanted.what == operation::save_checkpoint || wanted.what == operation::replace_checkpoint)
            db_.in().checkpoint.assign(wanted.data);
        else
            db_.in().data.assign(wanted.data);
        db_.in().replaced.assign(wanted.replaced);
    }

    // The number of its connection, see session_lock; 0: it has none. Called between calls.
    [[nodiscard]] std::uint64_t connection_number() const noexcept { return db_.is_open() ? lock_.connection_number() : 0; }

    // The lock that the request is about, after prepare(). In a wait, any thread may call it.
    [[nodiscard]] session_lock& lock() noexcept { return lock_; }

    // Once after prepare(). Fills in the answer; an exception (std::bad_alloc) ends up there too.
    void perform() noexcept
    {
        try {
            try_until_deadline();
        } catch (...) {
            answer_.failed = fault::failure;
            answer_.thrown = std::current_exception();
            db_.disconnect();  // it may be in a transaction, or have a cursor, and then what comes next is never committed
        }
    }

    // Ends the terms of names that nobody held before, which the last request was granted and nobody was told of. Nothing else has their
    // tokens. Best effort.
    void undo_grants()
    {
        if (what_ == operation::acquire && answer_.failed == fault::none)
            undo(std::string{name()}, std::string{owner()}, std::optional<grant_answer>{answer_.grant});
        const auto many = attempted_;
        for (item_number i = 0; many && i < many->size(); ++i) undo(many->name(i), many->owner(i), many->answer(i));
    }

    void disconnect() noexcept { db_.disconnect(); }

    // True while the session has no connection: not yet, or it lost one. Any thread may call it.
    [[nodiscard]] bool is_connecting() const noexcept { return connecting_; }
    // After perform(): connecting took all the time that the request had left, and nothing was asked of the new connection.
    [[nodiscard]] bool only_connected() const noexcept { return only_connected_; }

    [[nodiscard]] answer& result() noexcept { return answer_; }
    [[nodiscard]] const connection& database() const noexcept { return db_; }
    [[nodiscard]] bool runs_in_process() const noexcept { return db_.sql() != nullptr && db_.sql()->spec().in_process; }

private:
    // The request's name and owner. Nothing writes them while the request runs.
    [[nodiscard]] std::string_view name() const noexcept { return db_.in().name.view(); }
    [[nodiscard]] std::string_view owner() const noexcept { return db_.in().owner.view(); }

    void undo(std::string_view name, std::string_view owner, const std::optional<grant_answer>& granted)
    {
        if (!granted || !granted->result.granted() || !granted->fresh) return;
        const auto until = std::chrono::steady_clock::now() + db_.config()->options().call_timeout;
        prepare({operation::release, name, owner, granted->result.token.value()}, until);
        perform();
    }

    void set_names(std::string_view name, std::string_view owner) noexcept
    {
        db_.in().name.assign(name);
        db_.in().owner.assign(owner);
    }

    // Requests that create the table, or look at it as a whole, check it themselves.
    static constexpr bool uses_table(operation what) noexcept
    {
        switch (what) {
        case operation::connect:
        case operation::create_schema:
        case operation::health:
        case operation::now:
        case operation::lock:
        case operation::try_lock:
        case operation::unlock:
        case operation::end_wait: return false;
        default: return true;
        }
    }

    [[nodiscard]] bool is_about_a_lock() const noexcept
    {
        return what_ == operation::lock || what_ == operation::try_lock || what_ == operation::unlock;
    }

    void try_until_deadline()
    {
        const time_point begun = std::chrono::steady_clock::now();
        bool repeated = false;
        pauses_.reset();
        for (int reconnects = 0;;) {
            // A lock is gone with its connection, and a term's lock is not worth another one.
            const bool chore = what_ == operation::try_lock || what_ == operation::unlock;
            if (chore && !db_.connected()) {
                db_.disconnect();  // one that is not used any longer may have it still
                answer_.failed = fault::none;
                return;
            }
            const time_point try_begun = std::chrono::steady_clock::now();
            const bool connects = !db_.connected();
            fault failed = connects ? connect() : fault::none;
            if (failed == fault::none && connects && is_late()) return;
            if (failed == fault::none && !db_.config()->name_is_key() && uses_table(what_)) failed = check_table(db_);
            const bool steps = failed == fault::none;  // what a new connection is refused, says nothing of locks
            if (steps) failed = step(repeated);
            answer_.failed = failed;
            if (failed == fault::none) return;
            const bool has_no_locks = steps && is_about_a_lock() && is_refused_function(db_.last_report());
            if (has_no_locks || db_.last_report().details.sqlstate == out_of_shared_memory) db_.disable_locks();
            if (db_.met_pooler() && reconnects++ < max_reconnects) continue;
            if (failed == fault::connection_lost && db_.connected()) db_.config()->note_lost_connection();
            if (what_ == operation::lock) {
                // The place in the queue is lost; the waiter may queue again.
                if (!lock_.cancelled() || failed == fault::connection_lost) db_.disconnect();
            } else if (failed == fault::connection_lost || failed == fault::read_only) {
                db_.disconnect();
                repeated = repeated || failed == fault::connection_lost;
                if (reconnects++ < max_reconnects) continue;
            } else if (failed == fault::conflict || failed == fault::lock_timeout || failed == fault::starting) {
                if (busy_by_now(begun)) return;
                const bool once = what_ == operation::connect || (what_ == operation::purge && failed == fault::lock_timeout);
                if (!once && pause_before_next_try(std::chrono::steady_clock::now() - try_begun)) continue;
            } else if (failed == fault::timeout ||
                       (failed == fault::failure && !has_no_locks && db_.last_report().details.advice.empty())) {
                db_.disconnect();  // what state it is in isn't known
            }
            answer_.details = explanation();
            return;
        }
    }

    // A new connection came too late: its caller has left, or is about to, so no request runs on it. The next request can use it.
    bool is_late()
    {
        if (std::chrono::steady_clock::now() < deadline_) return false;
        answer_.failed = what_ == operation::connect ? fault::none : db_.fail(fault::timeout, advice::slow_connecting);
        if (answer_.failed != fault::none) answer_.details = explanation();
        return only_connected_ = true;
    }

    // False where the next try would not end in time if it takes, perhaps for a lock, as long as the last one took.
    bool pause_before_next_try(duration took)
    {
        const duration pause = pauses_.next();
        if (deadline_ - std::chrono::steady_clock::now() <= pause + took) return false;
        std::this_thread::sleep_for(pause);
        return std::chrono::steady_clock::now() < deadline_;
    }

    // The driver's words about the failure. If no statement failed, a flow found the failure by reading, and this function words it.
    [[nodiscard]] store_diagnostics explanation() const
    {
        if (db_.last_report().kind != fault::none) return db_.last_report().details;
        store_diagnostics details = db_.last_refusal();
        switch (answer_.failed) {
        case fault::overtaken: details.advice = advice::overtaken; break;
        case fault::lock_timeout: details.advice = advice::locked; break;
        default: details.advice = advice::not_written;
        }
        return details;
    }

    // SQLite has one lock for all that write, and no telling it from a conflict. A grant that has met it for long enough is
    // busy if the name has a term that was not released, which its holder may have fenced.
    bool busy_by_now(time_point begun)
    {
        const bool attempt = what_ == operation::acquire || what_ == operation::acquire_many;
        if (!attempt || answer_.failed != fault::conflict || !runs_in_process()) return false;
        if (std::chrono::steady_clock::now() - begun < db_.config()->lock_timeout()) return false;
        const report first = db_.last_report();
        if (what_ == operation::acquire ? busy_after_a_look() : attempted_busy_as_read(db_, *attempted_)) {
            answer_.failed = fault::none;
            return true;
        }
        db_.set_last_report(first);
        return false;
    }

    // Busy only if the term is another owner's. A released name is free: no fence of it can be open, since its release took the write lock.
    bool busy_after_a_look()
    {
        const fault failed = db_.observes() ? observe(db_) : db_.run(statement::read);
        if (failed != fault::none || !db_.found() || holder_read(db_) == holder::us) return false;
        if (!db_.observes() && db_.number(column::released) != 0) return false;
        answer_.grant = busy_as_read(db_);
        return true;
    }

    // The version that this request writes, the same in all its tries: see observing_flow.hpp.
    std::int64_t version()
    {
        if (version_ == 0) version_ = observations::new_version();
        return version_;
    }

    // The request, as expiry by observation needs it.
    auto by() { return observer{db_.config()->seen(), name(), version(), &observations::now}; }

    // Keeps the result of a flow.
    template <class T>
    static fault keep(T& where, outcome<T> result)
    {
        where = std::move(*result);
        return result.failed();
    }

    fault step(bool repeated)
    {
        switch (what_) {
        case operation::acquire: return keep(answer_.grant, acquire());
        case operation::look: return look();
        case operation::renew: return keep(answer_.yes, renew());
        case operation::release: return keep(answer_.yes, release(repeated));
        case operation::inspect: return keep(answer_.record, inspect());
        case operation::list: return list();
        case operation::purge: return purge();
        case operation::publish:
        case operation::request_handover:
        case operation::handover_requested: return hand_over();
        case operation::save_checkpoint:
        case operation::replace_checkpoint: return save_checkpoint(repeated);
        case operation::list_checkpoints: return list_checkpoints_flow(db_, name(), answer_.checkpoints);
        case operation::checkpoint: return keep(answer_.checkpoint, checkpoint_flow(db_));
        case operation::now: return keep(answer_.clock_us, clock_flow(db_));
        case operation::look_at_checkpoint: return keep(answer_.looked, look_at_checkpoint_flow(db_));
        case operation::force_release: return keep(answer_.yes, force_release(repeated));
        case operation::create_schema: return schema_flow(db_);
        case operation::health: return health_flow(db_, &wall_now, answer_.health);
        case operation::connect: return fault::none;
        case operation::lock: return keep(answer_.yes, lock_.wait());
        case operation::try_lock: return keep(answer_.yes, lock_.take(statement::try_lock));
        case operation::renew_many: return many(batch_kind::renewals, repeated);
        case operation::release_many: return many(batch_kind::releases, repeated);
        case operation::acquire_many: return acquire_many(repeated);
        case operation::unlock: return lock_.give_back();
        case operation::end_wait: return lock_.end_wait_of(token_);
        }
        return fault::none;
    }

    static duration wall_now() noexcept
    {
        return std::chrono::duration_cast<duration>(std::chrono::system_clock::now().time_since_epoch());
    }

    outcome<bool> renew()
    {
        db_.set_time_to_live(time_);
        return db_.observes() ? observing_renew_flow(db_, by(), token_) : renew_flow(db_, token_);
    }

    outcome<bool> release(bool repeated)
    {
        const bool min_hold = time_ > duration::zero();
        db_.set_time_to_live(time_);
        return db_.observes() ? observing_release_flow(db_, by(), token_, min_hold, repeated)
                              : release_flow(db_, token_, min_hold, repeated);
    }

    outcome<bool> force_release(bool repeated)
    {
        return db_.observes() ? observing_force_release_flow(db_, version(), token_, repeated) : force_release_flow(db_, token_, repeated);
    }

    fault many(batch_kind kind, bool repeated)
    {
        db_.set_time_to_live(time_);
        return batch_flow(db_, kind, *many_, [&](std::string_view name, std::string_view owner, std::int64_t token) {
            set_names(name, owner);
            token_ = token;
            return kind == batch_kind::renewals ? renew() : release(repeated || db_.commit_failed());
        });
    }

    fault acquire_many(bool repeated)
    {
        db_.set_time_to_live(time_);
        return attempts_flow(db_, *attempted_, repeated, [&](std::string_view name, std::string_view owner) {
            set_names(name, owner);
            return grant_flow(db_, 0);
        });
    }

    outcome<grant_answer> acquire()
    {
        db_.set_time_to_live(time_);
        const std::int64_t hint = std::exchange(token_, 0);
        if (!db_.observes()) return grant_flow(db_, hint);
        const auto grant = observing_grant_flow(db_, by());
        if (!grant.ok() || !grant->result.granted() || !db_.reads_back() || db_.config()->is_known_to_commit()) return grant;
        const fault unseen = look_from_outside(grant->result.token.value());
        return unseen == fault::none ? grant : unseen;
    }

    fault look()
    {
        if (const fault failed = db_.run(statement::read); failed != fault::none || !db_.found()) return failed;
        const bool live = db_.number(column::live) != 0;
        answer_.yes = db_.number(column::whose) == owner_is_us;
        answer_.grant.result.token = fencing_token{db_.number(column::token)};
        if (live) answer_.grant.result.remaining = std::chrono::microseconds{std::max<std::int64_t>(db_.number(column::remaining), 1)};
        return fault::none;
    }

    // Once per store: whether another connection sees what this one has written. Somebody may have got a later term since. The look is not
    // bound to the request's time: connecting may take longer, and what comes out is for the next one too.
    fault look_from_outside(std::int64_t token)
    {
        connection outside{db_.config()};
        outside.begin_call(time_point::max());
        outside.in().name.assign(name());
        fault failed = outside.connect();
        if (failed == fault::none) failed = observe(outside);
        if (failed != fault::none) {
            db_.set_last_report(outside.last_report());
            return failed;
        }
        if (!outside.found() || (outside.number(column::version) != version() && outside.number(column::token) <= token)) {
            db_.disconnect();
            return db_.fail(fault::failure, advice::not_committed);
        }
        db_.config()->note_commits();
        return fault::none;
    }

    fault connect()
    {
        connecting_ = true;
        lock_.begin_connection();
        connect_gate& gate = db_.config()->gate();
        const auto is_wanted = [this] { return what_ != operation::lock || !lock_.cancelled(); };
        if (auto last_failure = gate.wait_for_turn(deadline_, is_wanted)) {
            db_.set_last_report(std::move(*last_failure));
            return db_.last_report().kind;
        }
        if (what_ == operation::lock) lock_.note_connecting();
        const fault failed = db_.connect();
        if (failed == fault::none) {
            connecting_ = false;
            gate.succeeded();
            if (!runs_in_process()) driver_threads::of_process().wait_at_exit_after(db_.sql()->spec().name);
        } else {
            gate.failed(db_.last_report());
        }
        return failed;
    }

    // How long somebody has the name, as it was observed; 0: nobody has it.
    outcome<duration> left() { return observing_inspect_flow(db_, db_.config()->seen(), name(), &observations::now); }

    outcome<std::optional<lease_record>> inspect()
    {
        if (!db_.observes()) return inspect_flow(db_, name());
        const outcome<duration> observed = left();
        return observed.ok() ? observed_record_flow(db_, name(), *observed) : observed.failed();
    }

    fault list()
    {
        if (!db_.observes()) return list_flow(db_, name(), answer_.records);
        return observing_list_flow(db_, db_.config()->seen(), name(), answer_.records, &observations::now);
    }

    fault purge()
    {
        if (!db_.purges()) return db_.fail(fault::failure, no_purge);
        db_.set_time_to_live(time_);
        db_.set_seen(token_);
        return keep(answer_.purged, purge_flow(db_));
    }

    // Under expiry by observation, the row alone does not tell whether its term is over.
    fault hand_over()
    {
        if (what_ == operation::request_handover) {
            if (db_.observes())
                if (const outcome<duration> observed = left(); *observed <= duration::zero()) return observed.failed();
            return keep(answer_.yes, request_flow(db_, db_.in().data.view()));
        }
        if (db_.observes() && db_.config()->seen().has_run_out(name(), token_, observations::now())) return fault::none;
        if (what_ == operation::publish) return keep(answer_.yes, publish_flow(db_, token_, db_.in().data.view()));
        return keep(answer_.reason, requested_flow(db_, token_));
    }

    // Looks at the row first under expiry by observation, as hand_over() does.
    fault save_checkpoint(bool repeated)
    {
        const bool over = db_.observes() && db_.config()->seen().has_run_out(name(), token_, observations::now());
        const std::string_view replaced = db_.in().replaced.view();
        return keep(answer_.yes, save_checkpoint_flow(db_, token_, db_.in().checkpoint.view(),
                                                      what_ == operation::replace_checkpoint ? &replaced : nullptr, repeated, over));
    }

    connection db_;
    session_lock lock_{db_};
    backoff pauses_;  // between tries after a conflict
    operation what_ = operation::connect;
    std::int64_t token_ = 0;
    std::int64_t version_ = 0;
    duration time_{};
    std::shared_ptr<batch> many_;
    std::shared_ptr<attempts> attempted_;
    time_point deadline_ = time_point::max();
    std::atomic<bool> connecting_{true};
    bool only_connected_ = false;
    answer answer_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
