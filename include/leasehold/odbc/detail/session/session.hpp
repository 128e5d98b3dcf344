// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_SESSION_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_SESSION_HPP

#include <leasehold/odbc/detail/driver/connect_gate.hpp>
#include <leasehold/odbc/detail/driver/connecting.hpp>
#include <leasehold/odbc/detail/driver/connection.hpp>
#include <leasehold/odbc/detail/driver/errors.hpp>
#include <leasehold/odbc/detail/flow/advice.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>
#include <leasehold/odbc/detail/flow/observing_flow.hpp>
#include <leasehold/odbc/detail/flow/operator_flows.hpp>
#include <leasehold/odbc/detail/pauses.hpp>
#include <leasehold/odbc/detail/session/driver_thread.hpp>
#include <leasehold/odbc/detail/session/job.hpp>
#include <leasehold/odbc/detail/session/session_lock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// PostgreSQL has no room for more locks of any kind: nobody can connect, or lock a table, before some are given back.
inline constexpr const char* out_of_shared_memory = "53200";
// New connections made in one call after the first was lost.
inline constexpr int max_reconnects = 1;
// A pause and the try after it may take this much longer than they should.
inline constexpr std::chrono::milliseconds most_delay_of_try{50};

// One connection that carries out one job at a time, with retries and a new connection within the call's time. Without
// threads: the thread that calls perform() may block in the driver. Not thread-safe.
class session {
public:
    using time_point = connection::time_point;

    explicit session(std::shared_ptr<const configuration> config)
        : db_{std::move(config)}, pauses_{first_conflict_pause, longest_conflict_pause, reinterpret_cast<std::uintptr_t>(this) >> 4U}
    {
    }

    // Copies the texts and the job, which has no result yet: if the call is given up before it begins, nothing was granted.
    void prepare(const call_texts& texts, const job& wanted, time_point deadline)
    {
        job_.reset();
        job_.reset(wanted.copy_to(place_of_job_.data()));
        failed_ = {};
        thrown_ = nullptr;
        version_ = 0;
        only_connected_ = false;
        lock_.reset();
        deadline_ = deadline;
        db_.begin_call(deadline);
        set_names(texts.name, texts.owner);
        db_.in().data.assign(texts.data);
        db_.in().checkpoint.assign(texts.checkpoint);
        db_.in().replaced.assign(texts.replaced);
    }

    // The number of its connection, see session_lock; 0: it has none. Called between calls.
    [[nodiscard]] std::uint64_t connection_number() const noexcept { return db_.is_open() ? lock_.connection_number() : 0; }

    // The lock that the job is about, after prepare(). In a wait, any thread may call it.
    [[nodiscard]] session_lock& lock() noexcept { return lock_; }

    // Once after prepare(). Keeps an exception (std::bad_alloc).
    void perform() noexcept
    {
        try {
            try_until_deadline();
        } catch (...) {
            failed_.kind = fault::failure;
            thrown_ = std::current_exception();
            db_.disconnect();  // it may be in a transaction, or have a cursor, and then what comes next is never committed
        }
    }

    void disconnect() noexcept { db_.disconnect(); }

    // True while the session has no connection: not yet, or it lost one. Any thread may call it.
    [[nodiscard]] bool is_connecting() const noexcept { return connecting_; }
    // After perform(): connecting took all the time that the call had left, and nothing was asked of the new connection.
    [[nodiscard]] bool only_connected() const noexcept { return only_connected_; }

    // After perform(): the job with its result, its failure, and what it threw.
    [[nodiscard]] job& done() const noexcept { return *job_; }
    [[nodiscard]] failure& failed() noexcept { return failed_; }
    [[nodiscard]] const std::exception_ptr& thrown() const noexcept { return thrown_; }

    [[nodiscard]] bool runs_in_process() const noexcept { return db_.sql() != nullptr && db_.sql()->spec().in_process; }

    // For the job.
    [[nodiscard]] connection& database() noexcept { return db_; }
    [[nodiscard]] std::string_view name() const noexcept { return db_.in().name.view(); }
    [[nodiscard]] std::string_view owner() const noexcept { return db_.in().owner.view(); }
    void set_names(std::string_view name, std::string_view owner) noexcept
    {
        db_.in().name.assign(name);
        db_.in().owner.assign(owner);
    }

    // The version that this call writes, the same in all its tries: see observing_flow.hpp.
    std::int64_t version()
    {
        if (version_ == 0) version_ = observations::new_version();
        return version_;
    }
    // The call, as expiry by observation needs it.
    auto by() { return observer{db_.config()->seen(), name(), version(), &observations::now}; }
    // Whether the term is over, though the row alone does not tell: never but under expiry by observation.
    [[nodiscard]] bool has_run_out(std::int64_t token) const
    {
        return db_.observes() && db_.config()->seen().has_run_out(name(), token, observations::now());
    }
    // How long somebody has the name, as it was observed; 0: nobody has it.
    outcome<duration> observed_left() { return observing_inspect_flow(db_, db_.config()->seen(), name(), &observations::now); }

private:
    struct end_of_life {
        void operator()(job* placed) const noexcept { placed->~job(); }
    };

