// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_COST_MEMORY_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_COST_MEMORY_HPP

#include "rounds.hpp"

#include <leasehold/leasehold.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <vector>

namespace cost {

/// Leases in memory beside what else excludes threads from each other.
inline alternating measured_in_memory()
{
    namespace lh = leasehold;
    using namespace std::chrono_literals;
    std::mutex mutex;
    std::unordered_map<std::string, bool> table{{"measured", false}};
    std::timed_mutex timed;
    lh::memory_store store;
    lh::basic_lease lease{store, "measured"};
    const std::string name = "measured", owner = "somebody on some host, with a number";
    std::error_code ec;
    alternating all;
    const auto set = [&](bool held) {
        const std::lock_guard lock{mutex};
        table.find(name)->second = held;
    };
    all.add("mutex and look-up, twice", [&] { set(true), set(false); });
    all.add("timed_mutex", [&] {
        static_cast<void>(timed.try_lock_for(1s));
        timed.unlock();
    });
    all.add("memory_store", [&] {
        const auto got = store.try_acquire("another", owner, 30s, ec);
        store.release("another", owner, got.token, 0s, ec);
    });
    all.add("lease on memory_store", [&] { auto guard = lease.try_acquire(); });
    all.run(50'000);
    return all;
}

/// Grants and releases a second that `threads` reach together, each on a name of its own: in one memory store, or with nothing
/// in common.
inline double pairs_a_second(std::size_t threads, bool one_store)
{
    namespace lh = leasehold;
    using namespace std::chrono_literals;
    lh::memory_store common;
    std::atomic<bool> stop = false;
    std::atomic<std::size_t> pairs = 0;
    const auto begun = std::chrono::steady_clock::now();
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < threads; ++i)
        all.emplace_back([&, i] {
            lh::memory_store own;
            lh::memory_store& store = one_store ? common : own;
            const std::string name = "name-" + std::to_string(i), owner = "owner-" + std::to_string(i);
            std::error_code ec;
            std::size_t done = 0;
            for (; !stop; ++done) {
                const auto got = store.try_acquire(name, owner, 30s, ec);
                store.release(name, owner, got.token, 0s, ec);
            }
            pairs += done;
        });
    std::this_thread::sleep_for(200ms);
    stop = true;
    for (auto& each : all) each.join();
    return static_cast<double>(pairs) / std::chrono::duration<double>{std::chrono::steady_clock::now() - begun}.count();
}

/// Times of what one thread does: 16 threads on 16 names.
struct thread_scaling {
    spread one_store;
    spread nothing_in_common;  ///< what the processors give
};

inline thread_scaling measured_with_threads()
{
    std::vector<double> one_store, nothing_in_common;
    for (int round = 0; round < 9; ++round) {
        const double one = pairs_a_second(1, true);
        one_store.push_back(pairs_a_second(16, true) / one);
        nothing_in_common.push_back(pairs_a_second(16, false) / one);
    }
    return {spread_of(one_store), spread_of(nothing_in_common)};
}

}  // namespace cost

#endif
