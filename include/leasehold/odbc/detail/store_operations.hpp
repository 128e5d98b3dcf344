// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_STORE_OPERATIONS_HPP
#define LEASEHOLD_ODBC_DETAIL_STORE_OPERATIONS_HPP

#include <leasehold/detail/hold_text.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/odbc/detail/driver/configuration.hpp>
#include <leasehold/odbc/detail/flow/advice.hpp>
#include <leasehold/odbc/detail/flow/attempts.hpp>
#include <leasehold/odbc/detail/flow/batch_flow.hpp>
#include <leasehold/odbc/detail/flow/checkpoint_flow.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/queue/waiting_ticket.hpp>
#include <leasehold/odbc/detail/session/job.hpp>
#include <leasehold/odbc/detail/session/pool.hpp>
#include <leasehold/odbc/detail/session/steps.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// Ending a wait on the server takes at most this long.
inline constexpr std::chrono::milliseconds end_wait_at_most{30};
// A cancel that is older than this is dropped, because it could end the session's next wait.
inline constexpr std::chrono::milliseconds end_wait_stale_after{250};
// Cancels again after this: the wait may have been about to begin.
inline constexpr std::chrono::milliseconds end_wait_again_after{8};

// Carries out the calls of store_base on sessions, and looks after the session locks of terms. Thread-safe.
//
// The row decides; its statements know nothing of locks. A term that a waiter got has the lock that the waiter's session got before; for
// any other the session that was granted it takes one a little later. It is given back when the release has been answered, and so has been
// committed.
class store_operations {
public:
    store_operations(std::shared_ptr<const configuration> config, bool in_process)
        : config_{std::move(config)}, pool_{std::make_shared<pool>(config_, in_process)}
    {
    }
    // Ends idle connections, and waits for their ends no longer than the call time-out.
    ~store_operations() { pool_->close(deadline()); }

    using time_point = pool::time_point;

    struct acquire_request {
        std::string_view name, owner;
        duration ttl;
        time_point until;  // of all that has to be done for it
        std::optional<std::string_view> wakes{};  // see term_request
    };

