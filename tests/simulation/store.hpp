// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_STORE_HPP
#define LEASEHOLD_TESTS_SIMULATION_STORE_HPP

#include "message.hpp"
#include "network.hpp"
#include "statement_channel.hpp"
#include "store_locks.hpp"
#include "world.hpp"

#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>
#include <leasehold/odbc/detail/session/token_hints.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace sim {

namespace flows = leasehold::odbc::detail;

// What the last call of an operation came to: for checks.
struct call_record {
    bool failed = false;
    bool busy = false;
    const fiber* caller = nullptr;
    instant ended = 0;
};

// One process's way to the server. It bounds each call, and repeats an operation whose connection broke or that met a conflict:
// as odbc_store and its sessions do.
class store {
    // How long a waiter relies on a hint where the row has not said when the term ends.
    static constexpr std::chrono::seconds longest_trust{5};

    struct operation {
        int name;
        int owner;
        instant until;
        std::int64_t begun;  // by the server's clock
    };

public:
    store(world& w, network& net, process& of) : world_{w}, net_{net}, of_{of}, locks_{w, net.locks(), of} {}
    store(const store&) = delete;
    store& operator=(const store&) = delete;

    leasehold::acquire_result try_acquire(std::string_view name, std::string_view owner, leasehold::duration ttl,
                                          std::error_code& ec)
    {
        return attempt(begin(name, owner), name, ttl, number_of(name), ec);
    }

    bool renew(std::string_view name, std::string_view owner, leasehold::fencing_token token, leasehold::duration ttl,
               std::error_code& ec)
    {
        if (on_renew) on_renew(name, token);
        const bool renewed = renew(begin(name, owner), token, ttl, ec);
        if (!renewed && !ec && on_refused) on_refused(name, token);
        return renewed;
    }

    // batching_store: sent at once, then one after the other within the time of one call, so that the engine's batches meet all
    // the faults.
    [[nodiscard]] std::size_t batch_size() const noexcept { return world_.planned.batches() ? 8 : 1; }

    void renew_many(std::span<const leasehold::term_renewal> renewals, std::span<leasehold::batch_answer> answers,
                    leasehold::duration within, std::error_code& ec)
    {
        ec.clear();
        const std::int64_t local = of_.clock.at(world_.time.now()) + std::min<std::int64_t>(world_.planned.call_timeout, within.count());
        const instant until = of_.clock.when(local);
        if (on_renew)
            for (const leasehold::term_renewal& each : renewals) on_renew(each.name, each.token);
        for (std::size_t i = 0; i < renewals.size(); ++i) {
            const leasehold::term_renewal& each = renewals[i];
            operation call = begin(each.name, each.owner);
            call.until = std::min(call.until, until);
            std::error_code of_this;
            const bool renewed = renew(call, each.token, each.ttl, of_this);
            if (of_this)
                ec = of_this;
            else
                answers[i] = renewed ? leasehold::batch_answer::yes : leasehold::batch_answer::no;
        }
        if (renewals.size() > 1) ++world_.faults.batches;
    }

