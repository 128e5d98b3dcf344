// SPDX-License-Identifier: BSL-1.0
#include "history.hpp"

#include "parts.hpp"
#include "spans.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace campaign {

namespace {

using history::answer;
using history::operation;

// What is known before the calls are looked at.
struct surroundings {
    instant ttl = 0;
    bool is_cluster = false;
    spans faults{};
    // Of calls that have begun, with their operation: the ttl.
    std::map<std::tuple<std::string, instant, std::string, std::int64_t>, record> begun{};
    std::map<std::int64_t, std::string> owner_of{};  // of a term of the contenders' lease that was granted, by its token
};

std::string owner_in(const record& r) { return r.is_of_a_hold() ? r.owner : r.process; }

// Of the contenders.
bool is_judged(const record& r) { return r.lease <= 0 && has_owners_of_its_own(r.lease); }

surroundings surroundings_in(const std::vector<record>& records, recorded_history& found)
{
    surroundings around;
    for (const record& r : records) {
        if (r.what == event::rules && r.lease == 0) {
            around.ttl = r.at;
            around.is_cluster = r.detail == "galera" || r.detail == "group_replication";
        }
        if (r.what == event::fault && r.detail != "wall_clock_off") around.faults.add(r.at, r.until);
        if (r.what == event::circumstance && r.detail == clock_error_detail) found.clock_error = r.token;
        if (r.what == event::call && r.lease == 0 && r.detail == "acquire:granted") around.owner_of.emplace(r.token, owner_in(r));
        if (r.what == event::calling && is_judged(r)) around.begun.insert({{r.process, r.at, r.detail, r.lease}, r});
    }
    return around;
}

// Empty name: it is no call of a history.
history::call call_of(const record& r, std::string_view what, std::string_view said)
{
    history::call c{.name = r.lease == 0 ? "the contenders' lease" : "part " + std::to_string(-r.lease) + " of the contenders' right",
                    .owner = owner_in(r),
                    .token = r.token,
                    .begin = r.at,
                    .end = r.until,
                    .by = r.process};
    if (what == "acquire")
        c.what = operation::acquire;
    else if (what == "renew")
        c.what = operation::renew;
    else if (what == "release")
        c.what = operation::release;
    else if (what == "inspect")
        c.what = operation::inspect;
    else
        c.name.clear();
    if (said == "granted" || said == "yes" || said == "held")
        c.said = answer::yes;
    else if (said == "busy" || said == "no" || said == "free")
        c.said = answer::no;
    else
        c.said = answer::unknown;
    return c;
}

// Nobody knows when what had no answer is carried out, even after its process has ended.
history::call without_answer(history::call c)
{
    c.said = answer::unknown;
    c.end = history::never;
    if (c.what == operation::acquire) c.token = 0;
    return c;
}

// What it reads changes nothing, so an answer that is lost, or may be old, says nothing. A contender's term is shown under an owner that
// the records don't have.
void take_inspect(recorded_history& into, history::call c, bool of_a_hold, const surroundings& around)
{
    const auto owner = around.owner_of.find(c.token);
    const bool judged = !around.is_cluster && (c.said == answer::no || of_a_hold || owner != around.owner_of.end());
    if (c.said == answer::unknown) return;
    ++into.answered;
    if (!judged) {
        ++into.not_judged;
        return;
    }
    if (c.said == answer::yes && !of_a_hold) c.owner = owner->second;
    into.calls.push_back(std::move(c));
}

void take(recorded_history& into, history::call c, const surroundings& around)
{
    if (c.said == answer::unknown) {
        ++into.without_answer;
        into.calls.push_back(without_answer(std::move(c)));
        return;
    }
    ++into.answered;
    if (around.faults.meet(c.begin, c.end)) {
        ++into.repeated;
        into.calls.push_back(without_answer(c));
    }
    if (c.said == answer::no && (around.is_cluster || (c.what == operation::acquire && c.token == 0)))
        ++into.not_judged;
    else
        into.calls.push_back(std::move(c));
}

}  // namespace

recorded_history history_in(const std::vector<record>& records)
{
    recorded_history found;
    surroundings around = surroundings_in(records, found);
    for (const record& r : records) {
        if (r.what == event::call && r.lease > 0 && r.detail == "acquire:granted") {
            found.grants_to_the_crowd.push_back(call_of(r, "acquire", "granted"));
            found.grants_to_the_crowd.back().name = "lease " + std::to_string(r.lease) + " of the crowd";
        }
        if (r.what != event::call || !is_judged(r)) continue;
        const std::string_view detail = r.detail;
        const std::string_view what = detail.substr(0, detail.find(':'));
        const auto begun = around.begun.find({r.process, r.at, std::string{what}, r.lease});
        history::call c = call_of(r, what, detail.substr(std::min(detail.size(), what.size() + 1)));
        c.ttl = begun == around.begun.end() ? around.ttl : begun->second.until;
        if (begun != around.begun.end()) around.begun.erase(begun);
        // The waiter has got a place in the queue, or a batch has what it wanted: the store has not looked at the row.
        if (c.name.empty() || detail == "acquire:queued" || detail == "acquire:untried") continue;
        if (c.what == operation::inspect)
            take_inspect(found, std::move(c), r.is_of_a_hold(), around);
        else
            take(found, std::move(c), around);
    }
    // The others never ended: their process was killed.
    for (const auto& [key, r] : around.begun) {
        history::call c = call_of(r, r.detail, "");
        c.ttl = r.until;
        if (!c.name.empty()) take(found, std::move(c), around);
    }
    return found;
}

}  // namespace campaign
