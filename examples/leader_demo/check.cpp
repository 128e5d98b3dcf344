// SPDX-License-Identifier: BSL-1.0

// The checker. It sees nothing but the records, and shares no code with the library.
#include "check.hpp"
#include "records.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace demo {

namespace {

// Databases count in milliseconds at worst, and what one says of the ttl's end is that old when it arrives.
constexpr instant coarsest_clock = one_second / 200;

std::string seconds(instant time, int digits = 3)
{
    char text[40];
    std::snprintf(text, sizeof text, "%.*f s", digits, static_cast<double>(time) / static_cast<double>(one_second));
    return text;
}

/// One term, as its leader's records tell it.
///
/// From `begin`, read after the lease was granted and before anything was done, to `end`. The leader has acted only before
/// the last instant up to which it wrote that it might, and not after it wrote that it stopped, so the earlier of the two
/// ends the term; where there is only the first (it was killed) all of the time up to it counts. A task that was seen to
/// take longer counts too.
struct term {
    std::string leader;
    std::int64_t token = 0;
    instant begin = 0;
    instant promised = 0;
    instant task_end = 0;
    int tasks = 0;
    std::optional<record> ended{};

    [[nodiscard]] instant end() const
    {
        const instant stopped = ended ? std::min(ended->at, promised) : promised;
        return std::max(stopped, task_end);
    }
    [[nodiscard]] bool ended_by(event how) const { return ended && ended->what == how; }
};

class checker {
public:
    explicit checker(const std::vector<record>& records);
    [[nodiscard]] bool agrees();

private:
    void take(const record& r);
    void print_terms() const;
    void judge_tokens();
    void judge_overlaps();
    void judge_hand_overs();
    void judge_kills();
    void judge_stops();
    [[nodiscard]] const term* after(std::int64_t token) const;
    [[nodiscard]] const term* of(const record& r) const;
    void object(const std::string& why) { objections_.push_back(why); }

