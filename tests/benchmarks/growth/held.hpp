// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_GROWTH_HELD_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_GROWTH_HELD_HPP

#include "statistics.hpp"

#include <benchmarks/results.hpp>
#include <benchmarks/scale/processor_time.hpp>
#include <contract/asked_once.hpp>

#include <leasehold/leasehold.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <list>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace growth {

namespace lh = leasehold;
using namespace std::chrono_literals;

/// With the default policy each is renewed once in this time.
inline constexpr auto ttl = 30s;
inline constexpr auto renewed_every = ttl / 3;

/// A grant and its release of one lease more while so many are held and renewed by the same process, and what those cost it.
inline void measure_held(std::vector<std::size_t> counts, leasehold_test::results& results)
{
    using lease_type = lh::basic_lease<lh::memory_store>;
    lh::memory_store store;
    std::list<lease_type> leases;
    std::vector<lease_type::guard_type> guards;
    lease_type one_more{store, "one more"};
    for (const std::size_t count : counts) {
        while (guards.size() < count) {
            leases.emplace_back(store, "held-" + std::to_string(guards.size()), lh::lease_terms{.ttl = ttl});
            guards.push_back(leases.back().try_acquire());
        }
        std::vector<double> pairs;
        for (int round = 0; round < 21; ++round) {
            constexpr int times = 2000;
            const auto begun = std::chrono::steady_clock::now();
            for (int i = 0; i < times; ++i)
                if (!is_held(one_more.try_acquire())) throw std::runtime_error{"a grant failed"};
            pairs.push_back(seconds_since(begun) / times * 1e6);
        }
        const double before = scale::own_processor_time();
        std::this_thread::sleep_for(renewed_every);
        const double share = (scale::own_processor_time() - before) / std::chrono::duration<double>{renewed_every}.count() * 100;
        std::size_t lost = 0;
        for (const auto& each : guards) lost += each.held() ? 0 : 1;
        std::printf("%-11s %6zu held: grant + release of one more %7.3f us, process %6.3f %% of a core, %zu lost\n", "memory", count,
                    at(pairs, 0.5), share, lost);
        std::fflush(stdout);
        const std::string with = ", " + std::to_string(count) + " held";
        results.add("memory", "grant + release" + with, at(pairs, 0.5));
        results.add("memory", "percent of a core" + with, share);
    }
    lh::release_all(guards);
}

}  // namespace growth

#endif
