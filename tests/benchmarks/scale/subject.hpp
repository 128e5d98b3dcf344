// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_SCALE_SUBJECT_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_SCALE_SUBJECT_HPP

#include "processor_time.hpp"

#include <benchmarks/results.hpp>
#include <contract/odbc_connection.hpp>
#include <support/environment.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/temporary_directory.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace scale {

using namespace std::chrono_literals;

/// A database to measure.
struct subject {
    std::string_view label;
    std::string connection_string;
    std::vector<std::string> settings;        ///< of each connection
    std::function<double()> processor_time;   ///< of its server so far, in seconds; this process's where there is none
    std::string numbers;                      ///< SQL: a table expression of one column `n` from 1 to :count
    std::string long_ago;                     ///< SQL: an expiry in the past
    std::string explain;                      ///< what goes before a statement to see its plan
};

struct options {
    std::size_t leases = 10'000;
    std::size_t held = 100'000;
    std::size_t names = 1'000'000;
    int rounds = 7;
    int seconds = 60;
    bool flush = true;
    std::string only;
    std::string database;
    std::string results;
};

inline double median(std::vector<double> values)
{
    if (values.empty()) return 0;
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// For what a clock counts in ticks that are about as long as what it measures.
inline double mean(const std::vector<double>& values)
{
    return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

inline double seconds_since(std::chrono::steady_clock::time_point begun)
{
    return std::chrono::duration<double>{std::chrono::steady_clock::now() - begun}.count();
}

inline std::string numbered(std::string_view stem, std::size_t i) { return std::string{stem} + std::to_string(i); }

}  // namespace scale

#endif
