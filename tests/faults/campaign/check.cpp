// SPDX-License-Identifier: BSL-1.0
#include "check.hpp"

#include "fire_judge.hpp"
#include "lease_judge.hpp"
#include "parts.hpp"

#include <history/checker.hpp>
#include <history/written.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace campaign {

namespace {

bool of_all(const record& r) { return r.what >= event::rules; }

// What is of one lease only; the rest is of all and was counted with the first. `whose`: in front of the names of calls.
void add(figures& sum, const figures& one, const std::string& whose)
{
    sum.terms += one.terms;
    sum.overlaps += one.overlaps;
    sum.tokens_out_of_order += one.tokens_out_of_order;
    sum.busy_in_outage += one.busy_in_outage;
    sum.calls_in_outage += one.calls_in_outage;
    sum.written_in_refusal += one.written_in_refusal;
    sum.lost_too_early += one.lost_too_early;
    for (const auto& [name, calls] : one.calls) {
        call_figures& all = sum.calls[whose + name];
        all.count += calls.count;
        all.beyond_limit += calls.beyond_limit;
        all.longest = std::max(all.longest, calls.longest);
        for (const auto& [answer, count] : calls.answers) all.answers[answer] += count;
    }
    sum.objections.insert(sum.objections.end(), one.objections.begin(), one.objections.end());
}

void add_of_the_crowd(figures& sum, const figures& one)
{
    ++sum.leases;
    sum.longest_gap_of_those = std::max(sum.longest_gap_of_those, one.longest_gap);
    add(sum, one, "crowd's ");
}

void add_shard(figures& sum, const figures& one)
{
    add(sum, one, "");
    sum.held += one.held;
    sum.longest_gap = std::max(sum.longest_gap, one.longest_gap);
    sum.signals += one.signals;
    sum.latest_signal = std::max(sum.latest_signal, one.latest_signal);
    for (const auto& [name, kind] : one.faults) {
        kind_figures& all = sum.faults[name];
        all.errors += kind.errors;
        all.longest_gap = std::max(all.longest_gap, kind.longest_gap);
        all.longest_recovery = std::max(all.longest_recovery, kind.longest_recovery);
    }
}

// Each as the one lease that it is. What is of none, like the leases of the members, is judged beside the first.
figures judge_shards(const std::vector<record>& records, std::int64_t count)
{
    const auto number_of = [&](const record& r) { return part_with_first_shard - r.lease; };
    figures all;
    for (std::int64_t shard = 0; shard < count; ++shard) {
        std::vector<record> own;
        for (const record& r : records) {
            const bool of_a_shard = number_of(r) >= 0 && number_of(r) < count;
            const bool of_this = number_of(r) == shard;
            if (!of_this && (of_a_shard || (shard > 0 && (!of_all(r) || r.what == event::crashed)))) continue;
            own.push_back(r);
            if (of_this) own.back().lease = 0;
        }
        figures one = judge_lease(own);
        for (std::string& each : one.objections) each.insert(0, "shard " + std::to_string(shard) + ": ");
        if (shard == 0)
            all = std::move(one);
        else
            add_shard(all, one);
    }
    all.held /= count;
    return all;
}

// Whether all calls of the contenders' lease are what a store that is right could have answered.
void judge_history(const std::vector<record>& records, figures& found)
{
    found.history = history_in(records);
    const instant begin = now();
    const history::verdict decided = history::check(found.history.calls, found.history.clock_error);
    const history::verdict of_crowd = history::check(found.history.grants_to_the_crowd, no_clock);
    found.seconds_to_decide = static_cast<double>(now() - begin) / static_cast<double>(second);
    if (!decided.linearizable()) found.objections.push_back(decided.explanation);
    if (!of_crowd.linearizable()) found.objections.push_back(of_crowd.explanation);
}

void write_history(const std::filesystem::path& path, const recorded_history& found)
{
    std::ofstream file{path};
    const history::written_history what{found.calls, found.clock_error};
    if (path.extension() == ".edn")
        history::write_edn(file, what);
    else
        history::write_json_lines(file, what);
    if (!file.flush()) throw std::runtime_error{"can't write " + path.string()};
}

}  // namespace

figures judge(const std::vector<record>& records)
{
    std::map<std::int64_t, std::vector<record>> leases{{0, {}}};
    std::vector<record> shared;
    for (const record& r : records)
        if (of_all(r))
            shared.push_back(r);
        else
            leases[std::max<std::int64_t>(r.lease, 0)].push_back(r);  // a part of the contenders' right is theirs
    const auto divided = std::ranges::find(shared, shards_detail, &record::detail);
    const std::int64_t shards = divided == shared.end() ? 0 : divided->token;
    const auto judged = [&](std::int64_t lease) {
        std::vector<record> own = std::move(leases[lease]);
        // Those of the crowd are said after those of the contenders, and so hold.
        for (const record& r : shared)
            if (lease == 0 ? r.lease == 0 : r.what != event::crashed) own.push_back(r);
        std::ranges::stable_sort(own, {}, &record::at);
        return lease == 0 && shards > 0 ? judge_shards(own, shards) : judge_lease(own);
    };
    figures all = judged(0);
    judge_history(records, all);
    judge_fires(records, all);
    for (const auto& [lease, own] : leases)
        if (lease != 0) add_of_the_crowd(all, judged(lease));
    if (const auto crowd = std::ranges::find(records, "leases_of_the_crowd", &record::detail); crowd != records.end()) {
        all.circumstances[crowd->detail] = crowd->token;
        if (crowd->token != all.leases)
            all.objections.push_back("of the crowd's leases there are records of " + std::to_string(all.leases));
    }
    return all;
}

bool is_history_file(const std::filesystem::path& path) { return path.extension() == ".jsonl" || path.extension() == ".edn"; }

bool check_history_file(const std::filesystem::path& path)
{
    std::ifstream file{path};
    if (!file) throw std::runtime_error{"can't read " + path.string()};
    try {
        const history::written_history found = history::read_json_lines(file);
        const history::verdict decided = history::check(found.calls, found.clock_error);
        std::printf("  %zu calls of %zu leases, %zu of unknown outcome\n", decided.calls, decided.names, decided.unknown);
        if (!decided.linearizable()) std::printf("  objection: %s\n", decided.explanation.c_str());
        std::printf("  the checker %s\n", decided.linearizable() ? "agrees" : "OBJECTS");
        return decided.linearizable();
    } catch (const std::runtime_error& error) {
        throw std::runtime_error{path.string() + ": " + error.what()};
    }
}

bool check(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& histories)
{
    const figures found = judge(read_records(folder));
    print(found);
    for (const std::filesystem::path& path : histories) write_history(path, found.history);
    return found.objections.empty();
}

}  // namespace campaign
