// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_TENURE_HPP
#define LEASEHOLD_TESTS_CONTRACT_TENURE_HPP

#include <leasehold/fencing_token.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace leasehold::contract {

/// Somebody held a name for certain from `begin` to `end`, on a monotonic clock that all holders share.
struct tenure {
    time_point begin;
    time_point end;
    fencing_token token;
    std::string holder;
};

/// What is wrong with the tenures of one name; empty when nothing is. Knows nothing of how they came about.
inline std::string overlaps_in(std::vector<tenure> tenures)
{
    std::ranges::stable_sort(tenures, {}, [](const tenure& t) { return std::pair{t.begin, t.token}; });
    std::ostringstream faults;
    const auto show = [&faults](const tenure& t) {
        faults << t.holder << " from " << t.begin.time_since_epoch().count() << " to " << t.end.time_since_epoch().count()
               << " ns, token " << t.token;
    };
    const tenure* last_to_end = nullptr;  // a long tenure overlaps more than its neighbour
    for (std::size_t i = 0; i < tenures.size(); ++i) {
        const tenure& t = tenures[i];
        if (last_to_end && last_to_end->end > t.begin) {
            faults << "overlap: ";
            show(*last_to_end);
            faults << "; ";
            show(t);
            faults << '\n';
        }
        if (i > 0 && t.token <= tenures[i - 1].token) {
            faults << "token out of order: ";
            show(tenures[i - 1]);
            faults << "; ";
            show(t);
            faults << '\n';
        }
        if (!last_to_end || t.end > last_to_end->end) last_to_end = &t;
    }
    return faults.str();
}

}  // namespace leasehold::contract

#endif
