// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_GROWTH_WAITERS_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_GROWTH_WAITERS_HPP

#include "statistics.hpp"

#include <benchmarks/results.hpp>

#include <leasehold/leasehold.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace growth {

namespace lh = leasehold;
using namespace std::chrono_literals;

/// Threads of this process that wait for one name, take it in turn, and come again.
template <class Store>
class waiting_threads {
public:
    waiting_threads(Store& store, std::size_t count) : store_{store}
    {
        lh::basic_lease first{store, "waited for"};
        auto guard = first.acquire();
        for (std::size_t i = 0; i < count + 1; ++i) threads_.emplace_back([this] { take_turns(); });  // one of them holds
        while (in_line_ < threads_.size()) std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(500ms);
    }
    waiting_threads(const waiting_threads&) = delete;
    waiting_threads& operator=(const waiting_threads&) = delete;
    ~waiting_threads() { end(); }

    /// Milliseconds from the instant before a release to the instant after the next holder's acquire() returned, so often.
    std::vector<double> hand_overs(std::size_t times)
    {
        for (;; std::this_thread::sleep_for(1ms)) {
            const std::lock_guard lock{mutex_};
            if (took_.size() < times + warm_up) continue;
            return {took_.begin() + warm_up, took_.end()};
        }
    }

    void end()
    {
        stop_.request_stop();
        for (auto& each : threads_)
            if (each.joinable()) each.join();
    }

private:
    static constexpr std::ptrdiff_t warm_up = 20;
    /// Long enough for the last holder to be back in the queue.
    static constexpr auto turn_lasts = 10ms;

    static std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

    void take_turns()
    {
        lh::basic_lease lease{store_, "waited for"};
        ++in_line_;
        while (auto guard = lease.acquire(stop_.get_token())) {
            const auto got = now();
            if (const auto since = released_.exchange(0)) {
                const std::lock_guard lock{mutex_};
                took_.push_back(static_cast<double>(got - since) / 1e6);
            }
            std::this_thread::sleep_for(turn_lasts);
            released_ = now();
            guard.release();
            while (released_ != 0 && !stop_.stop_requested()) std::this_thread::sleep_for(100us);
        }
    }

    Store& store_;
    std::stop_source stop_;
    std::atomic<std::size_t> in_line_ = 0;
    std::atomic<std::int64_t> released_ = 0;
    std::mutex mutex_;
    std::vector<double> took_;
    std::vector<std::thread> threads_;
};

/// `sessions`: how many the process has at the server; empty where there is none.
template <class Store>
void measure_waiters(const char* label, Store& store, const std::function<double()>& sessions, const std::vector<std::size_t>& counts,
                     leasehold_test::results& results)
{
    for (const std::size_t count : counts) {
        waiting_threads waiters{store, count};
        const std::vector<double> took = waiters.hand_overs(300);
        const double open = sessions ? sessions() : 0;
        const auto ending = std::chrono::steady_clock::now();
        waiters.end();
        std::printf("%-11s %4zu threads wait: to the next holder %.3f ms, p99 %.3f ms; %.0f sessions; all called off in %.3f s\n", label,
                    count, at(took, 0.5), at(took, 0.99), open, seconds_since(ending));
        std::fflush(stdout);
        const std::string with = ", " + std::to_string(count) + " threads";
        results.add(label, "hand-over" + with, at(took, 0.5));
        results.add(label, "hand-over, p99" + with, at(took, 0.99));
        if (sessions) results.add(label, "sessions" + with, open);
    }
}

}  // namespace growth

#endif
