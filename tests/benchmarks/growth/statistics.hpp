// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_GROWTH_STATISTICS_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_GROWTH_STATISTICS_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace growth {

/// The value that this share of all stays below.
inline double at(std::vector<double> values, double share)
{
    if (values.empty()) return 0;
    std::ranges::sort(values);
    return values[std::min(values.size() - 1, static_cast<std::size_t>(static_cast<double>(values.size()) * share))];
}

inline double seconds_since(std::chrono::steady_clock::time_point begun)
{
    return std::chrono::duration<double>{std::chrono::steady_clock::now() - begun}.count();
}

}  // namespace growth

#endif
