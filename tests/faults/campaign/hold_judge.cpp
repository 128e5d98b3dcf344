// SPDX-License-Identifier: BSL-1.0
#include "hold_judge.hpp"

#include "history.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace campaign {

namespace {

// Of a hold that finds a holder in the way, and of a holder until it asks what it is asked: see hold_machine and renewals.
constexpr instant pause_between_looks = 500 * millisecond;

// What the calls tell that make holds, and end them.
struct calls_for_holds {
    std::map<std::pair<std::string, instant>, instant> period{};  // of an attempt, by its process and its beginning
    std::map<std::int64_t, instant> first_release{};              // when it was sent, by the token
    std::map<std::int64_t, instant> released{};                   // when it was confirmed
    std::map<std::string, instant> killed{};
    instant clock_error = 0;
};

calls_for_holds calls_in(const std::vector<record>& records)
{
    calls_for_holds calls;
    for (const record& r : records) {
        if (r.what == event::circumstance && r.detail == clock_error_detail) calls.clock_error = r.token;
        if (r.what == event::killed) calls.killed[r.process] = r.until;
        if (!r.is_of_a_hold()) continue;
        if (r.what == event::calling && r.detail == "acquire") calls.period[{r.process, r.at}] = r.until;
        if (r.what == event::calling && r.detail == "release") calls.first_release.emplace(r.token, r.at);
        if (r.what == event::call && r.detail == "release:yes") calls.released.emplace(r.token, r.until);
    }
    return calls;
}

// The hold that an attempt was granted; `from` isn't known from that.
closed_time granted_hold(const record& granted, instant period, const calls_for_holds& calls)
{
    closed_time hold{.process = granted.process,
                     .token = granted.token,
                     .sent = granted.at,
                     .from = granted.until,
                     .until = granted.at + period - calls.clock_error,
                     .open = granted.until + period + calls.clock_error};
    if (const auto sent = calls.first_release.find(hold.token); sent != calls.first_release.end())
        hold.until = std::min(hold.until, sent->second);
    if (const auto over = calls.released.find(hold.token); over != calls.released.end()) hold.open = std::min(hold.open, over->second);
    return hold;
}

class hold_judge {
public:
    hold_judge(const recorded_holds& holds, const std::vector<record>& records, const std::vector<term>& terms, figures& found)
        : holds_{holds}, records_{records}, terms_{terms}, found_{found}
    {
        for (const record& r : records_) {
            if (r.what == event::began) began_ = r.at;
            if (r.what == event::rules) ttl_ = r.at;
            if (r.what != event::fault || r.detail == "wall_clock_off") continue;
            faults_.add(r.at, r.until);
            faults_of_[r.process].add(r.at, r.until);
        }
    }

    void judge()
    {
        found_.holds.certain = static_cast<int>(holds_.closed.size());
        for (const closed_time& hold : holds_.closed) {
            judge_terms(hold);
            judge_grants(hold);
            time_opening(hold);
        }
        for (const record& r : records_) take(r);
        judge_median();
        if (has_operators_ && holds_.closed.empty()) object("nobody ever held the name closed");
    }

private:
    void object(const std::string& why) { found_.objections.push_back(why); }
    [[nodiscard]] std::string text(const closed_time& hold) const
    {
        return "closed by " + hold.process + " (token " + std::to_string(hold.token) + ", " + at_second(hold.from, began_) + " to " +
               at_second(hold.until, began_) + ")";
    }

    // "*": by what hits all.
    [[nodiscard]] bool hit(const std::string& process, instant from, instant until) const
    {
        const auto found = faults_of_.find(process);
        return found != faults_of_.end() && found->second.meet(from, until);
    }

    // Nobody believes that it holds, and tokens tell what was before a hold from what came after it.
    void judge_terms(const closed_time& hold)
    {
        for (const term& t : terms_) {
            if (hold.from < hold.until && t.first < hold.until && t.end() > hold.from) {
                ++found_.overlaps;
                object("somebody holds what is held closed: " + text_of(t, began_) + ", " + text(hold));
            }
            const bool after = t.first >= std::max(hold.from, hold.until);
            if (after ? t.token <= hold.token : t.first < hold.sent && t.token >= hold.token) {
                ++found_.tokens_out_of_order;
                object("a later term has no greater token: " + text_of(t, began_) + ", " + text(hold));
            }
        }
    }

