// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_SERVER_HPP
#define LEASEHOLD_TESTS_SIMULATION_SERVER_HPP

#include "checker.hpp"
#include "fingerprint.hpp"
#include "message.hpp"
#include "plan.hpp"
#include "scheduler.hpp"
#include "sql_table.hpp"
#include "transactions.hpp"

#include <leasehold/store/memory_store.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sim {

// The one database: it alone keeps rows, judges by its own clock, and carries out a statement in one step.
class server {
public:
    server(const plan& p, scheduler& s, checker& c, const std::vector<std::string>& owners)
        : plan_{p}, scheduler_{s}, checker_{c}, owners_{owners}, memory_{server_clock{this}}, table_{p.lag(), p.takes_blindly}
    {
        clock.offset = 86'400'000 * ms;
    }

    // Monotonic but for a jump; drifts.
    drifting_clock clock;
    instant frozen_until = 0;
    instant down_until = 0;

    [[nodiscard]] std::int64_t now() const noexcept { return clock.at(scheduler_.now()); }

    [[nodiscard]] row_view look(int name)
    {
        if (plan_.kind != store_kind::memory) return table_.look(name, now() / 1000);
        std::error_code ec;
        const auto record = memory_.inspect(name_of(name), ec);
        if (!record) return {};
        return {true, owner_number(record->owner), record->token.value(), now() + record->remaining.count()};
    }

    // What the holder publishes; of memory_store only.
    [[nodiscard]] std::string data_of(int name)
    {
        std::error_code ec;
        const auto record = memory_.inspect(name_of(name), ec);
        return record ? record->data : std::string{};
    }

    // The text that was saved last: a number of world::owner().
    [[nodiscard]] int checkpoint_of(int name) const { return saved_[static_cast<std::size_t>(name)].text; }

    [[nodiscard]] std::int64_t checkpoint_token_of(int name) const { return saved_[static_cast<std::size_t>(name)].token; }
    // Whether the owner of the name's latest term has saved it, in a statement of an unexpired term or in a transaction of its own.
    [[nodiscard]] bool saved_by_holder(int name, std::string_view owner)
    {
        const saved& s = saved_[static_cast<std::size_t>(name)];
        if (s.in_transaction) return table_.is_latest_term(name, owner_number(owner), s.token);
        const row_view row = look(name);
        return row.live && row.token == s.token && row.owner == owner_number(owner);
    }
    // How often the work of each fire was committed in a transaction.
    [[nodiscard]] const std::map<std::int64_t, int>& work() const noexcept { return work_; }

    // Whether a statement has to wait for a transaction; noted, since an attempt is busy then although nobody may hold the name.
    [[nodiscard]] bool has_to_wait(const request& asked)
    {
        const bool waits = meets_lock(asked);
        if (waits) waited_[static_cast<std::size_t>(asked.name)] = scheduler_.now();
        return waits;
    }
    [[nodiscard]] bool has_waited(int name, instant since) const { return waited_[static_cast<std::size_t>(name)] >= since; }
    // Null: there is none under way.
    [[nodiscard]] const transactions::transaction* transaction_on(int connection) const { return transactions_.find(connection); }
    // The connection has broken, or says nothing any more.
    void roll_back(int connection) { static_cast<void>(execute({.what = ask::roll_back, .connection = connection})); }
    void roll_back_all() { transactions_.end_all(); }
    // As it is when the world begins.
    void put_checkpoint(int name, int text) { saved_[static_cast<std::size_t>(name)] = {0, text}; }

    reply execute(const request& asked)
    {
        if (asked.what == ask::write) {
            const reply said = write(asked);
            take_note(asked, said, said.yes);
            return said;
        }
        if (asked.what == ask::save_checkpoint || asked.what == ask::look_at_checkpoint) {
            const reply said = checkpoint(asked);
            take_note(asked, said, said.yes && asked.what == ask::save_checkpoint);
            return said;
        }
        if (is_in_transaction(asked.what)) {
            const reply said = in_transaction(asked);
            take_note(asked, said, true);
            return said;
        }
        const row_view before = look(asked.name);
        checker_.seen(asked.name, before, scheduler_.now());
        const reply said = asked.what == ask::sql ? run(asked) : operate(asked);
        const row_view after = look(asked.name);
        std::int64_t& latest = latest_[static_cast<std::size_t>(asked.name)];
        latest = std::max(latest, after.token);
        checker_.executed(asked, before, after, scheduler_.now());
        checker_.seen(asked.name, after, scheduler_.now());
        judge_answer(asked, said, before, after);
        take_note(asked, said, after != before || said.yes || said.acquired.granted() || said.rows != 0);
        released = before.live && before.owner != nobody && (!after.live || after.owner == nobody);
        return said;
    }

    bool released = false;  // by the statement before

