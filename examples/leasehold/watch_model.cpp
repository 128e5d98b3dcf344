// SPDX-License-Identifier: BSL-1.0
#include "watch_model.hpp"

#include "duration_text.hpp"
#include "message.hpp"
#include "records.hpp"

#include <algorithm>
#include <set>

namespace tool {

void watch_model::see(const leasehold::lease_record& record, leasehold::time_point now, std::vector<lease_change>& changes)
{
    const auto known = leases_.find(record.name);
    const bool was_held = known != leases_.end() && known->second.held;
    const bool same_term =
        was_held && known->second.record.token == record.token && known->second.record.owner == record.owner;
    if (same_term) {
        known->second.record = record;
        known->second.seen_at = now;
        known->second.longest = std::max(known->second.longest, record.remaining);
        return;
    }
    using kind = lease_change::kind;
    // A name that is kept closed has its holder's token still, and no owner.
    const kind what = first_                 ? kind::held_at_first
                      : record.owner.empty() ? kind::closed
                      : was_held             ? kind::handed_over
                                             : kind::taken;
    changes.push_back({what, record, was_held ? known->second.record.owner : std::string{}});
    watched_lease row{record, now, record.remaining};
    if (!first_) row.changed_at = now;
    leases_.insert_or_assign(record.name, std::move(row));
}

std::vector<lease_change> watch_model::look(const std::vector<leasehold::lease_record>& held, leasehold::time_point now)
{
    std::vector<lease_change> changes;
    std::set<std::string> seen;
    for (const auto& record : held) {
        see(record, now, changes);
        seen.insert(record.name);
    }
    for (auto& [name, row] : leases_) {
        if (!row.held || seen.contains(name)) continue;
        changes.push_back({lease_change::kind::freed, row.record, {}});
        row.held = false;
        row.changed_at = now;
    }
    std::erase_if(leases_,
                  [now](const auto& each) { return !each.second.held && now - *each.second.changed_at >= show_freed_for; });
    first_ = false;
    return changes;
}

std::string to_line(const lease_change& change)
{
    using kind = lease_change::kind;
    const auto& now = change.now;
    const std::string who = owner_or_what_else(now, true);
    const std::string term = who + ", token " + std::to_string(now.token.value());
    const std::string name = printable(now.name);
    if (now.is_hold()) return name + "  " + (change.what == kind::freed ? "open again" : who.substr(1, who.size() - 2));
    switch (change.what) {
    case kind::held_at_first:
        return name + "  " + (now.owner.empty() ? "kept closed for " + to_short_text(now.remaining) : "held by " + term);
    case kind::taken: return name + "  taken by " + term;
    case kind::handed_over:
        return name + "  taken by " + term +
               (change.before.empty() || change.before == now.owner || leasehold::detail::is_hold(change.before)
                    ? ""
                    : ", after " + short_owner(change.before));
    case kind::closed: return name + "  released, kept closed for " + to_short_text(now.remaining);
    case kind::freed: return name + "  free" + (now.owner.empty() ? "" : ", after " + term);
    }
    return name;
}

}  // namespace tool