    void try_until_deadline()
    {
        const job_traits& how = job_->traits;
        const time_point begun = std::chrono::steady_clock::now();
        bool repeated = false;
        pauses_.reset();
        for (int reconnects = 0;;) {
            // A lock is gone with its connection, and a term's lock is not worth another one.
            const bool is_chore = how.lock == lock_use::takes || how.lock == lock_use::gives_back;
            if (is_chore && !db_.connected()) {
                db_.disconnect();  // one that is not used any longer may have it still
                failed_.kind = fault::none;
                return;
            }
            const time_point try_begun = std::chrono::steady_clock::now();
            const bool connects = !db_.connected();
            fault failed = connects ? connect() : fault::none;
            if (failed == fault::none && connects && is_late()) return;
            if (failed == fault::none && !db_.config()->name_is_key() && how.uses_table) failed = check_table(db_).failed();
            const bool steps = failed == fault::none;  // what a new connection is refused, says nothing of locks
            if (steps) failed = job_->try_once(*this, repeated);
            failed_.kind = failed;
            if (failed == fault::none) return;
            const bool has_no_locks = steps && how.lock != lock_use::none && is_refused_function(db_.last_report());
            if (has_no_locks || db_.last_report().details.sqlstate == out_of_shared_memory) db_.disable_locks();
            if (db_.met_pooler() && reconnects++ < max_reconnects) continue;
            if (failed == fault::connection_lost && db_.connected()) db_.config()->note_lost_connection();
            if (how.lock == lock_use::waits) {
                // The place in the queue is lost; the waiter may queue again.
                if (!lock_.cancelled() || failed == fault::connection_lost) db_.disconnect();
            } else if (failed == fault::connection_lost || failed == fault::read_only) {
                db_.disconnect();
                repeated = repeated || (steps && failed == fault::connection_lost);
                if (reconnects++ < max_reconnects) continue;
            } else if (failed == fault::conflict || failed == fault::lock_timeout || failed == fault::starting) {
                if (busy_by_now(begun)) return;
                const bool repeats = failed != fault::lock_timeout || how.repeats_if_locked;
                if (repeats && pause_before_next_try(std::chrono::steady_clock::now() - try_begun)) continue;
            } else if (failed == fault::timeout ||
                       (failed == fault::failure && !has_no_locks && db_.last_report().details.advice.empty())) {
                db_.disconnect();  // what state it is in isn't known
            }
            failed_.details = explanation();
            return;
        }
    }

    // A new connection came too late: the caller has left, or is about to, so no job runs on it. The next call can use it.
    bool is_late()
    {
        if (std::chrono::steady_clock::now() < deadline_) return false;
        failed_.kind = db_.fail(fault::timeout, advice::slow_connecting);
        failed_.details = explanation();
        return only_connected_ = true;
    }

    // False where the next try would not end in time if it takes, perhaps for a lock, a little longer than the last one.
    bool pause_before_next_try(duration took)
    {
        const duration pause = pauses_.next();
        const duration next = pause + took;
        if (deadline_ - std::chrono::steady_clock::now() <= next + std::min<duration>(next / 2, most_delay_of_try)) return false;
        std::this_thread::sleep_for(pause);
        return std::chrono::steady_clock::now() < deadline_;
    }

    // The driver's words about the failure. If no statement failed, a flow found the failure by reading, and this function words it.
    [[nodiscard]] store_diagnostics explanation() const
    {
        if (db_.last_report().kind != fault::none) return db_.last_report().details;
        store_diagnostics details = db_.last_refusal();
        switch (failed_.kind) {
        case fault::overtaken: details.advice = advice::overtaken; break;
        case fault::lock_timeout: details.advice = advice::locked; break;
        default: details.advice = advice::not_written;
        }
        return details;
    }

    // SQLite has one lock for all that write, and no telling it from a conflict. An attempt that has met it for long enough is
    // busy if the name has a term that was not released, which its holder may have fenced.
    bool busy_by_now(time_point begun)
    {
        if (failed_.kind != fault::conflict || !runs_in_process()) return false;
        if (std::chrono::steady_clock::now() - begun < db_.config()->lock_timeout()) return false;
        const report first = db_.last_report();
        if (job_->read_as_busy(*this)) {
            failed_.kind = fault::none;
            return true;
        }
        db_.set_last_report(first);
        return false;
    }

    fault connect()
    {
        connecting_ = true;
        lock_.begin_connection();
        const bool waits = job_->traits.lock == lock_use::waits;
        connect_gate& gate = db_.config()->gate();
        const auto is_wanted = [this, waits] { return !waits || !lock_.cancelled(); };
        if (auto last_failure = gate.wait_for_turn(deadline_, is_wanted)) {
            db_.set_last_report(std::move(*last_failure));
            return db_.last_report().kind;
        }
        if (waits) lock_.note_connecting();
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

    connection db_;
    session_lock lock_{db_};
    backoff pauses_;  // between tries after a conflict
    alignas(std::max_align_t) std::array<std::byte, largest_job> place_of_job_;
    std::unique_ptr<job, end_of_life> job_;
    failure failed_;
    std::exception_ptr thrown_;
    std::int64_t version_ = 0;
    time_point deadline_ = time_point::max();
    std::atomic<bool> connecting_{true};
    bool only_connected_ = false;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
