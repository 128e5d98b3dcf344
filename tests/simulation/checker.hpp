// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_CHECKER_HPP
#define LEASEHOLD_TESTS_SIMULATION_CHECKER_HPP

#include "fingerprint.hpp"
#include "message.hpp"
#include "process.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sim {

// What must be true whatever goes wrong, judged by what the server's rows show and what the holders believe, and by nothing
// that the library says about itself. The first broken rule is kept.
class checker {
public:
    [[nodiscard]] bool broken() const noexcept { return rule_ != nullptr; }
    [[nodiscard]] const char* rule() const noexcept { return rule_; }
    [[nodiscard]] const std::string& details() const noexcept { return details_; }

    void fail(const char* rule, std::string details)
    {
        if (rule_ != nullptr) return;
        rule_ = rule;
        details_ = std::move(details);
    }

    // The server has carried out a statement at `now` of its clock.
    void executed(const request& asked, const row_view& before, const row_view& after, instant real)
    {
        history& h = names_[static_cast<std::size_t>(asked.name)];
        if (!before.live) h.over = h.last_token;
        if (asked.what == ask::force_release && before.live) h.ended_by_hand.push_back({before.owner, before.token});
        if (after.live) note_end(h, after);
        if (after == before) return;
        if (before.live && after.live && after.token != before.token) return took_over(h, before, after, asked, real);
        if (before.live && !after.live && !ends_that_term(asked, before))
            return fail("store: only its owner ends a term", "a term ended by a statement about another one");
        if (!before.live && after.live) {
            if (after.token == h.last_token)
                return fail("store: nothing revives", "a term that was over is unexpired again");
            if (after.token < h.last_token) return fail("store: tokens grow", "a token came back");
            if (after.owner != asked.owner) return fail("store: the asker gets it", "a term began for somebody else");
            begun(h, after, asked, real);
        }
        if (before.live && after.live) changed(asked, before, after);
    }

    // The latest end, by the server's clock, that the term with this token ever had; 0: there was none.
    [[nodiscard]] std::int64_t latest_end(int name, std::int64_t token) const
    {
        const history& h = names_[static_cast<std::size_t>(name)];
        const auto index = static_cast<std::size_t>(token);
        return index < h.ends.size() ? h.ends[index] : 0;
    }

    // A statement met the term when it was over already. A clock that is set back makes it live again.
    [[nodiscard]] bool was_over(int name, std::int64_t token) const
    {
        return names_[static_cast<std::size_t>(name)].over == token;
    }

    // A person ended the owner's term with this token or a later one. A holder of this one learns of it at its next renewal.
    [[nodiscard]] bool was_ended_by_hand(int name, int owner, std::int64_t token) const
    {
        return std::ranges::any_of(names_[static_cast<std::size_t>(name)].ended_by_hand,
                                   [&](const term& t) { return t.owner == owner && t.token >= token; });
    }

    [[nodiscard]] std::int64_t last_token(int name) const { return names_[static_cast<std::size_t>(name)].last_token; }

    // An acknowledged release with min_hold: the next term must not begin before this.
    void closed_until(int name, std::int64_t token, instant until)
    {
        history& h = names_[static_cast<std::size_t>(name)];
        if (token == h.last_token) h.closed_until = std::max(h.closed_until, until);
    }

    // Whether somebody else than `owner` held `name`, or kept it closed, at any time since then.
    [[nodiscard]] bool was_held_by_another(int name, int owner, instant since) const
    {
        const history& h = names_[static_cast<std::size_t>(name)];
        return std::ranges::any_of(h.terms,
                                   [&](const tenure& t) { return t.until >= since && (t.owner != owner || t.closed); });
    }

    // The row as it is now, for was_held_by_another().
    void seen(int name, const row_view& row, instant real)
    {
        history& h = names_[static_cast<std::size_t>(name)];
        if (!row.live) return;
        if (h.terms.empty() || h.terms.back().owner != row.owner) h.terms.push_back({row.owner, row.owner == nobody, 0});
        h.terms.back().until = real;
    }

    // Stands for all that later judgements depend on.
    [[nodiscard]] std::uint64_t fingerprint() const noexcept
    {
        std::uint64_t print = 0;
        for (const history& h : names_) {
            print = mixed_all(print, h.last_token, h.over, h.closed_until, h.ends.size(), h.terms.size(), h.ended_by_hand.size());
            for (const term& t : h.ended_by_hand) print = mixed_all(print, t.owner, t.token);
            for (const std::int64_t end : h.ends) print = mixed_all(print, end);
            for (const tenure& t : h.terms) print = mixed_all(print, t.owner, t.until);
        }
        return print;
    }

private:
    struct tenure {
        int owner;
        bool closed;
        instant until;  // seen last
    };
    struct term {
        int owner;
        std::int64_t token;
    };
    struct history {
        std::int64_t last_token = 0;
        std::int64_t over = 0;  // a token
        instant closed_until = 0;
        std::vector<tenure> terms;
        std::vector<std::int64_t> ends;  // by token
        std::vector<term> ended_by_hand;
    };

    static void note_end(history& h, const row_view& row)
    {
        const auto index = static_cast<std::size_t>(row.token);
        if (index >= h.ends.size()) h.ends.resize(index + 1);
        if (row.owner != nobody) h.ends[index] = std::max(h.ends[index], row.ends);
    }

    static bool ends_that_term(const request& asked, const row_view& before)
    {
        if (asked.what == ask::force_release) return true;
        const bool ends = asked.what == ask::release ||
                          (asked.what == ask::sql && asked.which == statement::release);
        return ends && asked.token == before.token && asked.owner == before.owner;
    }

    void begun(history& h, const row_view& after, const request& asked, instant real)
    {
        h.last_token = after.token;
        if (asked.what == ask::renew || asked.what == ask::release || asked.which == statement::renew)
            return fail("store: nothing revives", "a term began by something else than a grant");
        if (real < h.closed_until)
            fail("min_hold keeps it closed", "a term began " + std::to_string(h.closed_until - real) + " ns too early");
    }

    // Only its own owner may begin a term while the one before is unexpired.
    void took_over(history& h, const row_view& before, const row_view& after, const request& asked, instant real)
    {
        if (before.owner != asked.owner || after.owner != asked.owner)
            return fail("store: terms overlap", "a term began while the one before was unexpired");
        if (after.token < before.token) return fail("store: tokens grow", "a token came back");
        if (after.ends < before.ends) return fail("store: never shorter", "a term was shortened by a grant");
        begun(h, after, asked, real);
    }

    void changed(const request& asked, const row_view& before, const row_view& after)
    {
        const bool closes = ends_that_term(asked, before);
        if (after.owner != before.owner && !(closes && after.owner == nobody))
            return fail("store: one term, one owner", "a term changed its owner");
        if (closes) return;
        if (asked.owner != before.owner)
            return fail("store: only its owner extends a term", "a term was extended by another");
        if (after.ends < before.ends) fail("store: never shorter", "a term was shortened by a grant or renewal");
    }

    const char* rule_ = nullptr;
    std::string details_;
    std::array<history, lease_names.size()> names_;
};

}  // namespace sim

#endif
