// SPDX-License-Identifier: BSL-1.0
#include "fire_judge.hpp"

#include "history.hpp"
#include "spans.hpp"
#include "term.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace campaign {

namespace {

// One beginning of a fire by one process.
struct attempt {
    std::string process;
    std::int64_t token = 0;
    instant begun = 0;
    std::int64_t number = 0;               // as the library counts them
    std::optional<instant> completing{};   // when complete() was called first
    std::optional<instant> completed{};    // when it returned true
    std::size_t sent = 0, refused = 0;     // calls of complete(), and those that said that the lease was lost

    // By a call whose answer was an error, or lost with the process.
    [[nodiscard]] bool perhaps_completed() const { return sent > refused; }
};

struct fire_history {
    std::vector<attempt> attempts{};
    std::optional<record> told{};  // that it was missed or given up
};

// What a fault may delay, and what is waited for anyway.
struct patience_of_campaign {
    instant ttl = 0, call_limit = 0, pause = 0;
    spans excuses{};
    std::vector<record> faults{};

    // Of that time, without what is excused.
    [[nodiscard]] bool outlasts(instant from, instant until) const
    {
        const auto involved =
            std::ranges::count_if(faults, [&](const record& f) { return f.at <= until && f.until >= from; });
        const instant late = until - from - excuses.length_within(from, until);
        return std::max<instant>(1, involved) * (ttl + call_limit + pause) + patience >= late;
    }
};

class fire_judge {
public:
    fire_judge(const std::vector<record>& records, figures& found) : found_{found}
    {
        for (const record& r : records) take(r);
    }

    void judge()
    {
        if (between_ == 0) return;
        index_beginnings();
        for (const auto& [fire, what] : fires_) judge_fire(fire, what);
        judge_order();
        judge_end();
        std::ranges::sort(found_.fires.lateness);
    }

private:
    void take(const record& r)
    {
        switch (r.what) {
        case event::began: began_ = r.at; break;
        case event::ended: ended_ = r.at; break;
        case event::rules: patience_.ttl = r.at; break;
        case event::limits:
            patience_.call_limit = r.at;
            patience_.pause = r.until;
            break;
        case event::excuse: patience_.excuses.add(r.at, r.until); break;
        case event::fault:
            if (r.detail != "wall_clock_off") patience_.faults.push_back(r);
            break;
        case event::circumstance:
            if (r.detail == between_fires_detail) between_ = r.token;
            if (r.detail == attempts_at_a_fire_detail) most_attempts_ = r.token;
            if (r.detail == wall_clock_ahead_detail) wall_clock_ahead_ = r.token;
            if (r.detail == clock_error_detail) clock_error_ = r.token;
            break;
        default: take_of_fire(r);
        }
    }

    void take_of_fire(const record& r)
    {
        if (r.what == event::fire_begun)
            fires_[r.until].attempts.push_back({r.process, r.token, r.at, std::atoll(r.detail.c_str())});
        if (r.what == event::fire_told) {
            ++found_.fires.told[r.detail];
            fires_[r.until].told = r;
        }
        if (r.what != event::fire_completing && r.what != event::fire_completed) return;
        auto& all = fires_[r.until].attempts;
        const auto of = std::ranges::find_if(all, [&](const attempt& a) { return a.process == r.process && a.token == r.token; });
        if (of == all.end()) return object(r.process + " completes what it has not begun: " + to_line(r));
        if (r.what == event::fire_completing) {
            ++of->sent;
            if (!of->completing) of->completing = r.at;
            return;
        }
        ++found_.fires.told["completed: " + r.detail];
        if (r.detail == "yes" && !of->completed) of->completed = r.at;
        if (r.detail == "no") ++of->refused;
    }

    // For each beginning the greatest token that had begun by then.
    void index_beginnings()
    {
        for (const auto& [fire, what] : fires_)
            for (const attempt& a : what.attempts) greatest_begun_.emplace(a.begun, a.token);
        std::int64_t greatest = 0;
        for (auto& [begun, token] : greatest_begun_) token = greatest = std::max(greatest, token);
    }

    void judge_fire(instant fire, const fire_history& what)
    {
        fire_figures& sum = found_.fires;
        if (!what.attempts.empty()) ++sum.begun;
        if (what.attempts.size() > 1) ++sum.begun_again;
        const attempt* completed = nullptr;
        for (const attempt& a : what.attempts) {
            if (a.begun < due(fire)) object("a fire was begun before it was due: " + text(fire, a));
            if (!a.completed) continue;
            if (completed) object("a fire was completed twice: " + text(fire, *completed) + " and " + text(fire, a));
            if (!completed || *a.completed < *completed->completed) completed = &a;
            judge_token(fire, a);
        }
        if (what.told) judge_told(fire, what, completed);
        if (!completed) {
            if (std::ranges::any_of(what.attempts, &attempt::perhaps_completed)) ++sum.perhaps_completed;
            return;
        }
        ++sum.completed;
        sum.lateness.push_back(*completed->completed - due(fire));
        for (const attempt& a : what.attempts)
            if (a.begun > *completed->completed)
                object("a fire was begun after it had been completed: " + text(fire, *completed) + " and " + text(fire, a));
    }