    [[nodiscard]] time_point deadline(duration within = duration::max()) const
    {
        return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                      std::min(within, config_->options().call_timeout));
    }
    [[nodiscard]] const std::shared_ptr<pool>& waiting_sessions() const noexcept { return pool_; }
    [[nodiscard]] const pool& sessions() const noexcept { return *pool_; }
    // How many session locks it has for terms.
    [[nodiscard]] std::size_t session_locks() const { return pool_->count().locks; }

    // Carries out a step, see job_of, on a session of the pool. Returns its result; an empty one if it fails. Rethrows what it throws.
    template <class Step>
    result_of<Step> call(const call_texts& texts, Step step, failure& failed, job_traits how = {})
    {
        job_of<Step> wanted{std::move(step), how};
        call(texts, wanted, deadline(), failed);
        return std::move(wanted.result);
    }
    // The same. False: there was no session, or it was given up.
    bool call(const call_texts& texts, job& wanted, time_point until, failure& failed)
    {
        failed.kind = fault::none;
        fault no_session = fault::none;
        const session_pointer session = pool_->check_out(texts, wanted, until, no_session);
        const bool done = session && run(session, until);
        if (done)
            finish(session, texts, wanted, failed);
        else
            failed = session ? given_up(*session) : without_answer(no_session);
        return done;
    }

    void connect(failure& failed)
    {
        auto wanted = connect_job();
        call({}, wanted, deadline(), failed);
    }

    // Sends each group of terms of one `time` in one call. Items without an answer by `until` stay unknown. Reports the first failure.
    // `then(i)`: the call with that item is over.
    template <class Item, class Time, class Then>
    void call_for_many(batch_kind kind, std::span<const Item> items, std::span<const item_number> chosen, Time time,
                       std::span<batch_answer> answers, time_point until, failure& failed, Then then)
    {
        for (const auto& group : batch_groups(items, chosen, time, config_->batch_size())) {
            failure group_failure;
            if (std::chrono::steady_clock::now() < until) {
                auto many = std::make_shared<batch>(group.size());
                for (const item_number i : group) many->add(items[i].name, items[i].owner, items[i].token.value());
                job_of wanted{batch_step{kind, many, std::max(items[group.front()].*time, duration::zero())}};
                call({}, wanted, until, group_failure);
                for (item_number i = 0; i < group.size(); ++i) answers[group[i]] = many->answer(i);
            } else {
                group_failure = not_tried();
            }
            if (group_failure && !failed) failed = std::move(group_failure);
            for (const item_number i : group) then(i);
        }
    }

    // The failure of an item that was not sent because the call's time ran out.
    static failure not_tried() { return {fault::timeout, {{}, 0, "the time of the call ran out before this was tried", {}}}; }

    bool release(const term_release& term, time_point until, failure& failed)
    {
        auto wanted = release_job(term.token.value(), term.min_hold_left);
        try {
            call({.name = term.name, .owner = term.owner}, wanted, until, failed);
        } catch (...) {  // no memory, or no thread: nobody ends this term a second time
            release_locks(term.name, term.token.value());
            throw;
        }
        release_locks(term.name, term.token.value());
        after_release(term, wanted.result);
        return wanted.result;
    }

    // The next attempt need not read the row first.
    void after_release(const term_release& term, bool released)
    {
        if (released && term.min_hold_left <= duration::zero()) pool_->put_hint(term.name, term.token.value());
    }

    // A single attempt. A hold wakes nobody when it ends: nobody renews or releases it, so that its session would keep the lock for good.
    acquire_result attempt(const acquire_request& request, failure& failed)
    {
        const std::optional<std::string_view> wakes = leasehold::detail::is_hold(request.owner) ? std::string_view{} : request.wakes;
        attempt_job wanted{request.ttl, pool_->take_hint(request.name)};
        call({.name = request.name, .owner = request.owner, .wakes = wakes}, wanted, request.until, failed);
        if (failed) return {};
        const acquire_result result = wanted.result.result;
        if (!result.granted()) {
            pool_->put_hint(request.name, busy_last_time);
            release_locks(request.name, result.token.value() - 1);
        }
        return result;
    }

    // Makes many attempts with one ttl in one call.
    void attempt_together(std::span<const term_request> requests, std::size_t most, std::span<std::optional<acquire_result>> answers,
                          time_point until, failure& failed)
    {
        const auto many = std::make_shared<attempts>(requests.size(), most);
        for (const term_request& request : requests) many->add(request.name, request.owner, request.wakes);
        attempts_job wanted{many, requests.front().ttl};
        if (!call({}, wanted, until, failed)) return;  // terms that it is still granted will be ended
        for (item_number i = 0; i < requests.size(); ++i) {
            if (!many->answer(i)) continue;
            answers[i] = many->answer(i)->result;
            static_cast<void>(pool_->take_hint(requests[i].name));
            if (!answers[i]->granted()) release_locks(requests[i].name, answers[i]->token.value() - 1);
        }
    }

    // Makes the attempt on the ticket's session, which has the lock.
    acquire_result attempt_at_head(waiting_ticket& ticket, const acquire_request& request, failure& failed)
    {
        const session_pointer session = ticket.session();
        attempt_job wanted{request.ttl};
        if (!call_on(session, {.name = request.name, .owner = request.owner}, wanted, request.until, failed)) {
            ticket.hand_over_session();
            return {};
        }
        const bool has_lock = session->inner().lock().connection_number() == ticket.connection();
        acquire_result& result = wanted.result.result;
        if (!failed && result.granted() && has_lock) {
            ticket.hand_over_session();
            if (leasehold::detail::is_hold(request.owner))
                pool_->check_in_from_wait(session, ticket.name(), ticket.connection());
            else
                pool_->check_in_from_wait(session, ticket.name(), result.token.value(), ticket.connection());
        } else if (failed || !has_lock) {
            ticket.drop();
        } else {
            release_locks(request.name, result.token.value() - 1);
            result.retry_after = ticket.busy_at_head(result.token, result.remaining);
        }
        return failed ? acquire_result{} : result;
    }

    // Asks the server whether the ticket's session still has the lock. A waiter that has lost its place queues again. No answer is no
    // failure of the wait: its attempts, on other sessions, find out whether there is an outage.
    void confirm_head(waiting_ticket& ticket)
    {
        job_of wanted{[](session& on, bool) { return clock_flow(on.database()); }, {.uses_table = false}};
        const session_pointer session = ticket.session();
        failure failed;
        if (!call_on(session, {}, wanted, deadline(), failed)) return ticket.hand_over_session();
        if (failed || session->inner().lock().connection_number() != ticket.connection())
            ticket.drop();
        else
            ticket.confirmed();
    }

    // A waiter for the lock looks whether the lock may be stuck.
    acquire_result look_past_queue(waiting_ticket& ticket, const acquire_request& request, failure& failed)
    {
        job_of wanted{[](session& on, bool) { return look_at_term(on); }};
        call({.name = request.name, .owner = request.owner}, wanted, request.until, failed);
        if (failed) return {};
        acquire_result row = wanted.result.row;
        release_locks(request.name, row.token.value() - 1);
        const bool ours = wanted.result.ours && row.remaining > duration::zero();
        if (row.remaining <= duration::zero()) {
            if (const auto delay = ticket.wait_for_next(row.token)) {
                row.retry_after = *delay;
                return row;
            }
        }
        if (row.remaining <= duration::zero() || ours) row = attempt(request, failed);
        row.retry_after = ticket.seen(row.token, row.remaining);
        return row;
    }

    // The terms up to that token are over.
    void release_locks(std::string_view name, std::int64_t last) { pool_->release(name, last); }

    // Ends the wait from another session, since nothing makes the driver return. Best effort: a session that stays queued, for which nobody
    // asks, passes the lock on.
    void end_wait(waiting_ticket& ticket)
    {
        const auto until = std::chrono::steady_clock::now() + end_wait_at_most;
        session_pointer cancels;
        while (std::chrono::steady_clock::now() < until) {
            const std::int64_t backend = ticket.waits_as();
            if (backend == 0) return;
            // A server that does not answer one cancel answers no other, and would hang all sessions of the pool.
            if (!cancels || !pool_->runs_detached(cancels)) {
                const auto wanted = end_wait_job(backend);
                fault ignored = fault::none;
                cancels = pool_->check_out({}, wanted, until, ignored);
                if (!cancels) return;
                cancels->inner().prepare({}, wanted, std::chrono::steady_clock::now() + end_wait_stale_after);
                try {
                    pool_->run_detached(cancels);
                } catch (...) {
                    pool_->drop(cancels);
                    throw;
                }
            }
            if (ticket.has_ended(std::min(until, std::chrono::steady_clock::now() + end_wait_again_after))) return;
        }
    }

