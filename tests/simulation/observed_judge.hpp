// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_OBSERVED_JUDGE_HPP
#define LEASEHOLD_TESTS_SIMULATION_OBSERVED_JUDGE_HPP

#include "fingerprint.hpp"
#include "message.hpp"
#include "process.hpp"
#include "world.hpp"

#include <leasehold/detail/hold_text.hpp>
#include <leasehold/lease_change.hpp>
#include <leasehold/lease_record.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sim {

// What must be true of what an observer tells of a name, judged by the name's row.
class observed_judge {
    // Of nobody: the name is free, or kept closed after a release.
    struct holding {
        std::int64_t token = 0;
        std::string owner{};
        std::string data{};

        friend bool operator==(const holding&, const holding&) = default;
    };

public:
    static constexpr int name = 0;  // of lease_names

    explicit observed_judge(world& of) : world_{of} {}

    // After each step: what the row shows.
    void check()
    {
        const row_view row = world_.db.look(name);
        holding now;
        if (row.live && row.owner != nobody)
            now = {row.token, world_.owners[static_cast<std::size_t>(row.owner)], world_.db.data_of(name)};
        const std::int64_t before = history_.back().token;
        if (before != 0 && before != now.token && world_.db.now() < ends_) ended_early_.insert(before);
        ends_ = row.ends;
        if (now != history_.back()) history_.push_back(now);
    }

    void nothing_begins_any_more() noexcept { last_has_begun_ = true; }
    // Whether the row stays as it is.
    [[nodiscard]] bool is_at_rest() const { return last_has_begun_ && !world_.db.look(name).live; }

    // What the observer does. -----------------------------------------------------------------------------------------------------------
    void looks()
    {
        check();
        known_when_sent_ = history_.size();
        sent_ = world_.time.now();
    }

    void tells(const leasehold::lease_change& change)
    {
        using enum leasehold::lease_change_kind;
        const leasehold::lease_record& of = change.record;
        const std::int64_t token = of.token.value();
        switch (change.kind) {
        case acquired:
        case hold_begun:
        case taken_over:
            if (token <= latest_told_) broken("a term is told to begin once, and in order", change);
            if ((told_.token == 0) == (change.kind == taken_over)) broken("no change is invented", change);
            if (of.is_hold() != (change.kind == hold_begun) || !was({token, of.owner, of.data})) broken("no change is invented", change);
            latest_told_ = token;
            told_ = {token, of.owner, of.data};
            break;
        case data_changed:
            if (told_.token != token || told_.data == of.data || !was({token, of.owner, of.data})) broken("no change is invented", change);
            told_.data = of.data;
            break;
        case released:
        case expired:
        case hold_ended:
            if (told_.token != token || history_.back().token == token || of.is_hold() != (change.kind == hold_ended))
                broken("no change is invented", change);
            if (change.kind == released && !ended_early_.contains(token)) broken("a term that ran out is not told as released", change);
            if (change.kind == expired && world_.time.now() < seen_until_)
                broken("a term is told as expired when its time is over", change);
            told_ = {};
        }
    }

    // All that the look found has been told.
    void has_looked(const std::optional<leasehold::lease_record>& found)
    {
        holding in_row;
        if (found && !found->owner.empty()) in_row = {found->token.value(), found->owner, found->data};
        // While the answer was under way, the row may have changed.
        if (known_when_sent_ == history_.size()) in_row = history_.back();
        if (told_ != in_row) missed("it tells of " + text(told_) + ", and the row is of " + text(in_row));
        known_ = known_when_sent_;
        seen_until_ = sent_ + (found ? found->remaining.count() : 0);
    }

    void in_the_end()
    {
        check();
        if (known_ != history_.size()) missed("no look has come after the last change");
    }

    // Stands for all that later judgements depend on.
    [[nodiscard]] std::uint64_t fingerprint() const
    {
        std::uint64_t print = mixed_all(std::hash<std::string>{}(told_.data), told_.token, latest_told_, ends_, known_when_sent_, sent_,
                                        known_, seen_until_, last_has_begun_, ended_early_.size());
        for (const std::int64_t each : ended_early_) print = mixed_all(print, each);
        for (const holding& each : history_)
            print = mixed_all(print, each.token, std::hash<std::string>{}(each.owner), std::hash<std::string>{}(each.data));
        return print;
    }

private:
    [[nodiscard]] bool was(const holding& what) const { return std::ranges::find(history_, what) != history_.end(); }

    [[nodiscard]] static std::string text(const holding& what)
    {
        if (what.token == 0) return "nobody";
        return what.owner + " with token " + std::to_string(what.token) + " and '" + what.data + "'";
    }

    void missed(const std::string& how) { world_.fail("one look tells all that has changed", how); }

    void broken(const char* rule, const leasehold::lease_change& change)
    {
        world_.fail(rule, "told: " + std::string{to_string(change.kind)} + ", token " + std::to_string(change.record.token.value()));
    }

    world& world_;
    std::vector<holding> history_{holding{}};  // of the row
    std::set<std::int64_t> ended_early_;       // tokens
    std::int64_t ends_ = 0;                    // the row's latest term, by the server's clock
    bool last_has_begun_ = false;
    holding told_;                             // what follows from all that was told
    std::int64_t latest_told_ = 0;
    std::size_t known_when_sent_ = 0;          // the part of the history that there was
    instant sent_ = 0;
    std::size_t known_ = 0;                    // the same, of the latest look that succeeded
    instant seen_until_ = 0;                   // the term that it has seen lasts at least until then
};

}  // namespace sim

#endif
