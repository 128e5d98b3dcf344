// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_LEASE_CHANGES_HPP
#define LEASEHOLD_DETAIL_LEASE_CHANGES_HPP

#include <leasehold/duration.hpp>
#include <leasehold/lease_change.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/time_point.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

// What two looks at a name tell: a pure function of the two records and the times of the looks.
namespace leasehold::inline v0::detail {

struct look_times {
    time_point before;  // the earlier look was sent
    time_point now;     // the later look was answered
};

// Tokens of a name only grow. So a look that shows a smaller one is older than what is known, as from a copy of the database that lags.
// What is known stands, for as long as it was to last: in a table that was restored tokens may begin anew.
template <class Record>
void keep_if_newer(const Record& known, Record& seen, duration since_known)
{
    if (seen.token >= known.token || known.remaining <= since_known) return;
    seen = known;
    seen.remaining -= since_known;
}

template <class Record>
void keep_newer(const std::optional<Record>& known, std::optional<Record>& seen, duration since_known)
{
    if (known && seen) keep_if_newer(*known, *seen, since_known);
}

// What tells a record from the others of one look.
template <class Record>
const std::string& key_of(const Record& record) noexcept
{
    if constexpr (requires { record.name; })
        return record.name;
    else
        return record.id;
}

// Both are sorted by these keys.
template <class Record>
void keep_newer(const std::vector<Record>& known, std::vector<Record>& seen, duration since_known)
{
    auto earlier = known.begin();
    for (Record& record : seen) {
        while (earlier != known.end() && key_of(*earlier) < key_of(record)) ++earlier;
        if (earlier != known.end() && key_of(*earlier) == key_of(record)) keep_if_newer(*earlier, record, since_known);
    }
}

// What an observer knows: what its latest successful look found, and when that look was sent.
template <class Seen>
struct latest_look {
    Seen found{};
    std::optional<time_point> sent{};

    // Puts what is known in the place of what is older in `later`.
    void leave_out_older(Seen& later, time_point then_sent) const
    {
        if (sent) keep_newer(found, later, then_sent - *sent);
    }

    // The changes that a look tells which found `later`. An end counts from when the look before was sent, which is before its answer.
    template <class Change>
    [[nodiscard]] std::vector<Change> changes_to(const Seen& later, time_point then_sent, time_point now,
                                                 std::vector<Change> (*compare)(const Seen&, const Seen&, const look_times&)) const
    {
        return compare(found, later, {sent.value_or(then_sent), now});
    }

    void replace_by(Seen later, time_point then_sent)
    {
        found = std::move(later);
        sent = then_sent;
    }
};

// A count is no holder, and neither is a min_hold, which keeps the name closed after a release.
inline bool is_held(const std::optional<lease_record>& record) noexcept
{
    return record && !record->owner.empty() && !record->is_count();
}

// The end of a term that the later look does not show. A term that is gone before its time was released; and so was one that keeps
// the name closed. If another term does, which came and went between the looks, that says nothing of this one.
inline lease_change_kind end_of(const lease_record& before, const std::optional<lease_record>& after, const look_times& times) noexcept
{
    if (before.is_hold()) return lease_change_kind::hold_ended;
    const bool kept_closed = after && after->token == before.token;
    return kept_closed || times.now - times.before < before.remaining ? lease_change_kind::released : lease_change_kind::expired;
}

inline void add_changes(const std::optional<lease_record>& before, const std::optional<lease_record>& after, const look_times& times,
                        std::vector<lease_change>& changes)
{
    const bool was_held = is_held(before);
    const bool held = is_held(after);
    if (was_held && held && before->token == after->token) {
        if (before->data != after->data) changes.push_back({lease_change_kind::data_changed, *after, before, after});
        return;
    }
    if (was_held && held && !before->is_hold() && !after->is_hold()) {
        changes.push_back({lease_change_kind::taken_over, *after, before, after});
        return;
    }
    if (was_held) changes.push_back({end_of(*before, after, times), *before, before, after});
    if (held) changes.push_back({after->is_hold() ? lease_change_kind::hold_begun : lease_change_kind::acquired, *after, before, after});
}

inline std::vector<lease_change> lease_changes(const std::optional<lease_record>& before, const std::optional<lease_record>& after,
                                               const look_times& times)
{
    std::vector<lease_change> changes;
    add_changes(before, after, times, changes);
    return changes;
}

// The same for many names. Both are sorted by name; so is the result.
inline std::vector<lease_change> lease_changes(const std::vector<lease_record>& before, const std::vector<lease_record>& after,
                                               const look_times& times)
{
    std::vector<lease_change> changes;
    auto was = before.begin();
    auto is = after.begin();
    while (was != before.end() || is != after.end()) {
        const int order = was == before.end() ? 1 : is == after.end() ? -1 : was->name.compare(is->name);
        std::optional<lease_record> earlier, later;
        if (order <= 0) earlier = *was++;
        if (order >= 0) later = *is++;
        add_changes(earlier, later, times, changes);
    }
    return changes;
}

}  // namespace leasehold::inline v0::detail

#endif
