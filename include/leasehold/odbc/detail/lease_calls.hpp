// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_LEASE_CALLS_HPP
#define LEASEHOLD_ODBC_DETAIL_LEASE_CALLS_HPP

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/odbc/detail/batch.hpp>
#include <leasehold/odbc/detail/call.hpp>
#include <leasehold/odbc/detail/configuration.hpp>
#include <leasehold/odbc/detail/fault.hpp>
#include <leasehold/odbc/detail/held_locks.hpp>
#include <leasehold/odbc/detail/lock_order.hpp>
#include <leasehold/odbc/detail/pool.hpp>
#include <leasehold/odbc/detail/token_hints.hpp>
#include <leasehold/odbc/detail/waiting_line.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// The operations of one store: which session carries out a request, and what becomes of the session lock that goes with a
// term. Thread-safe.
class lease_calls {
public:
    lease_calls(std::shared_ptr<const configuration> config, bool in_process)
        : config_{std::move(config)}, pool_{std::make_shared<pool>(config_, in_process)}, held_{config_->options().max_session_locks}, line_{config_, pool_}
    {
    }
    lease_calls(const lease_calls&) = delete;
    lease_calls& operator=(const lease_calls&) = delete;
    // Ends idle connections, and waits for those for no longer than the call time-out.
    ~lease_calls()
    {
        const auto until = deadline();
        for (auto& [name, held] : held_.take_all())
            if (held.session->apart()) line_.sessions().put(std::move(held.session));
        line_.sessions().close(until);
        pool_->close(until);
    }

    acquire_result acquire(std::string_view name, std::string_view owner, duration ttl, failure& why)
    {
        const wish what{name, owner, ttl, deadline()};
        if (const auto place = line_.find(name)) return acquire_in_line(*place, what, why);
        return attempt(what, {lock_use::with_grant, key_of(name)}, nullptr, why).result;
    }

    bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, failure& why)
    {
        const time_point until = deadline();
        const bool renewed = call({operation::renew, name, owner, token.value(), ttl}, until, why).yes && !why;
        if (!renewed && !why) give_back(name, held_.take(name, token.value()), until);
        return renewed;
    }

    bool release(std::string_view name, std::string_view owner, fencing_token token, duration keep_closed, failure& why)
    {
        const time_point until = deadline();
        auto held = held_.take(name, token.value());
        const request asked{operation::release, name, owner, token.value(), keep_closed};
        const auto answered = held ? call(asked, until, why, order_for(name, *held), held->session) : call(asked, until, why);
        const bool released = answered.yes && !why;
        if (held) let_go(std::move(*held), !why);
        end_late_terms(name, owner, token.value(), keep_closed, until);
        if (released && keep_closed <= duration::zero()) hints_.put(name, token.value());
        return released;
    }

    // batching_store: each group in one call of a session; what has no answer by `within` stays unknown.
    void renew_many(std::span<const term_renewal> what, std::span<batch_answer> answers, duration within, failure& why)
    {
        const time_point until = deadline(within);
        const std::vector<item_number> all = numbers_of(what.size());
        for (const auto& group : batch_groups(what, all, &term_renewal::ttl, config_->batch_size())) {
            call_for_many(operation::renew_many, what, group, what[group.front()].ttl, answers, until, why);
            for (const item_number i : group)
                if (answers[i] == batch_answer::no)
                    give_back(what[i].name, held_.take(what[i].name, what[i].token.value()), until);
        }
    }

    // A term with a session lock is released by the session that has it.
    void release_many(std::span<const term_release> what, std::span<batch_answer> answers, failure& why)
    {
        const time_point until = deadline();
        std::vector<item_number> plain;
        for (const item_number i : numbers_of(what.size())) {
            const term_release& each = what[i];
            if (each.keep_closed <= duration::zero() && !held_.has(each.name, each.token.value())) {
                plain.push_back(i);
                continue;
            }
            if (why) continue;
            const bool released = release(each.name, each.owner, each.token, each.keep_closed, why);
            if (!why) answers[i] = released ? batch_answer::yes : batch_answer::no;
        }
        for (const auto& group : batch_groups(what, plain, &term_release::keep_closed, config_->batch_size())) {
            call_for_many(operation::release_many, what, group, {}, answers, until, why);
            for (const item_number i : group) {
                if (answers[i] == batch_answer::yes) hints_.put(what[i].name, what[i].token.value());
                end_late_terms(what[i].name, what[i].owner, what[i].token.value(), {}, until);
            }
        }
    }

    // Step by step, each a call of its own. Counts what went before a failure, too.
    std::size_t purge(duration unused_for, failure& why)
    {
        std::size_t gone = 0;
        std::string after;
        do {
            const answer step = call({operation::purge, after, {}, 0, unused_for}, why);
            gone += static_cast<std::size_t>(step.purged.removed);
            after = step.purged.last;
        } while (!why && !after.empty());
        return gone;
    }

    // Anything else; rethrows what was thrown underneath.
    answer call(const request& asked, failure& why) { return call(asked, deadline(), why); }

    [[nodiscard]] const configuration& config() const noexcept { return *config_; }
    [[nodiscard]] waiting_line& line() noexcept { return line_; }
    [[nodiscard]] const pool& sessions() const noexcept { return *pool_; }