    // Stands for the rows, and for what the resource has seen.
    [[nodiscard]] std::uint64_t fingerprint() const noexcept
    {
        std::uint64_t print = mixed_all(0, frozen_until, down_until, clock.offset);
        for (const std::uint64_t each : histories_) print = mixed(print, each);
        return print;
    }

private:
    struct server_clock {
        const server* of = nullptr;
        [[nodiscard]] leasehold::time_point now() const noexcept
        {
            return leasehold::time_point{leasehold::duration{of->now()}};
        }
    };

    static std::string_view name_of(int name) { return lease_names[static_cast<std::size_t>(name)]; }

    [[nodiscard]] int owner_number(std::string_view owner) const
    {
        const auto found = std::ranges::find(owners_, owner);
        return found == owners_.end() ? nobody : static_cast<int>(found - owners_.begin());
    }

    reply run(const request& asked)
    {
        const std::int64_t at_us = now() / 1000;
        return table_.execute(asked, at_us, table_.may_lag(asked.name, at_us) && scheduler_.choose().lags(at_us));
    }

    reply operate(const request& asked)
    {
        const std::string_view owner = owners_[static_cast<std::size_t>(std::max(asked.owner, 0))];
        const leasehold::fencing_token token{asked.token};
        const leasehold::duration time{asked.time};
        std::error_code ec;
        reply said;
        switch (asked.what) {
        case ask::try_acquire: said.acquired = memory_.try_acquire(name_of(asked.name), owner, time, ec); break;
        case ask::renew: said.yes = memory_.renew(name_of(asked.name), owner, token, time, ec); break;
        case ask::release: said.yes = memory_.release(name_of(asked.name), owner, token, time, ec); break;
        case ask::publish:
            said.yes = memory_.publish(name_of(asked.name), owner, token, owners_[static_cast<std::size_t>(asked.text)], ec);
            break;
        case ask::force_release: said.yes = memory_.force_release(name_of(asked.name), ec); break;
        default:
            if (const auto record = memory_.inspect(name_of(asked.name), ec)) {
                said.found = true;
                said.owner = owner_number(record->owner);
                if (!record->data.empty()) said.text = owner_number(record->data);
                said.number(column::token) = record->token.value();
                said.number(column::remaining) = record->remaining.count() / 1000;
            }
        }
        return said;
    }

    // What the store says must be what its row shows.
    void judge_answer(const request& asked, const reply& said, const row_view& before, const row_view& after)
    {
        if (asked.what == ask::try_acquire) {
            if (said.acquired.granted()) {
                if (!after.live || after.owner != asked.owner || after.token != said.acquired.token.value())
                    checker_.fail("store: granted means held", "granted a term that the row does not show");
                else if (after.ends < now() + asked.time)
                    checker_.fail("store: granted means held", "granted a term shorter than its ttl");
            } else if (!before.live || before.owner == asked.owner)
                checker_.fail("store: busy means held by another", "busy although free, or the owner's own");
            else if (after != before)
                checker_.fail("store: busy writes nothing", "a busy answer changed the row");
        }
        const bool renews = asked.what == ask::renew;
        if (renews && said.yes && (!after.live || after.token != asked.token || after.ends < now() + asked.time))
            checker_.fail("store: renewed means extended", "a renewal that the row does not show");
        if (renews && !said.yes && before.live && before.owner == asked.owner && before.token == asked.token)
            checker_.fail("store: renewed means extended", "a live term was not renewed");
        if (asked.what == ask::release && said.yes && after.live && after.owner == asked.owner)
            checker_.fail("store: released means over", "a released term goes on");
        if (asked.what == ask::release && !said.yes && before.live && before.owner == asked.owner &&
            before.token == asked.token)
            checker_.fail("store: released means over", "a live term was not released");
    }

    // Saves under a term that is not over, or tells what was saved, and under which term; `yes`: another may be saved under the latest.
    reply checkpoint(const request& asked)
    {
        saved& s = saved_[static_cast<std::size_t>(asked.name)];
        const row_view row = look(asked.name);
        reply said;
        if (asked.what == ask::save_checkpoint) {
            const bool is_there = asked.text == s.text && asked.token == s.token;
            const bool replaces = asked.replaced == whichever || asked.replaced == s.text || is_there;
            said.yes = replaces && ((row.live && row.owner == asked.owner && row.token == asked.token) || plan_.saves_blindly);
            if (said.yes) s = {asked.token, asked.text, false};
            return said;
        }
        said.found = s.text != nobody;
        said.text = s.text;
        said.number(column::token) = s.token;
        said.latest = latest_[static_cast<std::size_t>(asked.name)];
        // Of a term that has expired a transaction may still be under way.
        said.yes = plan_.kind == store_kind::memory ? row.live : !table_.was_released(asked.name);
        said.at = now();
        return said;
    }

