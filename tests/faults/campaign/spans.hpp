// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_SPANS_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_SPANS_HPP

#include "records.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace campaign {

/// A set of instants, made of spans that may overlap when added.
class spans {
public:
    void add(instant from, instant until)
    {
        if (from > until) return;
        auto next = merged_.upper_bound(from);
        if (next != merged_.begin() && std::prev(next)->second >= from) {
            --next;
            from = next->first;
        }
        while (next != merged_.end() && next->first <= until) {
            until = std::max(until, next->second);
            next = merged_.erase(next);
        }
        merged_.emplace(from, until);
    }

    [[nodiscard]] bool contain(instant from, instant until) const
    {
        const auto next = merged_.upper_bound(from);
        return next != merged_.begin() && std::prev(next)->second >= until;
    }
    [[nodiscard]] bool meet(instant from, instant until) const
    {
        const auto next = merged_.upper_bound(until);
        return next != merged_.begin() && std::prev(next)->second >= from;
    }
    [[nodiscard]] instant length() const
    {
        instant sum = 0;
        for (const auto& [from, until] : merged_) sum += until - from;
        return sum;
    }
    [[nodiscard]] instant length_within(instant from, instant until) const
    {
        instant sum = 0;
        for (const auto& [begin, end] : merged_) sum += std::max<instant>(0, std::min(end, until) - std::max(begin, from));
        return sum;
    }
    [[nodiscard]] const std::map<instant, instant>& merged() const noexcept { return merged_; }

private:
    std::map<instant, instant> merged_;
};

}  // namespace campaign

#endif
