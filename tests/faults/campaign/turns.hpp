// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_TURNS_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_TURNS_HPP

// Records of a campaign without a flaw, for tests of the checker.

#include "check.hpp"
#include "records.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace campaign {

inline constexpr instant s = second;

// A good campaign of ten seconds: a and b take turns.
inline std::vector<record> good()
{
    std::vector<record> records{{event::rules, "conductor", 0, 1500 * millisecond, 150 * millisecond, "test"},
                                {event::limits, "conductor", 0, s, 700 * millisecond},
                                {event::began, "conductor", 0, 10 * s, 0}};
    for (instant i = 0; i < 10; ++i) {
        const std::string who = i % 2 == 0 ? "c0.1" : "c1.1";
        const instant at = (10 + i) * s;
        records.push_back({event::call, who, i + 1, at, at + 1, "acquire:granted"});
        records.push_back({event::won, who, i + 1, at + 2, at + 1350 * millisecond});
        records.push_back({event::held, who, i + 1, at + 900 * millisecond, at + 2 * s});
        records.push_back({event::releasing, who, i + 1, at + 910 * millisecond, 0});
        records.push_back({event::call, who, i + 1, at + 911 * millisecond, at + 912 * millisecond, "release:yes"});
    }
    records.push_back({event::ended, "conductor", 0, 20 * s, 0});
    return records;
}

inline figures judged(std::vector<record> records)
{
    std::ranges::stable_sort(records, {}, &record::at);
    return judge(records);
}

inline bool is_linearizable(std::vector<record> records, const std::vector<record>& more = {})
{
    records.insert(records.end(), more.begin(), more.end());
    const figures found = judged(std::move(records));
    return std::ranges::none_of(found.objections, [](const std::string& each) { return each.starts_with("not linearizable"); });
}

}  // namespace campaign

#endif
