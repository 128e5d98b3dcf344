// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_PEERS_SERVE_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_PEERS_SERVE_HPP

#include "../hand_over/record.hpp"
#include "locks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

// A client: a process that does with its lock what it is told in a line, and answers in a line of integers. Times are nanoseconds of
// CLOCK_MONOTONIC. client.mjs and etcd_mutex.go do the same.
//
//   acquire      when it had the lock
//   release      when it began to release it
//   pairs N      how long each of N grants and their releases took
//   contend MS   takes the lock, holds it for a millisecond, releases it, and comes again: how often it got the lock in that time, and its
//                longest wait, also one that ended later
namespace peers {

using hand_over::now;

template <class Lock>
void answer_pairs(Lock& lock, std::int64_t times)
{
    for (std::int64_t i = 0; i < times; ++i) {
        const auto begun = now();
        lock.acquire();
        lock.release();
        std::cout << now() - begun << ' ';
    }
}

template <class Lock>
void answer_contention(Lock& lock, std::int64_t milliseconds)
{
    const auto end = now() + milliseconds * 1'000'000;
    std::int64_t times = 0, longest = 0;
    for (auto asked = now(); asked < end; asked = now()) {
        lock.acquire();
        const auto got = now();
        times += got < end;
        longest = std::max(longest, got - asked);
        std::this_thread::sleep_for(1ms);
        lock.release();
    }
    std::cout << times << ' ' << longest;
}

template <class Lock>
void serve(const lock_plan& plan)
{
    Lock lock{plan};
    std::int64_t number = 0;
    for (std::string word; std::cin >> word;) {
        if (word == "acquire") {
            lock.acquire();
            std::cout << now();
        } else if (word == "release") {
            std::cout << now();
            lock.release();
        } else if (word == "pairs" && std::cin >> number)
            answer_pairs(lock, number);
        else if (word == "contend" && std::cin >> number)
            answer_contention(lock, number);
        else
            throw std::invalid_argument{"a client was told " + word};
        std::cout << std::endl;
    }
}

inline void serve(std::string_view kind, const lock_plan& plan)
{
    if (kind == "leasehold") return serve<leasehold_lock>(plan);
    if (kind == "leasehold-tried") return serve<tried_leasehold_lock>(plan);
    if (kind == "session-lock") return serve<session_lock>(plan);
    if (kind == "sql-floor") return serve<sql_floor>(plan);
    if (kind == "row") return serve<row_lock>(plan);
    if (kind == "redis-set") return serve<redis_set_lock>(plan);
    if (kind == "redis-floor") return serve<redis_floor>(plan);
    throw std::invalid_argument{"there is no lock " + std::string{kind}};
}

}  // namespace peers

#endif