    // Also to one that was killed before it could believe.
    void judge_grants(const closed_time& hold)
    {
        for (auto r = std::ranges::lower_bound(records_, hold.from, {}, &record::at); r != records_.end() && r->at < hold.until; ++r) {
            if (r->what != event::call || r->detail != "acquire:granted" || r->until >= hold.until) continue;
            ++found_.holds.grants_inside;
            object(r->process + " was granted token " + std::to_string(r->token) + " at " + at_second(r->until, began_) + " of what is " +
                   text(hold));
        }
    }

    // Where nothing comes between that hits all: until somebody is let in.
    void time_opening(const closed_time& hold)
    {
        const auto next = std::ranges::upper_bound(terms_, hold.until, {}, &term::first);
        if (next == terms_.end() || hit("*", hold.until, next->first) || holds_.possible.meet(hold.open + 1, next->first)) return;
        found_.holds.openings.push_back(std::max<instant>(0, next->first - hold.open));
    }

    void take(const record& r)
    {
        if (r.what == event::started && r.detail.starts_with("close:")) has_operators_ = true;
        if (r.what == event::opened) ++found_.holds.told["unhold: " + r.detail];
        if (r.what == event::asked) {
            ++found_.holds.asked;
            if (r.detail != "by_hold") object(r.process + " was asked to hand over by nobody's hold, at " + at_second(r.at, began_));
        }
        if (r.what != event::closed) return;
        ++found_.holds.told["hold: " + r.detail];
        if (r.detail == "cancelled" || hit("*", r.at, r.until) || hit(r.process, r.at, r.until)) return;
        if (r.detail == "closed") found_.holds.waits.push_back(r.until - r.at);
        if (r.detail == "timed_out" && !faults_.meet(r.at, r.until))
            object(r.process + " could not hold the name closed from " + at_second(r.at, began_) + " to " + at_second(r.until, began_));
        judge_hand_over(r);
    }

    // A holder in the way of a hold is asked after a look, learns of it after a renewal, and hands over.
    void judge_hand_over(const record& waited)
    {
        const instant longest = pause_between_looks + ttl_ / 3 + patience;
        for (const term& t : terms_) {
            const instant in_the_way = std::min(t.last, waited.until) - std::max(t.first, waited.at);
            if (in_the_way > longest && !hit(t.process, waited.at, waited.until))
                object("did not hand over to a hold of " + waited.process + " for " + at_second(in_the_way, 0) + ": " + text_of(t, began_));
        }
    }

    void judge_median()
    {
        std::ranges::sort(found_.holds.openings);
        std::ranges::sort(found_.holds.waits);
        const instant median = of_100(found_.holds.openings, 50);
        if (found_.holds.openings.size() >= enough_hand_overs && median > longest_hand_over)
            object("after holds, half of the waiters were let in later than " + at_second(median, 0));
    }

    const recorded_holds& holds_;
    const std::vector<record>& records_;
    const std::vector<term>& terms_;
    figures& found_;
    spans faults_;
    std::map<std::string, spans> faults_of_;  // by whom they hit
    instant began_ = 0, ttl_ = 0;
    bool has_operators_ = false;
};

}  // namespace

recorded_holds holds_in(const std::vector<record>& records)
{
    const calls_for_holds calls = calls_in(records);
    recorded_holds found;
    std::map<std::string, std::vector<closed_time>> granted;
    auto unanswered = calls.period;
    for (const record& r : records) {
        if (r.what != event::call || !r.is_of_a_hold() || !r.detail.starts_with("acquire:")) continue;
        const auto begun = unanswered.find({r.process, r.at});
        if (begun == unanswered.end()) continue;
        const instant period = begun->second;
        unanswered.erase(begun);
        if (r.detail == "acquire:granted") {
            granted[r.process].push_back(granted_hold(r, period, calls));
            found.possible.add(r.at, granted[r.process].back().open);
        } else if (r.detail.starts_with("acquire:error:")) {
            found.possible.add(r.at, r.until + period + calls.clock_error);
        }
    }
    for (const auto& [attempt, period] : unanswered) {
        const auto killed = calls.killed.find(attempt.first);
        found.possible.add(attempt.second, (killed == calls.killed.end() ? attempt.second : killed->second) + period + calls.clock_error);
    }
    for (const record& r : records) {
        if (r.what != event::closed || r.detail != "closed") continue;
        for (closed_time& hold : granted[r.process])
            if (hold.sent >= r.at && hold.from <= r.until) {
                hold.from = r.until;
                found.closed.push_back(hold);
            }
    }
    return found;
}

void judge_holds(const recorded_holds& holds, const std::vector<record>& records, const std::vector<term>& terms, figures& found)
{
    hold_judge{holds, records, terms, found}.judge();
}

}  // namespace campaign