    std::vector<term> terms_;  // by begin
    std::map<std::string, std::size_t> open_;
    std::set<std::string> killed_;
    std::vector<record> kills_;
    std::vector<record> stops_;
    instant began_ = std::numeric_limits<instant>::max();
    instant ttl_ = 0;
    instant margin_ = 0;
    std::vector<std::string> objections_;
};

checker::checker(const std::vector<record>& records)
{
    for (const record& r : records) take(r);
    for (const auto& [leader, index] : open_)
        if (!terms_[index].ended && !killed_.contains(leader))
            object(leader + " has not written how its last term ended, and was not killed");
    // The records came in the order of their instants, so the terms are sorted.
    if (ttl_ <= 0) object("the ttl is not in the records");
    if (terms_.empty()) object("nobody has led");
}

void checker::take(const record& r)
{
    switch (r.what) {
    case event::rules:
        ttl_ = r.at;
        margin_ = r.until;
        return;
    case event::began: began_ = r.at; return;
    case event::killed:
        killed_.insert(r.process);
        kills_.push_back(r);
        return;
    case event::asked: stops_.push_back(r); return;
    default: break;
    }

    const auto found = open_.find(r.process);
    term* current = found == open_.end() ? nullptr : &terms_[found->second];
    const bool running = current && !current->ended && current->token == r.token;
    if ((r.what == event::led || r.what == event::extended) && r.until - r.at > ttl_ - margin_)
        object(r.process + " believed in more than the ttl without the safety margin: " + to_line(r));
    if (r.what == event::led) {
        if (current && !current->ended) object(r.process + " led again before it had ended its term");
        open_[r.process] = terms_.size();
        terms_.push_back({.leader = r.process, .token = r.token, .begin = r.at, .promised = r.until});
        began_ = std::min(began_, r.at);
    }
    else if (!running) {
        object(r.process + " acted outside a term: " + to_line(r));
    }
    else if (r.what == event::extended) {
        current->promised = std::max(current->promised, r.until);
    }
    else if (r.what == event::worked) {
        ++current->tasks;
        current->task_end = std::max(current->task_end, r.until);
    }
    else {
        current->ended = r;
    }
}

const term* checker::after(std::int64_t token) const
{
    const auto found = std::ranges::find(terms_, token, &term::token);
    return found == terms_.end() || found + 1 == terms_.end() ? nullptr : &found[1];
}

const term* checker::of(const record& r) const
{
    const auto found =
        std::ranges::find_if(terms_, [&r](const term& t) { return t.leader == r.process && t.token == r.token; });
    return found == terms_.end() ? nullptr : &*found;
}

void checker::print_terms() const
{
    std::printf("  term  token  leader         from        to  tasks  how it ended\n");
    int number = 0;
    for (const term& t : terms_) {
        const char* how = t.ended_by(event::stepped_down) ? "stepped down"
                          : t.ended_by(event::stopped)    ? "stopped, as asked"
                          : t.ended_by(event::lost)       ? "lost the lease"
                          : killed_.contains(t.leader)    ? "killed; it could have acted until then"
                                                          : "unknown; it could have acted until then";
        std::printf("  %4d  %5lld  %-10s %8s  %8s  %5d  %s\n", ++number, static_cast<long long>(t.token), t.leader.c_str(),
                    seconds(t.begin - began_, 2).c_str(), seconds(t.end() - began_, 2).c_str(), t.tasks, how);
    }
    std::printf("  terms: %zu\n", terms_.size());
}

void checker::judge_tokens()
{
    const auto not_greater = [](const term& a, const term& b) { return b.token <= a.token; };
    const bool growing =
        std::ranges::adjacent_find(terms_, not_greater) == terms_.end() && (terms_.empty() || terms_.front().token > 0);
    std::printf("  tokens strictly growing: %s\n", growing ? "yes" : "NO");
    if (!growing) object("a term has a token that is not larger than the one before it");
}

void checker::judge_overlaps()
{
    int overlaps = 0;
    const term* longest = nullptr;
    for (const term& t : terms_) {
        if (longest && t.begin < longest->end()) {
            ++overlaps;
            object("terms overlap: " + longest->leader + " (token " + std::to_string(longest->token) + ") could act until " +
                   seconds(longest->end() - began_) + ", " + t.leader + " (token " + std::to_string(t.token) +
                   ") led from " + seconds(t.begin - began_));
        }
        if (!longest || t.end() > longest->end()) longest = &t;
    }
    std::printf("  overlaps: %d\n", overlaps);
}

void checker::judge_hand_overs()
{
    std::string list;
    for (const term& t : terms_) {
        const term* next = t.ended_by(event::stepped_down) ? after(t.token) : nullptr;
        if (next) list.append(list.empty() ? "" : ", ").append(seconds(next->begin - t.end()));
    }
    if (!list.empty()) std::printf("  hand-over after stepping down: %s\n", list.c_str());
}

void checker::judge_kills()
{
    int shown = 0;
    for (const record& kill : kills_) {
        const term* of_killed = of(kill);
        const term* next = of_killed ? after(kill.token) : nullptr;
        if (!next || of_killed->ended || next->begin < kill.at) {
            object("after SIGKILL to " + kill.process + " (token " + std::to_string(kill.token) +
                   ") nobody took over from it");
            continue;
        }
        // Of a renewal in its last moment only the database knows.
        const instant ttl_ended = std::max(of_killed->promised + margin_, kill.until);
        const instant late = next->begin - ttl_ended;
        if (late < -coarsest_clock)
            object(next->leader + " took over " + seconds(-late) + " before the ttl of " + kill.process + " had ended");
        std::printf("  take-over after SIGKILL: %s after the ttl had ended, %s after the kill\n",
                    seconds(std::max<instant>(late, 0)).c_str(), seconds(next->begin - kill.at).c_str());
        std::printf("      (the ttl ends one ttl after the killed leader's last successful attempt: %s into the demo)\n",
                    seconds(ttl_ended - began_).c_str());
        ++shown;
    }
    if (shown == 0) object("no take-over after a SIGKILL was shown");
}

void checker::judge_stops()
{
    int shown = 0;
    for (const record& stop : stops_) {
        const term* of_stopped = of(stop);
        const term* next = of_stopped ? after(stop.token) : nullptr;
        if (!next || !of_stopped->ended_by(event::stopped)) {
            object("after SIGTERM to " + stop.process + " (token " + std::to_string(stop.token) +
                   ") nobody took over from it");
            continue;
        }
        const instant took = next->begin - of_stopped->end();
        std::printf("  hand-over after SIGTERM: %s after the leader had stopped, %s after it was asked to\n",
                    seconds(took).c_str(), seconds(next->begin - stop.at).c_str());
        if (next->begin >= of_stopped->promised)
            object("the hand-over after SIGTERM was no faster than waiting for the ttl");
        ++shown;
    }
    if (shown == 0) object("no hand-over after a SIGTERM was shown");
}

bool checker::agrees()
{
    print_terms();
    judge_hand_overs();
    judge_kills();
    judge_stops();
    judge_tokens();
    judge_overlaps();
    for (const std::string& objection : objections_) std::printf("  objection: %s\n", objection.c_str());
    std::printf("  the checker %s\n", objections_.empty() ? "agrees" : "OBJECTS");
    return objections_.empty();
}

}  // namespace

int check(const std::filesystem::path& folder)
{
    const bool agrees = checker{record_reader{folder}.read()}.agrees();
    return std::fflush(stdout) == 0 && agrees ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace demo
