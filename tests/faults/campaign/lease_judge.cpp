// SPDX-License-Identifier: BSL-1.0
#include "lease_judge.hpp"

#include "hold_judge.hpp"
#include "spans.hpp"
#include "term.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace campaign {

namespace {

constexpr instant promised_overrun = 100 * millisecond;

class judge_of {
public:
    explicit judge_of(const std::vector<record>& records) : records_{records}, holds_{holds_in(records)}
    {
        for (const record& r : records) take(r);
        for (const auto& [from, until] : holds_.possible.merged()) excuses_.add(from, until);
    }

    figures judge()
    {
        sort_terms();
        judge_overlaps();
        if (tokens_tell_terms_) judge_tokens();
        judge_calls();
        count_errors();
        judge_refusals();
        judge_signals();
        judge_gaps();
        if (tokens_tell_terms_) judge_hand_overs();
        judge_holds(holds_, records_, terms_, found_);
        if (found_.terms == 0) object("nobody ever held the lease");
        if (ttl_ <= 0 || call_limit_ <= 0) object("the rules are not in the records");
        if (ended_ == 0) object("the campaign did not come to its end");
        return std::move(found_);
    }

private:
    void take(const record& r);
    void take_fault(const record& r);
    void sort_terms();
    void judge_overlaps();
    void judge_tokens();
    void judge_calls();
    void judge_answer(const record& r, bool frozen);
    void count_errors();
    void judge_refusals();
    [[nodiscard]] bool overtaken_by_itself(const term& t, instant until) const;
    void judge_signals();
    void judge_gaps();
    void judge_calm(const spans& held);
    void judge_hand_overs();
    void judge_gap(instant from, instant until);
    [[nodiscard]] std::int64_t places_of(const record& won) const { return won.detail == "-" ? places_ : std::atoll(won.detail.c_str()); }
    [[nodiscard]] static bool within(const std::map<std::string, spans>& which, const record& r);
    void object(const std::string& why) { found_.objections.push_back(why); }
    [[nodiscard]] std::string text(const term& t) const { return text_of(t, began_); }