private:
    using held_lock = held_locks::entry;
    using time_point = pool::time_point;

    struct wish {
        std::string_view name, owner;
        duration ttl;
        time_point until;  // of all that has to be done for it
    };

    [[nodiscard]] time_point deadline(duration within = duration::max()) const
    {
        return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                      std::min(within, config_->options().call_timeout));
    }

    static std::vector<item_number> numbers_of(std::size_t count)
    {
        std::vector<item_number> numbers(count);
        std::iota(numbers.begin(), numbers.end(), item_number{0});
        return numbers;
    }

    // The first failure is the one that is reported.
    template <class Item>
    void call_for_many(operation what, std::span<const Item> items, const std::vector<item_number>& group, duration time,
                       std::span<batch_answer> answers, time_point until, failure& why)
    {
        if (std::chrono::steady_clock::now() >= until) {
            if (!why) why = {fault::timeout, {{}, 0, "the time of the call ran out before this was tried", {}}};
            return;
        }
        auto many = std::make_shared<batch>(group.size());
        for (const item_number i : group) many->add(items[i].name, items[i].owner, items[i].token.value());
        failure of_this;
        call({what, {}, {}, 0, time, many}, until, of_this);
        for (item_number i = 0; i < group.size(); ++i) answers[group[i]] = many->answer(i);
        if (of_this && !why) why = std::move(of_this);
    }

    session_lock_key key_of(std::string_view name) const noexcept { return {config_->options().table, name}; }

    lock_order order_for(std::string_view name, const held_lock& held) const noexcept
    {
        return {lock_use::have, key_of(name), held.connection, 0};
    }

    answer call(const request& asked, time_point until, failure& why, const lock_order& order = {},
                const session_pointer& own = nullptr)
    {
        why.kind = fault::none;
        fault no_session = fault::none;
        auto result = carry_out(asked, until, order, own, no_session);
        if (!result) {
            why = {no_session == fault::none ? fault::timeout : no_session, {{}, 0, words_for(no_session), {}}};
            return {};
        }
        if (result->thrown) std::rethrow_exception(result->thrown);
        if (result->failed != fault::none) why = {result->failed, std::move(result->details)};
        return std::move(*result);
    }

    grant_answer attempt(const wish& what, const lock_order& order, const session_pointer& own, failure& why)
    {
        const request asked{operation::acquire, what.name, what.owner, hints_.take(what.name), what.ttl};
        const answer result = call(asked, what.until, why, order, own);
        if (why) return {};
        if (!result.grant.result.granted()) {
            hints_.put(what.name, busy_last_time);
            give_back(what.name, held_.take_older(what.name, result.grant.result.token.value()), what.until);
        }
        return result.grant;
    }

    // A waiter's attempt. It comes after those who have waited longer, unless they make nothing of it.
    acquire_result acquire_in_line(place_in_line& place, const wish& what, failure& why)
    {
        lock_order order;
        if (const auto first = place.borrow(order, line_.turns_before())) {
            grant_answer answer;
            try {
                answer = attempt(what, order, first, why);
            } catch (...) {
                place.lost();
                throw;
            }
            if (why || !answer.locked) {
                place.lost();
            } else if (answer.result.granted()) {
                line_.set_turns_before(place.spent(answer.result.token));
                line_.patience().was_worth_it();
            } else {
                const duration look = place.kept();
                duration& remaining = answer.result.remaining;
                remaining = remaining > duration::zero() ? std::min(remaining, look) : look;
            }
            return answer.result;
        }
        const lock_use how = line_.had_to_wait() ? lock_use::in_line : lock_use::in_line_anew;
        grant_answer answer = attempt(what, {how, key_of(what.name)}, nullptr, why);
        line_.set_had_to_wait(!answer.result.granted());
        if (why || answer.result.granted()) return answer.result;
        // Out of turn: the next term is as good as granted, to whoever has the lock.
        line_.ask(place, what.name, answer.result.token.value() + (answer.out_of_turn ? 1 : 0));
        if (!answer.out_of_turn) {
            answer.result.remaining = std::min<duration>(answer.result.remaining + line_grace, line_recheck);
            return answer.result;
        }
        if (const auto pause = place.leave_to_others(answer.result, line_.patience().now())) {
            answer.result.remaining = *pause;
        } else {
            answer = attempt(what, {}, nullptr, why);
            if (answer.result.granted()) line_.patience().was_in_vain();
        }
        return answer.result;
    }

    // The caller has given that term back. Where an attempt of the same owner that had been given up took it over in the meantime,
    // nobody knows of what came out of it, and so it is ended too.
    void end_late_terms(std::string_view name, std::string_view owner, std::int64_t token, duration keep_closed, time_point until)
    {
        while ((token = pool_->given_back(name, owner, token)) != 0) {
            failure ignored;
            const request asked{operation::release, name, owner, token, keep_closed};
            call(asked, until, ignored);
        }
    }

    // A lock whose term is over. In a statement of its own, which only lost terms cost; where there is no time for it, the
    // connection is replaced.
    void give_back(std::string_view name, std::optional<held_lock> held, time_point until)
    {
        if (!held) return;
        fault ignored = fault::none;
        const auto given_back = carry_out({operation::unlock, name, {}, 0, {}}, until, order_for(name, *held), held->session, ignored);
        let_go(std::move(*held), given_back && given_back->failed == fault::none);
    }

    // `clean`: the lock has been given back.
    void let_go(held_lock held, bool clean)
    {
        if (!held.session->apart()) {
            if (!clean) held.session->inner().renew_connection();
        } else if (clean) {
            line_.sessions().put(std::move(held.session));
        } else {
            line_.sessions().drop(held.session);
        }
    }

    // Before the session is anybody else's again: from then on no other grant of that name may try the lock.
    void note_grant(std::string_view name, const session_pointer& session)
    {
        const grant_answer& grant = session->inner().result().grant;
        if (!grant.result.granted()) return;
        if (!grant.locked) {
            held_.renew(name, grant.result.token.value());
            return;
        }
        try {
            auto replaced = held_.put(name, {session, session->inner().connection_number(), grant.result.token.value()});
            if (replaced && replaced->session != session) let_go(std::move(*replaced), false);
        } catch (const std::bad_alloc&) {
            session->inner().renew_connection();  // nobody will give the lock back
        }
    }

    // `own`: the session that has, or is to have, the lock. Nothing: no session (`why` says why), or no answer.
    std::optional<answer> carry_out(const request& asked, time_point until, const lock_order& order, const session_pointer& own,
                                    fault& why)
    {
        auto session = pool_->take(asked, until, why, own);
        if (!session) return std::nullopt;
        const bool may_lock = !own && order.use != lock_use::none && held_.may_lock(asked.name);
        if (may_lock || session == own) session->inner().set_lock_order(order);
        if (own && session != own && !own->apart()) own->inner().renew_connection();
        if (!run(session, until)) return std::nullopt;
        const bool acquired = asked.what == operation::acquire && session->inner().result().failed == fault::none;
        if (acquired) note_grant(asked.name, session);
        answer result = std::move(session->inner().result());
        pool_->give_back(std::move(session), acquired && result.grant.result.granted());
        if (config_->gave_up_session_locks()) give_all_back(until);
        return result;
    }

    // The server has no room for locks, or they don't work: those it has are not to be in anybody's way.
    void give_all_back(time_point until)
    {
        if (held_.size() == 0) return;
        for (auto& [name, held] : held_.take_all()) give_back(name, std::move(held), until);
    }

    // False: given up.
    bool run(const session_pointer& session, time_point until)
    {
        try {
            return session->run(until) || !pool_->give_up(session);
        } catch (...) {
            pool_->drop(session);
            throw;
        }
    }

    static const char* words_for(fault no_session) noexcept
    {
        switch (no_session) {
        case fault::none:
            return "no answer within call_timeout (frozen server or network, or an overloaded one): the connection was given "
                   "up, what the call did is unknown";
        case fault::timeout:
            return "no connection of the pool became free in time: raise pool_size or call_timeout, or look for what blocks "
                   "the others";
        default:
            return "too many calls hang in the driver already (frozen server or network): nothing is tried until some of them "
                   "return";
        }
    }

    const std::shared_ptr<const configuration> config_;
    const std::shared_ptr<pool> pool_;
    token_hints hints_;
    held_locks held_;
    waiting_line line_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
