// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_HISTORY_CHECKER_HPP
#define LEASEHOLD_TESTS_HISTORY_CHECKER_HPP

// Decides whether a history of calls is linearizable: whether there is one order of the calls, in which no call comes before one
// that had ended when it began, such that the specification allows each answer.
//
// The calls are taken in the order of their ends. Each is placed after those that must be before it: just in time, after Lowe's
// variant of Wing's and Gong's algorithm, with what was reached in several ways kept once. Three things keep it nearly linear:
// - names are independent;
// - a term's expiry is an interval, not an instant to guess;
// - an answer that names a term must come before the grant of the next one, so most orders end at once.

#include "call.hpp"
#include "possibilities.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace history {

/// What check() has found.
struct verdict {
    std::size_t calls = 0;
    std::size_t unknown = 0;    ///< of them, calls of unknown outcome
    std::size_t names = 0;
    std::string explanation{};  ///< why the history is not linearizable; empty: it is

    [[nodiscard]] bool linearizable() const { return explanation.empty(); }
};

namespace detail {

// The calls of one name.
class name_checker {
public:
    name_checker(std::vector<call> calls, instant error) : calls_{std::move(calls)}, terms_{calls_}, error_{error}
    {
        for (std::size_t i = 0; i < calls_.size(); ++i) {
            events_.push_back({calls_[i].begin, false, i});
            if (calls_[i].end < never) events_.push_back({calls_[i].end, true, i});
        }
        // What ends when another begins is taken to overlap it.
        std::ranges::sort(events_, {}, [](const event& e) { return std::tuple{e.at, e.is_end, e.number}; });
        for (std::size_t i = 0; i < events_.size(); ++i)
            if (!events_[i].is_end) terms_.begins(calls_[events_[i].number], i);
        terms_.all_are_known();
    }

    // Empty: it is linearizable.
    std::string judge()
    {
        reached_.push_back({});
        for (now_ = 0; now_ < events_.size(); ++now_) {
            const auto [at, is_end, number] = events_[now_];
            if (!is_end)
                begin(number);
            else if (!end(number, at))
                return explain(number);
        }
        return {};
    }

private:
    struct event {
        instant at;
        bool is_end;
        std::size_t number;
    };
    struct step {
        std::size_t number;
        std::size_t before;
    };

    void begin(std::size_t number)
    {
        if (calls_[number].said == answer::unknown)
            unknown_.add(calls_[number]);
        else
            under_way_.push_back(number);
    }

    bool end(std::size_t number, instant at)
    {
        if (calls_[number].said == answer::unknown) {
            // The last instant at which it may be carried out: what may come before that is tried, too.
            reached_ = reach(std::nullopt, at);
            unknown_.remove(calls_[number]);
            return true;
        }
        std::vector<possibility> next = reach(number, at);
        if (next.empty()) return false;
        std::erase(under_way_, number);
        for (possibility& each : next) std::erase(each.placed, number);
        reached_ = std::move(next);
        return true;
    }

    // All that there can be once the target has been placed, before `at`; without a target, all that there can be.
    std::vector<possibility> reach(std::optional<std::size_t> target, instant at)
    {
        std::vector<possibility> seen;
        std::vector<possibility> to_do;
        std::vector<possibility> done;
        const auto add = [&](std::optional<possibility> p) {
            if (!p) return;
            unknown_.widen(*p, at, error_);
            settle(*p, at);
            if (std::ranges::any_of(seen, [&](const possibility& other) { return other.covers(*p); })) return;
            seen.push_back(*p);
            const bool is_done = !target || p->has_placed(*target);
            if (is_done) done.push_back(*p);
            if (!target || !is_done) to_do.push_back(std::move(*p));
        };
        for (const possibility& each : reached_) add(each);
        while (!to_do.empty()) {
            const possibility from = std::move(to_do.back());
            to_do.pop_back();
            for (const std::size_t number : under_way_)
                if (!from.has_placed(number) && (number == target || !only_shows(calls_[number]))) add(place(from, number, at));
            for (const std::int64_t token : unknown_tokens_after(from.token))
                for (const call& each : unknown_.attempts()) add(place_unknown(from, each, token, at));
        }
        return done;
    }

    // Places the answers that are as expected now, whenever the term expires: nothing is gained by placing them later.
    void settle(possibility& p, instant at)
    {
        for (const std::size_t number : under_way_) {
            if (!only_reads(calls_[number]) || p.has_placed(number)) continue;
            possibility same = p;
            if (!same.apply(calls_[number], at, error_)) continue;
            unknown_.widen(same, at, error_);
            if (same.expires_like(p)) note(p, number);
        }
    }

    static bool only_reads(const call& c) { return c.said == answer::no || only_shows(c); }

    // An answer that shows a term, and changes nothing, may as well come just before the term's end.
    static bool only_shows(const call& c)
    {
        return shows_live_term(c) && c.what != operation::renew && c.what != operation::release;
    }

