// SPDX-License-Identifier: BSL-1.0
#include "terms_choice.hpp"

#include "duration_text.hpp"
#include "exit_code.hpp"
#include "failure.hpp"

#include <algorithm>
#include <string>

namespace tool {

namespace {

using leasehold::duration;
using namespace std::chrono_literals;

constexpr duration shortest_ttl = 1s;  // processes are started and killed within it
constexpr duration usual_kill_after = 5s;

duration margin_for(duration kill_after, duration ttl) { return std::max(kill_after + kill_after / 5, ttl / 10); }

[[noreturn]] void refuse(const std::string& why) { throw failure{exit_code::usage, why}; }

}  // namespace

chosen_terms choose_terms(const asked_terms& asked)
{
    const duration ttl = asked.ttl;
    if (ttl < shortest_ttl) refuse("--ttl must be at least " + to_text(shortest_ttl));
    const duration usual = std::min(usual_kill_after, ttl / 6);
    const duration kill_after = asked.kill_after.value_or(asked.margin ? std::min(usual, *asked.margin) : usual);
    const duration margin = asked.margin.value_or(margin_for(kill_after, ttl));
    if (margin < kill_after)
        refuse("--margin " + to_text(margin) + " is shorter than --kill-after " + to_text(kill_after) +
               ": the command could still run when the database lets another host in; make --margin longer or --kill-after "
               "shorter");
    if (margin > ttl / 2)
        refuse((asked.margin ? "--margin " + to_text(margin)
                             : "--kill-after " + to_text(kill_after) + ", with a margin of " + to_text(margin) + ",") +
               " leaves too little of --ttl " + to_text(ttl) + " for renewals: use --ttl " +
               to_text(std::chrono::ceil<std::chrono::seconds>(2 * margin)) + " or longer");
    const leasehold::lease_terms lease{.ttl = ttl, .safety_margin = margin, .min_hold = asked.min_hold};
    if (const char* rule = lease.broken_rule()) refuse(rule);
    return {lease, kill_after, std::clamp<duration>(ttl / 4, 250ms, 5s)};
}

}  // namespace tool