private:
    // Carries out the job on a session that is checked out to wait. False: that session was abandoned.
    bool call_on(const session_pointer& session, const call_texts& texts, job& wanted, time_point until, failure& failed)
    {
        failed.kind = fault::none;
        if (!pool_->check_out(session, texts, wanted, until)) {
            failed = without_answer(fault::unavailable);
            return true;  // as it was
        }
        if (!run(session, until)) {
            failed = given_up(*session);
            return false;
        }
        finish(session, texts, wanted, failed);
        return true;
    }

    void finish(const session_pointer& session, const call_texts& texts, job& wanted, failure& failed)
    {
        wanted.take_result(session->inner().done());
        failed = std::move(session->inner().failed());
        const std::exception_ptr thrown = session->inner().thrown();
        pool_->check_in(session, texts, wanted);
        pool_->release_all_if_disabled();
        if (thrown) std::rethrow_exception(thrown);
    }

    // False: the session was given up.
    bool run(const session_pointer& session, time_point until)
    {
        try {
            return session->run(until) || !pool_->abandon(session);
        } catch (...) {
            pool_->drop(session);
            throw;
        }
    }

    static failure given_up(bounded_session& session)
    {
        const char* const words =
            session.inner().is_connecting()
                ? advice::slow_connecting
                : "no answer within call_timeout (frozen server or network, or an overloaded one): the connection was given up, what the"
                  " call did is unknown";
        return {fault::timeout, {{}, 0, words, {}}};
    }

    // The failure of a call that got no session.
    static failure without_answer(fault no_session)
    {
        const char* const words = no_session == fault::timeout
                                      ? "no connection of the pool became free in time: raise pool_size or call_timeout, or look for what"
                                        " blocks the others"
                                      : "too many calls hang in the driver already (frozen server or network): nothing is tried until"
                                        " some of them return";
        return {no_session, {{}, 0, words, {}}};
    }

    const std::shared_ptr<const configuration> config_;
    const std::shared_ptr<pool> pool_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