    std::optional<possibility> place(possibility p, std::size_t number, instant at)
    {
        const call& c = calls_[number];
        note(p, number);
        const bool releases = c.said == answer::yes && (c.what == operation::release || c.what == operation::force_release);
        const bool ends_a_term = grants(c) || releases;
        if (ends_a_term && !shut(p, grants(c) ? c.token - 1 : p.token, at)) return std::nullopt;
        if (!p.apply(c, at, error_)) return std::nullopt;
        return p;
    }

    // The tokens that an attempt of unknown outcome may have got: the next that the history shows, if no call was granted it, and
    // one that the history doesn't show, if there is room before that.
    [[nodiscard]] std::vector<std::int64_t> unknown_tokens_after(std::int64_t token) const
    {
        std::vector<std::int64_t> tokens;
        const std::optional<std::int64_t> shown = terms_.next_shown(token);
        if (shown && !terms_.was_granted(*shown)) tokens.push_back(*shown);
        if (terms_.is_shown(token) && (!shown || *shown > token + 1)) tokens.push_back(token + 1);
        return tokens;
    }

    std::optional<possibility> place_unknown(possibility p, const call& c, std::int64_t token, instant at)
    {
        if (!shut(p, token - 1, at) || !p.apply_unknown_attempt(c, token, at, error_)) return std::nullopt;
        return p;
    }

    // Places the answers that show the current term, since it is about to end. False: one of this term or an earlier one is left.
    bool shut(possibility& p, std::int64_t last, instant at)
    {
        if (terms_.last_begin(last) > now_) return false;
        for (const std::size_t number : under_way_) {
            const call& c = calls_[number];
            if (p.has_placed(number) || !(shows_live_term(c) || grants(c)) || c.token > last) continue;
            if (!only_shows(c) || !p.apply(c, at, error_)) return false;
            note(p, number);
            unknown_.widen(p, at, error_);
        }
        return true;
    }

    void note(possibility& p, std::size_t number)
    {
        p.placed.insert(std::ranges::lower_bound(p.placed, number), number);
        steps_.push_back({number, p.last_step});
        p.last_step = steps_.size();
    }

    // The name, what was placed last, what the store may have known then, and what found no place.
    [[nodiscard]] std::string explain(std::size_t stuck) const
    {
        constexpr std::size_t most_shown = 8;
        constexpr std::size_t most_looks_shown = 2;
        const instant first = events_.front().at;
        const possibility& best = reached_.front();
        std::string text = "not linearizable: '" + calls_[stuck].name + "', " + std::to_string(calls_.size()) +
                           " calls; times since the first of them\n  the last that could be placed, in this order:\n";
        std::vector<std::size_t> last;
        // Of those that only look, the last: what has changed the lease explains more.
        for (std::size_t i = best.last_step; i != 0 && last.size() < most_shown; i = steps_[i - 1].before)
            if (last.size() < most_looks_shown || !only_reads(calls_[steps_[i - 1].number])) last.push_back(steps_[i - 1].number);
        for (; !last.empty(); last.pop_back()) text += line(calls_[last.back()], first);
        text += "  then the store may know:\n";
        for (std::size_t i = 0; i < std::min(reached_.size(), most_shown); ++i) text += "    " + reached_[i].text(first) + '\n';
        text += "  no place for:\n" + line(calls_[stuck], first);
        text += "      because " + best.why_not(calls_[stuck], error_, first) + '\n';
        std::string others;
        std::size_t shown = 0;
        for (const std::size_t number : under_way_)
            if (number != stuck && !best.has_placed(number) && ++shown <= most_shown) others += line(calls_[number], first);
        return others.empty() ? text : text + "  under way, and not placed:\n" + others;
    }

    static std::string line(const call& c, instant first)
    {
        const std::string end = c.end >= never ? "?" : seconds_text(c.end - first);
        return "    " + seconds_text(c.begin - first) + " to " + end + "  " + text_of(c) + '\n';
    }

    std::vector<call> calls_;
    shown_terms terms_;
    instant error_;
    std::vector<event> events_;
    std::size_t now_ = 0;                  // the event
    std::vector<std::size_t> under_way_;   // begun, not ended, outcome known
    unknown_calls unknown_;
    std::vector<possibility> reached_;
    std::vector<step> steps_;
};

}  // namespace detail

/// Decides on a whole history, name by name. `clock_error`: how far two readings of the store's clock may be off from each other,
/// by the callers' clock.
///
/// The first name that is not linearizable is explained.
[[nodiscard]] inline verdict check(const std::vector<call>& calls, instant clock_error)
{
    verdict found{.calls = calls.size()};
    std::map<std::string, std::vector<call>> names;
    for (const call& each : calls) {
        if (each.said == answer::unknown) ++found.unknown;
        // Busy without a token says nothing about the holder.
        if (each.what != operation::acquire || each.said != answer::no || each.token != 0) names[each.name].push_back(each);
    }
    found.names = names.size();
    for (auto& [name, own] : names) {
        found.explanation = detail::name_checker{std::move(own), clock_error}.judge();
        if (!found.linearizable()) break;
    }
    return found;
}

}  // namespace history

#endif