    // Who has begun with a greater token knows that it is the holder from then on.
    void judge_token(instant fire, const attempt& a)
    {
        const auto later = greatest_begun_.lower_bound(*a.completing);
        if (later == greatest_begun_.begin()) return;
        const std::int64_t greatest = std::prev(later)->second;
        if (greatest > a.token)
            object("a fire was completed after a later token, " + std::to_string(greatest) + ", had begun: " + text(fire, a));
    }

    // No fire is missed where all are caught up, and one that is given up stays so.
    void judge_told(instant fire, const fire_history& what, const attempt* completed)
    {
        const std::string told = what.told->process + " told that it was " + what.told->detail + " at " + at(what.told->at);
        if (what.told->detail == "missed") object("a fire was missed, though all are caught up: " + name(fire) + ", " + told);
        if (completed) object("a fire was completed and told of: " + text(fire, *completed) + ", " + told);
        for (const attempt& a : what.attempts)
            if (a.begun > what.told->at) object("a fire was begun after it was told of: " + text(fire, a) + ", " + told);
    }

    // A fire is begun when all before it are done with, and none is left out.
    void judge_order()
    {
        const auto first = first_begun();
        if (!first) return;
        instant next_begun = std::numeric_limits<instant>::max();  // of all later fires
        instant next_fire = 0;
        for (auto each = fires_.rbegin(); each != fires_.rend() && each->first >= *first; ++each) {
            for (instant left_out = each->first + between_; next_fire != 0 && left_out < next_fire; left_out += between_)
                object("a fire was left out: " + name(left_out));
            if (next_fire != 0) judge_done(each->first, each->second, next_begun);
            next_fire = each->first;
            for (const attempt& a : each->second.attempts) next_begun = std::min(next_begun, a.begun);
        }
    }

    void judge_done(instant fire, const fire_history& what, instant next_begun)
    {
        const auto done = [&](const attempt& a) { return a.completing && *a.completing <= next_begun && a.perhaps_completed(); };
        if (what.told || next_begun == std::numeric_limits<instant>::max() || std::ranges::any_of(what.attempts, done)) return;
        // Whoever gave it up may have been killed before it told; and so may whoever had begun it before.
        const auto nearly_last = [&](const attempt& a) { return a.number >= most_attempts_ - 1; };
        if (most_attempts_ > 0 && std::ranges::any_of(what.attempts, nearly_last)) {
            ++found_.fires.given_up_untold;
            return;
        }
        object("a later fire was begun at " + at(next_begun) + " while this one was open: " + name(fire) +
               (what.attempts.empty() ? "" : ", " + text(fire, what.attempts.front())));
    }

    void judge_end()
    {
        if (found_.fires.completed == 0) return object("nobody ever completed a fire");
        const auto done = [](const auto& each) {
            return std::ranges::any_of(each.second.attempts, [](const attempt& a) { return a.completed.has_value(); });
        };
        const auto last = std::find_if(fires_.rbegin(), fires_.rend(), done);
        const instant open = due(last->first + between_);
        if (!patience_.outlasts(open, ended_))
            object("at the end the fires were " + at_second(ended_ - open, 0) + " late: the last one completed was " + name(last->first));
    }

    [[nodiscard]] std::optional<instant> first_begun() const
    {
        std::optional<instant> first;
        instant earliest = std::numeric_limits<instant>::max();
        for (const auto& [fire, what] : fires_)
            for (const attempt& a : what.attempts)
                if (a.begun < earliest) {
                    earliest = a.begun;
                    first = fire;
                }
        return first;
    }

    // By the clock of the records, at the earliest.
    [[nodiscard]] instant due(instant fire) const { return fire - wall_clock_ahead_ - clock_error_; }
    [[nodiscard]] std::string at(instant when) const { return at_second(when, began_); }
    [[nodiscard]] std::string name(instant fire) const { return "the fire of " + at(due(fire)); }
    [[nodiscard]] std::string text(instant fire, const attempt& a) const
    {
        return name(fire) + " by " + a.process + " (token " + std::to_string(a.token) + ", begun at " + at(a.begun) +
               (a.completing ? ", completed from " + at(*a.completing) : "") + (a.completed ? " to " + at(*a.completed) : "") + ")";
    }
    void object(const std::string& why) { found_.objections.push_back(why); }

    figures& found_;
    patience_of_campaign patience_;
    instant began_ = 0, ended_ = 0, between_ = 0, wall_clock_ahead_ = 0, clock_error_ = 0;
    std::int64_t most_attempts_ = 0;
    std::map<instant, fire_history> fires_;  // by the database's clock
    std::multimap<instant, std::int64_t> greatest_begun_;
};

}  // namespace

void judge_fires(const std::vector<record>& records, figures& found) { fire_judge{records, found}.judge(); }

}  // namespace campaign
