// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_COST_MEMORY_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_COST_MEMORY_HPP

#include "rounds.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/metrics.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <vector>

namespace cost {

inline leasehold::store_call a_call(const std::string& name)
{
    return {leasehold::store_operation::try_acquire, name, {}, {}, std::chrono::seconds{30}};
}

inline const leasehold::store_call_report granted_in_20_us{.error = {}, .succeeded = true, .elapsed = std::chrono::microseconds{20}};

/// Leases in memory, also counted, beside what else excludes threads from each other.
inline alternating measured_in_memory()
{
    namespace lh = leasehold;
    using namespace std::chrono_literals;
    std::mutex mutex;
    std::unordered_map<std::string, bool> table{{"measured", false}};
    std::timed_mutex timed;
    lh::memory_store store;
    lh::basic_lease lease{store, "measured"};
    lh::metrics metrics;
    lh::hooked_store counting{store, std::ref(metrics)};
    lh::basic_lease counted{counting, "counted"};
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
    all.add("lease on memory_store, with metrics", [&] { auto guard = counted.try_acquire(); });
    all.add("metrics: a call", [&] { metrics(a_call(name), granted_in_20_us); });
    all.add("metrics: a term's beginning and end", [&] {
        metrics(lh::lease_event{
            .kind = lh::lease_event_kind::acquired, .name = name, .owner = owner, .token = lh::fencing_token{1}, .waited = 20us});
        metrics(lh::lease_event{
            .kind = lh::lease_event_kind::released, .name = name, .owner = owner, .token = lh::fencing_token{1}, .held = 20us});
    });
    all.run(50'000);
    return all;
}

/// Times a second that `threads` reach together; each does over and over what work_of(its number) returns.
template <class WorkOf>
double times_a_second(std::size_t threads, WorkOf work_of)
{
    std::atomic<bool> stop = false;
    std::atomic<std::size_t> times = 0;
    const auto begun = std::chrono::steady_clock::now();
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < threads; ++i)
        all.emplace_back([&, i] {
            auto work = work_of(i);
            std::size_t done = 0;
            for (; !stop; ++done) work();
            times += done;
        });
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
    stop = true;
    for (auto& each : all) each.join();
    return static_cast<double>(times) / std::chrono::duration<double>{std::chrono::steady_clock::now() - begun}.count();
}

/// Grants and releases, each thread's on a name of its own: in one memory store, or with nothing in common.
inline double pairs_a_second(std::size_t threads, bool one_store)
{
    const auto common = std::make_shared<leasehold::memory_store>();
    return times_a_second(threads, [&](std::size_t i) {
        return [store = one_store ? common : std::make_shared<leasehold::memory_store>(), name = "name-" + std::to_string(i),
                owner = "owner-" + std::to_string(i)] {
            std::error_code ec;
            const auto got = store->try_acquire(name, owner, std::chrono::seconds{30}, ec);
            store->release(name, owner, got.token, {}, ec);
        };
    });
}

/// Calls that are counted, each thread's under a name of its own: by one lh::metrics, or with nothing in common.
inline double counted_a_second(std::size_t threads, bool one_metrics)
{
    const auto common = std::make_shared<leasehold::metrics>();
    return times_a_second(threads, [&](std::size_t i) {
        return [metrics = one_metrics ? common : std::make_shared<leasehold::metrics>(), name = "name-" + std::to_string(i)] {
            (*metrics)(a_call(name), granted_in_20_us);
        };
    });
}

/// Times of what one thread does: 16 threads on 16 names.
struct thread_scaling {
    spread one_for_all;
    spread nothing_in_common;  ///< what the processors give
};

inline thread_scaling measured_with_threads(double (*times)(std::size_t threads, bool one_for_all))
{
    std::vector<double> one_for_all, nothing_in_common;
    for (int round = 0; round < 9; ++round) {
        const double one = times(1, true);
        one_for_all.push_back(times(16, true) / one);
        nothing_in_common.push_back(times(16, false) / one);
    }
    return {spread_of(one_for_all), spread_of(nothing_in_common)};
}

}  // namespace cost

#endif