    [[nodiscard]] bool meets_lock(const request& asked) const
    {
        if (plan_.fences_hold_nothing || plan_.kind == store_kind::memory) return false;
        if (asked.what == ask::save_checkpoint || asked.what == ask::save_fenced) return transactions_.keep_away(asked, false);
        if (asked.what != ask::sql) return false;
        const bool of_this_term = table_.latest_token(asked.name) == asked.token;
        switch (asked.which) {
        case statement::take: return of_this_term && transactions_.keep_away(asked, true);
        case statement::grant: return !table_.is_busy_for(asked, now() / 1000) && transactions_.keep_away(asked, true);
        case statement::renew:
        case statement::release: return of_this_term && transactions_.keep_away(asked, false);
        default: return false;
        }
    }

    // `yes`: it is done; a fence: that very term is unexpired; a save: the row has that term.
    reply in_transaction(const request& asked)
    {
        reply said;
        if (asked.what == ask::commit || asked.what == ask::roll_back) {
            const auto ended = transactions_.end(asked.connection);
            if (!ended) said.failed = fault::connection_lost;
            if (ended && asked.what == ask::commit) commit(*ended);
            said.yes = ended.has_value();
            return said;
        }
        transactions::transaction* const in = transactions_.of(asked.connection, asked.name);
        if (!in) {
            said.failed = fault::connection_lost;
            return said;
        }
        ++in->statements;
        in->last = scheduler_.now();
        const bool is_latest = table_.is_latest_term(asked.name, asked.owner, asked.token);
        if (asked.what == ask::work) in->work.push_back(asked.time);
        said.yes = asked.what == ask::work || (is_latest && (asked.what == ask::save_fenced || look(asked.name).live));
        if (said.yes && asked.what == ask::fence) in->fences = true;
        if (said.yes && asked.what == ask::save_fenced) in->saved.emplace(asked.token, asked.text);
        return said;
    }

    void commit(const transactions::transaction& done)
    {
        for (const std::int64_t fire : done.work) ++work_[fire];
        if (done.saved) saved_[static_cast<std::size_t>(done.name)] = {done.saved->first, done.saved->second, true};
    }

    // The resource: `where last_token <= ?`.
    reply write(const request& asked)
    {
        written& w = written_[static_cast<std::size_t>(asked.name)];
        reply said;
        said.yes = asked.token >= w.token;
        if (!said.yes) return said;
        if (asked.token == w.token && w.owner != nobody && w.owner != asked.owner)
            checker_.fail("fence: one token, one holder", "two holders wrote under one token");
        w = {asked.token, asked.owner};
        return said;
    }

    // The asker has seen the answer, and the row's history goes on where a statement has changed something.
    void take_note(const request& asked, const reply& said, bool writes)
    {
        std::uint64_t print = mixed_all(0, said.failed, said.acquired.status, said.acquired.token.value(), said.acquired.remaining.count(),
                                        said.yes, said.found, said.rows, said.owner);
        for (const std::int64_t each : said.numbers) print = mixed_all(print, each);
        if (asked.what == ask::save_checkpoint || asked.what == ask::look_at_checkpoint || asked.what == ask::publish ||
            asked.what == ask::inspect || is_in_transaction(asked.what))
            print = mixed_all(print, asked.connection, said.latest,
                              text_print(said.text), text_print(asked.text), text_print(asked.replaced));
        scheduler_.observe(print);
        std::uint64_t& row = histories_[static_cast<std::size_t>(asked.name)];
        if (writes) row = mixed_all(row, print, asked.what, asked.which, asked.owner, asked.token, asked.time, now());
    }

    // Two worlds give their texts other numbers.
    [[nodiscard]] std::uint64_t text_print(int number) const
    {
        return number < 0 ? static_cast<std::uint64_t>(number) : std::hash<std::string>{}(owners_[static_cast<std::size_t>(number)]);
    }

    struct written {
        std::int64_t token = 0;
        int owner = nobody;
    };
    struct saved {
        std::int64_t token = 0;
        int text = nobody;
        bool in_transaction = false;
    };

    const plan& plan_;
    scheduler& scheduler_;
    checker& checker_;
    const std::vector<std::string>& owners_;
    leasehold::basic_memory_store<server_clock> memory_;
    sql_table table_;
    transactions transactions_;
    std::map<std::int64_t, int> work_;
    std::array<written, lease_names.size()> written_{};
    std::array<saved, lease_names.size()> saved_{};
    std::array<std::int64_t, lease_names.size()> latest_{};
    std::array<instant, lease_names.size()> waited_ = [] { std::array<instant, lease_names.size()> none{}; none.fill(-1); return none; }();
    std::array<std::uint64_t, lease_names.size()> histories_{};
};

}  // namespace sim

#endif