    // batch_acquiring_store: the same.
    void acquire_many(std::span<const leasehold::term_request> requests, std::size_t most,
                      std::span<std::optional<leasehold::acquire_result>> answers, std::error_code& ec)
    {
        ec.clear();
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const leasehold::term_request& each = requests[i];
            leasehold::acquire_result said;
            if (most > 0) said = attempt(begin(each.name, each.owner), each.name, each.ttl, woken_by(each), ec);
            if (ec) return;
            if (said.granted()) --most;
            answers[i] = said;
        }
    }

    void release_many(std::span<const leasehold::term_release> releases, std::span<leasehold::batch_answer> answers,
                      std::error_code& ec)
    {
        ec.clear();
        for (std::size_t i = 0; i < releases.size(); ++i) {
            std::error_code of_this;
            const bool released = release(releases[i].name, releases[i].owner, releases[i].token, releases[i].min_hold_left, of_this);
            if (of_this)
                ec = of_this;
            else
                answers[i] = released ? leasehold::batch_answer::yes : leasehold::batch_answer::no;
        }
    }

    bool release(std::string_view name, std::string_view owner, leasehold::fencing_token token,
                 leasehold::duration min_hold_left, std::error_code& ec)
    {
        operation call = begin(name, owner);
        bool released = false;
        report(try_until_deadline(call,
                         [&](bool repeated) { return end(call, token.value(), min_hold_left.count(), repeated, released); }),
               ec);
        locks_.term_is_over(call.name, token.value());
        if (released && !ec && min_hold_left.count() <= 0) hints_.put(name, token.value());
        return released && !ec;
    }

    std::optional<leasehold::lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        operation call = begin(name, {});
        reply said;
        report(try_until_deadline(call,
                         [&](bool) {
                             const ask what = world_.planned.kind == store_kind::memory ? ask::inspect : ask::sql;
                             said = net_.call(of_, {what, statement::inspect, call.name, nobody, 0, 0}, call.until);
                             return said.failed;
                         }),
               ec);
        if (ec || !said.found) return std::nullopt;
        const std::string owner = said.owner == nobody ? std::string{} : world_.owners[static_cast<std::size_t>(said.owner)];
        return leasehold::lease_record{.name = std::string{name},
                                       .owner = owner,
                                       .token = leasehold::fencing_token{said.number(column::token)},
                                       .remaining = std::chrono::microseconds{said.number(column::remaining)},
                                       .data = said.text == nobody ? std::string{} : world_.owners[static_cast<std::size_t>(said.text)]};
    }

    // checkpoint_replacing_store
    bool save_checkpoint(std::string_view name, std::string_view owner, leasehold::fencing_token token, std::string_view text,
                         std::error_code& ec)
    {
        return save(name, owner, token, whichever, text, ec);
    }

    bool replace_checkpoint(std::string_view name, std::string_view owner, leasehold::fencing_token token, std::string_view replaced,
                            std::string_view text, std::error_code& ec)
    {
        return save(name, owner, token, replaced.empty() ? nobody : world_.owner(std::string{replaced}), text, ec);
    }

    // checkpoint_looking_store
    std::optional<leasehold::checkpoint_record> checkpoint(std::string_view name, std::error_code& ec)
    {
        return look_at_checkpoint(name, ec).saved;
    }

    leasehold::checkpoint_look look_at_checkpoint(std::string_view name, std::error_code& ec)
    {
        const operation call = begin(name, {});
        reply said;
        report(try_until_deadline(call,
                         [&](bool) {
                             said = net_.call(of_, {ask::look_at_checkpoint, {}, call.name, nobody, 0, 0}, call.until);
                             return said.failed;
                         }),
               ec);
        leasehold::checkpoint_look look;
        if (ec) return look;
        const leasehold::fencing_token token{said.number(column::token)};
        if (said.found) look.saved = leasehold::checkpoint_record{world_.owners[static_cast<std::size_t>(said.text)], token};
        look.latest = leasehold::fencing_token{said.latest};
        look.open = said.yes;
        look.now = leasehold::store_time{std::chrono::floor<leasehold::store_time::duration>(leasehold::duration{said.at})};
        return look;
    }

    // timed_store
    leasehold::store_time now(std::error_code& ec) { return look_at_checkpoint(lease_names[0], ec).now; }

    [[nodiscard]] leasehold::poll_pauses pauses() const noexcept
    {
        const plan& p = world_.planned;
        return {leasehold::duration{p.ttl / (p.slow_polls ? 2 : 100)}, leasehold::duration{p.ttl / (p.slow_polls ? 2 : 6)}};
    }

    // A place in the queue for the session lock, or a hint from the server that may get lost; neither where this schedule's store
    // wakes nobody.
    class ticket {
    public:
        ticket(store& s, std::string_view name, leasehold::waker& to_wake)
            : store_{s}, name_{name}, waker_{to_wake}, place_{s.locks_, number_of(name), to_wake}
        {
            const plan& p = store_.world_.planned;
            if (p.notifies && !p.has_locks()) store_.net_.listen({&store_.of_, number_of(name), &to_wake});
        }
        ticket(const ticket&) = delete;
        ticket& operator=(const ticket&) = delete;
        ~ticket() { store_.net_.forget(waker_); }
        [[nodiscard]] std::string_view name() const noexcept { return name_; }
        void passed() noexcept { place_.passed(); }

    private:
        friend store;

        store& store_;
        std::string name_;
        leasehold::waker& waker_;
        queue_place place_;
    };
    [[nodiscard]] ticket enqueue(std::string_view name, leasehold::waker& to_wake) { return {*this, name, to_wake}; }

    // As odbc::detail::store_operations does it.
    leasehold::acquire_result try_acquire(ticket& of, std::string_view owner, leasehold::duration ttl, std::error_code& ec)
    {
        if (world_.planned.has_locks()) {
            switch (of.place_.next()) {
            case flows::queue_action::attempt_at_head: return attempt_at_head(of, owner, ttl, ec);
            case flows::queue_action::look: return look_past_queue(of, owner, ttl, ec);
            case flows::queue_action::queue_up:
                ec.clear();
                return {.status = leasehold::acquire_status::queued, .retry_after = of.place_.queue_up()};
            case flows::queue_action::attempt: return try_acquire(of.name(), owner, ttl, ec);
            }
        }
        leasehold::acquire_result result = try_acquire(of.name(), owner, ttl, ec);
        if (world_.planned.notifies)
            result.retry_after = result.remaining > leasehold::duration::zero() ? result.remaining : leasehold::duration{longest_trust};
        return result;
    }

    // ordered_store: where there are no session locks, all are first.
    leasehold::turn_answer turn(ticket& of, std::error_code& ec)
    {
        ec.clear();
        return world_.planned.has_locks() ? of.place_.turn() : leasehold::turn_answer{};
    }

    // Of the last try_acquire that has ended.
    [[nodiscard]] const call_record& last() const noexcept { return last_; }
    // Told of each renewal before it is sent.
    std::function<void(std::string_view name, leasehold::fencing_token token)> on_renew;
    // Told of each renewal that was refused, but not of those in batches, before the caller is.
    std::function<void(std::string_view name, leasehold::fencing_token token)> on_refused;