    const std::vector<record>& records_;
    const recorded_holds holds_;
    figures found_;
    std::int64_t places_ = 1;
    bool tokens_tell_terms_ = true;
    instant ttl_ = 0, call_limit_ = 0, pause_ = 0, began_ = 0, ended_ = 0;
    std::vector<term> terms_;
    std::map<std::pair<std::string, std::int64_t>, std::size_t> open_;
    std::map<std::int64_t, std::string> given_back_;
    std::vector<record> faults_;
    std::map<std::string, spans> outages_;
    std::map<std::string, spans> refusals_;
    std::map<std::string, spans> refusals_by_trigger_;
    std::map<std::string, spans> frozen_;
    std::map<std::string, instant> stopped_;
    spans excuses_;
};

void judge_of::take(const record& r)
{
    const auto key = std::pair{r.process, r.token};
    const auto open = open_.find(key);
    term* current = open == open_.end() ? nullptr : &terms_[open->second];
    switch (r.what) {
    case event::won:
        if (const auto back = given_back_.find(r.token); back != given_back_.end())
            object(r.process + " holds with token " + std::to_string(r.token) + ", which " + back->second +
                   " had given back");
        if (current) {  // granted again, with the same token
            current->ended.reset();
            current->promised = std::max(current->promised, r.until);
            break;
        }
        open_[key] = terms_.size();
        terms_.push_back({r.process, r.token, r.at, r.at, r.until, places_of(r)});
        break;
    case event::held:
        if (!current) break;  // seen once only, before the first instant that counts
        current->last = std::max(current->last, r.at);
        current->promised = std::max(current->promised, r.until);
        break;
    case event::over:
    case event::releasing:
        if (current && !current->ended) current->ended = r.at;
        break;
    case event::call:
        if (r.detail == "release:yes" && r.lease >= 0) given_back_.emplace(r.token, r.process);
        break;
    case event::stopped: stopped_[r.process] = r.at; break;
    case event::crashed:
        ++found_.crashes;
        object(r.process + " ended as it should not: " + r.detail);
        break;
    default: take_fault(r);
    }
}

void judge_of::take_fault(const record& r)
{
    switch (r.what) {
    case event::rules:
        ttl_ = r.at;
        tokens_tell_terms_ = r.token == 0;
        places_ = std::max<std::int64_t>(1, r.token);
        found_.database = r.detail;
        break;
    case event::limits:
        call_limit_ = r.at;
        pause_ = r.until;
        break;
    case event::began: began_ = r.at; break;
    case event::ended: ended_ = r.at; break;
    case event::fault: {
        kind_figures& kind = found_.faults[r.detail];
        ++kind.count;
        kind.time += r.until - r.at;
        faults_.push_back(r);
        break;
    }
    case event::excuse: excuses_.add(r.at, r.until); break;
    case event::refusal:
        refusals_[r.process].add(r.at, r.until);
        if (r.detail == "by_trigger") refusals_by_trigger_[r.process].add(r.at, r.until);
        break;
    case event::circumstance: found_.circumstances[r.detail] = r.token; break;
    case event::effect: {
        auto& [count, greatest] = found_.effects[r.detail];
        ++count;
        greatest = std::max(greatest, r.token);
        break;
    }
    case event::outage: outages_[r.process].add(r.at, r.until); break;
    case event::frozen: frozen_[r.process].add(r.at, r.until); break;
    default: break;
    }
}

void judge_of::sort_terms()
{
    std::ranges::stable_sort(terms_, {}, &term::first);
    found_.terms = static_cast<int>(terms_.size());
    found_.length = ended_ - began_;
}

void judge_of::judge_overlaps()
{
    std::vector<const term*> holding;
    for (const term& t : terms_) {
        std::erase_if(holding, [&](const term* each) { return each->end() <= t.first; });
        std::int64_t taken = t.places;
        for (const term* each : holding) taken += each->places;
        holding.push_back(&t);
        if (taken <= places_) continue;
        ++found_.overlaps;
        std::string who;
        for (const term* each : holding) who += (who.empty() ? "" : " and ") + text(*each);
        object((places_ == 1 ? "two" : "more than " + std::to_string(places_)) + " hold at once: " + who);
    }
}

void judge_of::judge_tokens()
{
    const term* greatest = nullptr;
    for (const term& t : terms_) {
        if (greatest && t.token <= greatest->token) {
            ++found_.tokens_out_of_order;
            object("a later term has no greater token: " + text(*greatest) + " and " + text(t));
        }
        if (!greatest || t.token > greatest->token) greatest = &t;
    }
}

bool judge_of::within(const std::map<std::string, spans>& which, const record& r)
{
    const auto of = [&](const std::string& who) {
        const auto found = which.find(who);
        return found != which.end() && found->second.contain(r.at, r.until);
    };
    return of("*") || of(r.process.substr(0, r.process.find('.')) + ".*");
}

void judge_of::judge_calls()
{
    for (const record& r : records_) {
        const auto stop = stopped_.find(r.process);
        const bool cancelled = stop != stopped_.end() && r.until > stop->second - second;
        const bool says_busy = r.detail == "acquire:busy" || r.detail == "acquire:granted" || r.detail == "inspect:held" ||
                               r.detail == "inspect:free" || r.detail == "list:seen" || r.detail == "look:seen" ||
                               r.detail == "checkpoint:seen" || (r.what == event::empty && !cancelled);
        if ((r.what == event::call || r.what == event::empty) && within(outages_, r)) {
            if (says_busy) {
                ++found_.busy_in_outage;
                object(r.process + " was told " + (r.what == event::empty ? "nothing, without an error," : r.detail) +
                       " while there was no database, from " + at_second(r.at, began_) + " to " +
                       at_second(r.until, began_));
            } else if (r.detail != "acquire:queued" && r.detail != "acquire:untried") {
                ++found_.calls_in_outage;
            }
        }
        if (r.what != event::call) continue;
        call_figures& kind = found_.calls[r.detail.substr(0, r.detail.find(':'))];
        ++kind.count;
        ++kind.answers[r.detail.substr(r.detail.find(':') + 1)];
        const auto frozen = frozen_.find(r.process);
        const bool was_frozen = frozen != frozen_.end() && frozen->second.meet(r.at, r.until);
        judge_answer(r, was_frozen);
        if (was_frozen) continue;
        kind.longest = std::max(kind.longest, r.until - r.at);
        if (r.until - r.at > call_limit_ + promised_overrun) ++kind.beyond_limit;
        if (r.until - r.at > call_limit_ + patience)
            object("a call took too long: " + to_line(r) + ", at " + at_second(r.at, began_));
    }
}

// What can't have been written can't have been granted, extended or ended; and no words of a message make the database absent.
void judge_of::judge_answer(const record& r, bool frozen)
{
    const std::string when = " from " + at_second(r.at, began_) + " to " + at_second(r.until, began_);
    const bool wrote = r.detail == "acquire:granted" || r.detail == "renew:yes" || r.detail == "release:yes" || r.detail == "ask:yes" ||
                       r.detail == "save:yes";
    if (wrote && within(refusals_, r)) {
        ++found_.written_in_refusal;
        object(r.process + " was told " + r.detail + " while nothing could be written," + when);
    }
    const bool absent = r.detail.ends_with(":error:unavailable") || r.detail.ends_with(":error:schema_missing");
    if (absent && !frozen && within(refusals_by_trigger_, r))
        object(r.process + " was told " + r.detail + " of a database that was there," + when);
    if (r.detail.ends_with(":53200")) object(r.process + " met a server without memory for locks," + when);
}

void judge_of::count_errors()
{
    for (const record& f : faults_)
        for (auto r = std::ranges::lower_bound(records_, f.at, {}, &record::at); r != records_.end() && r->at < f.until; ++r)
            if (r->what == event::call && r->until <= f.until && r->detail.find(":error:") != std::string::npos)
                ++found_.faults[f.detail].errors;
}

// An attempt that its caller has given up may still be granted, and then takes over an unexpired term of its own owner. So that is the
// only excuse where nobody else has a later term.
bool judge_of::overtaken_by_itself(const term& t, instant until) const
{
    const bool gave_up = std::ranges::any_of(records_, [&](const record& r) {
        return r.what == event::call && r.process == t.process && r.detail == "acquire:error:timeout" && r.until <= until &&
               r.until + patience > until;
    });
    return gave_up && std::ranges::none_of(terms_, [&](const term& other) {
               return other.process != t.process && other.token > t.token && other.first < until;
           });
}

// The store lets nobody else in before the deadline, so it can't say before it that the term is over.
void judge_of::judge_refusals()
{
    for (const record& r : records_) {
        if (r.what != event::call || r.lease < 0 || (r.detail != "renew:no" && r.detail != "release:no")) continue;
        const auto of =
            std::ranges::find_if(terms_, [&](const term& t) { return t.process == r.process && t.token == r.token; });
        if (of == terms_.end() || r.until >= of->promised) continue;
        if (r.detail == "renew:no" && of->ended && r.until >= *of->ended) continue;  // it was released meanwhile
        if (overtaken_by_itself(*of, r.until)) continue;
        ++found_.lost_too_early;
        object(r.process + " was told " + r.detail + " at " + at_second(r.until, began_) +
               ", before its deadline: " + text(*of));
    }
}

void judge_of::judge_signals()
{
    for (const record& r : records_) {
        if (r.what != event::signalled) continue;
        const auto open = open_.find({r.process, r.token});
        if (open == open_.end()) continue;
        const auto of =
            std::ranges::find_if(terms_, [&](const term& t) { return t.process == r.process && t.token == r.token; });
        const auto frozen = frozen_.find(r.process);
        if (of == terms_.end() || (frozen != frozen_.end() && frozen->second.meet(of->last, r.at))) continue;
        ++found_.signals;
        found_.latest_signal = std::max(found_.latest_signal, r.at - of->promised);
        if (r.at - of->promised > patience)
            object("a loss was signalled " + at_second(r.at - of->promised, 0) + " after the deadline: " + text(*of));
    }
}

void judge_of::judge_gaps()
{
    spans held;
    for (const term& t : terms_) held.add(t.first, std::max(t.first, t.last));
    found_.held = held.length();
    instant end = 0;
    for (const auto& [from, until] : held.merged()) {
        if (end != 0) judge_gap(end, from);
        end = until;
    }
    if (end != 0 && ended_ > end) judge_gap(end, ended_);
    judge_calm(held);
}

// A gap that many faults have made may be long; once they are over, it may not.
void judge_of::judge_calm(const spans& held)
{
    instant calm = began_;
    for (const record& f : faults_)
        if (f.detail != "wall_clock_off") calm = std::max(calm, f.until);
    for (const auto& [from, until] : excuses_.merged()) calm = std::max(calm, until);
    const instant enough = calm + ttl_ + call_limit_ + pause_ + patience;
    if (enough < ended_ && !held.meet(calm, enough)) object("nobody held after the last fault, from " + at_second(calm, began_));
}

// What wakes the waiters may be lost with a host, and the database may take hours to notice: the others must not wait for that.
void judge_of::judge_hand_overs()
{
    for (const record& r : records_) {
        if (r.what != event::released || r.detail != "released") continue;
        const auto next = std::ranges::upper_bound(terms_, r.until, {}, &term::first);
        if (next == terms_.end() || holds_.possible.meet(r.until, next->first)) continue;
        const auto meets = [&](const record& f) {
            return f.detail != "wall_clock_off" && f.at <= next->first && f.until >= r.until;
        };
        if (std::ranges::any_of(faults_, meets)) continue;
        found_.hand_overs.push_back(next->first - r.until);
        const auto was_before = [&](const record& f) {
            return f.detail == "host_cut_off" && f.until < r.until && r.until < f.until + 10 * second;
        };
        if (std::ranges::any_of(faults_, was_before)) found_.hand_overs_after_cut_off.push_back(next->first - r.until);
    }
    std::ranges::sort(found_.hand_overs);
    std::ranges::sort(found_.hand_overs_after_cut_off);
    const instant median = of_100(found_.hand_overs_after_cut_off, 50);
    if (found_.hand_overs_after_cut_off.size() >= enough_hand_overs && median > longest_hand_over)
        object("after a host was cut off, half of the hand-overs took longer than " + at_second(median, 0));
}

void judge_of::judge_gap(instant from, instant until)
{
    const instant gap = until - from;
    const instant recovery = gap - excuses_.length_within(from, until);
    instant involved = 0;
    found_.longest_gap = std::max(found_.longest_gap, gap);
    bool any = false;
    for (const record& f : faults_) {
        if (f.at > until || f.until < from || f.detail == "wall_clock_off") continue;
        any = true;
        ++involved;
        kind_figures& kind = found_.faults[f.detail];
        kind.longest_gap = std::max(kind.longest_gap, gap);
        kind.longest_recovery = std::max(kind.longest_recovery, recovery);
    }
    if (!any) {
        kind_figures& none = found_.faults["(no fault)"];
        none.longest_gap = std::max(none.longest_gap, gap);
        none.longest_recovery = std::max(none.longest_recovery, recovery);
    }
    // What the dead holder has left, a call that hangs, and a pause; once more for each fault in the same gap.
    const instant each = ttl_ + call_limit_ + pause_;
    if (recovery > std::max<instant>(1, involved) * each + patience)
        object("nobody held for " + at_second(gap, 0) + " (" + at_second(recovery, 0) + " of it without an excuse), from " +
               at_second(from, began_));
}

}  // namespace

figures judge_lease(const std::vector<record>& records) { return judge_of{records}.judge(); }

}  // namespace campaign