private:
    // By a term that is granted at the head of its queue: its session has the lock.
    static constexpr int has_lock = -2;
    static int woken_by(const leasehold::term_request& asked)
    {
        if (!asked.wakes) return number_of(asked.name);
        return asked.wakes->empty() ? nobody : number_of(*asked.wakes);
    }

    // `wakes`: see store_locks.
    leasehold::acquire_result attempt(const operation& call, std::string_view name, leasehold::duration ttl, int wakes,
                                      std::error_code& ec)
    {
        const instant begun = world_.time.now();
        const std::int64_t hint = hints_.take(name);
        flows::grant_answer answer;
        const fault failed = try_until_deadline(call, [&](bool) { return grant(call, ttl.count(), hint, answer); });
        report(failed, ec);
        last_ = {failed != fault::none, failed == fault::none && !answer.result.granted(), world_.time.current(),
                 world_.time.now()};
        if (failed != fault::none) return {};
        if (answer.result.granted()) {
            judge_end(call, answer.result.token.value(), ttl.count());
            if (wakes != has_lock) locks_.granted(call.name, answer.result.token.value(), wakes);
        } else {
            locks_.older_are_over(call.name, answer.result.token.value());
        }
        if (last_.busy && world_.planned.refused == 0 && world_.planned.lag() == 0 && !world_.db.has_waited(call.name, begun) &&
            !world_.judge.was_held_by_another(call.name, call.owner, begun))
            world_.fail("busy means held by another", "busy, but nobody else had it");
        return answer.result;
    }

    bool renew(const operation& call, leasehold::fencing_token token, leasehold::duration ttl, std::error_code& ec)
    {
        world_.tell(of_, 'w', token.value(), [&] { return "sends a renewal of token " + std::to_string(token.value()); });
        bool renewed = false;
        report(try_until_deadline(call,
                         [&](bool) {
                             if (world_.planned.kind == store_kind::memory)
                                 return ask_for(call, ask::renew, token.value(), ttl.count(), renewed);
                             statement_channel channel = open(call, ttl.count());
                             return keep(renewed, flows::renew_flow(channel, token.value()));
                         }),
               ec);
        if (renewed && !ec) judge_end(call, token.value(), ttl.count());
        return renewed && !ec;
    }

    leasehold::acquire_result attempt_at_head(ticket& of, std::string_view owner, leasehold::duration ttl, std::error_code& ec)
    {
        leasehold::acquire_result result = attempt(begin(of.name(), owner), of.name(), ttl, has_lock, ec);
        if (ec) {
            of.place_.lost();
        } else if (result.granted()) {
            ++world_.faults.at_head;
            locks_.granted_at_head(number_of(of.name()), result.token.value(), of.place_.take_lock());
        } else {
            result.retry_after = of.place_.busy_at_head(result.token, result.remaining);
        }
        return result;
    }

    leasehold::acquire_result look_past_queue(ticket& of, std::string_view owner, leasehold::duration ttl, std::error_code& ec)
    {
        operation call = begin(of.name(), owner);
        leasehold::acquire_result row;
        bool ours = false;
        report(try_until_deadline(
                   call,
                   [&](bool) {
                       const reply said = net_.call(of_, {ask::sql, statement::read, call.name, call.owner, 0, 0}, call.until);
                       const bool live = said.found && said.number(column::live) != 0;
                       ours = live && said.number(column::whose) == flows::owner_is_us;
                       row.token = leasehold::fencing_token{said.found ? said.number(column::token) : 0};
                       row.remaining = std::chrono::microseconds{live ? std::max<std::int64_t>(said.number(column::remaining), 1) : 0};
                       return said.failed;
                   }),
               ec);
        if (ec) return {};
        locks_.older_are_over(call.name, row.token.value());
        const bool over = row.remaining <= leasehold::duration::zero();
        if (over) {
            if (const auto pause = of.place_.wait_for_next(row.token)) {
                row.retry_after = *pause;
                return row;
            }
        }
        if (over || ours) {
            call.begun = world_.db.now();  // its time runs on
            row = attempt(call, of.name(), ttl, number_of(of.name()), ec);
        }
        row.retry_after = of.place_.seen(row.token, row.remaining);
        return row;
    }

    static int number_of(std::string_view name) { return number_of_name(name); }

    bool save(std::string_view name, std::string_view owner, leasehold::fencing_token token, int replaced, std::string_view text,
              std::error_code& ec)
    {
        const operation call = begin(name, owner);
        const request asked{ask::save_checkpoint, {}, call.name, call.owner, token.value(), 0, world_.owner(std::string{text}), replaced};
        reply said;
        report(try_until_deadline(call,
                         [&](bool) {
                             said = net_.call(of_, asked, call.until);
                             return said.failed;
                         }),
               ec);
        return said.yes && !ec;
    }

    operation begin(std::string_view name, std::string_view owner)
    {
        const int number = owner.empty() ? nobody : world_.owner(std::string{owner});
        const std::int64_t local = of_.clock.at(world_.time.now()) + world_.planned.call_timeout;
        return {number_of(name), number, of_.clock.when(local), world_.db.now()};
    }

    // What the caller is told it has must have been in the row, for a whole ttl from the call on. Databases cut off a part
    // of a microsecond.
    void judge_end(const operation& call, std::int64_t token, std::int64_t ttl)
    {
        if (world_.planned.jump < 0 || world_.judge.latest_end(call.name, token) >= call.begun + ttl - 1000) return;
        world_.fail("granted or renewed means a whole ttl", of_.label + " was told so of token " + std::to_string(token));
    }

    statement_channel open(const operation& call, std::int64_t time)
    {
        return {world_, net_, of_, call.name, call.owner, time, call.until};
    }

    fault ask_for(const operation& call, ask what, std::int64_t token, std::int64_t time, bool& yes)
    {
        const reply said = net_.call(of_, {what, {}, call.name, call.owner, token, time}, call.until);
        yes = said.yes;
        return said.failed;
    }

    fault grant(const operation& call, std::int64_t ttl, std::int64_t hint, flows::grant_answer& answer)
    {
        if (world_.planned.kind != store_kind::memory) {
            statement_channel channel = open(call, ttl);
            return keep(answer, flows::grant_flow(channel, hint));
        }
        const reply said = net_.call(of_, {ask::try_acquire, {}, call.name, call.owner, 0, ttl}, call.until);
        answer.result = said.acquired;
        return said.failed;
    }

    fault end(const operation& call, std::int64_t token, std::int64_t min_hold_left, bool repeated, bool& released)
    {
        if (world_.planned.kind == store_kind::memory) return ask_for(call, ask::release, token, min_hold_left, released);
        statement_channel channel = open(call, min_hold_left);
        return keep(released, flows::release_flow(channel, token, min_hold_left > 0, repeated));
    }

    // As odbc::detail::session does: one new connection, and more tries after a conflict while there is time.
    template <class Try>
    fault try_until_deadline(const operation& call, Try&& once)
    {
        bool repeated = false;
        for (int tries = 0;; ++tries) {
            const fault failed = once(repeated);
            if (failed == fault::connection_lost && !repeated && world_.planned.kind != store_kind::memory) {
                repeated = true;
                continue;
            }
            if (failed != fault::conflict && failed != fault::lock_timeout) return failed;
            const std::int64_t pause = world_.choose.between(100'000, 100'000 * (1 + std::min(tries, 50)));
            if (world_.time.draining() || world_.time.now() + pause >= call.until) return failed;
            world_.time.sleep_until(world_.time.now() + pause);
        }
    }

    template <class Answer>
    static fault keep(Answer& answer, const flows::outcome<Answer>& said)
    {
        answer = *said;
        return said.failed();
    }

    static void report(fault failed, std::error_code& ec)
    {
        ec.clear();
        if (failed != fault::none) ec = flows::errc_of(failed);
    }

    world& world_;
    network& net_;
    process& of_;
    flows::token_hints hints_;
    store_locks locks_;
    call_record last_;
};

}  // namespace sim

#endif
