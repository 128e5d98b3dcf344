// SPDX-License-Identifier: BSL-1.0
// ctest:

// tryLock(waitTime, leaseTime): a limit for the wait, and a limit for holding the lock.
//
// On Redis such a lock is usually written like this: with a lease time it is not renewed. When that time is over, the lock
// is gone. Nothing signals this to the holder, and the next one works at the same time. Waiters are woken by a message, and
// a lost message costs the rest of the wait. Here a lease has two separate times. The ttl says how long others wait for a
// crashed holder, and is renewed. A limit for the work is a policy, renew_for. When the limit is reached, the stop token
// signals it to the holder before anybody else is let in. A release wakes a waiter, but that is only a hint: without it, the
// waiter tries again at the end of the term.
#include <leasehold/leasehold.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <thread>

namespace lh = leasehold;
using namespace std::chrono_literals;
using milliseconds = std::chrono::duration<double, std::milli>;

constexpr lh::lease_terms terms{.ttl = 800ms, .safety_margin = 300ms};

int main()
{
    lh::memory_store store;  // an lh::odbc_store or a redis_store is used in the same way
    lh::basic_lease limited{store, "checkout", terms, lh::steady_clock{}, lh::random_owner_id{}, lh::renew_for{1s}};
    lh::basic_lease other{store, "checkout", terms};

    // Work that would take ten seconds, with a limit of one, give or take a ttl.
    std::atomic<bool> told = false;
    std::atomic<bool> working = false;
    std::jthread holder{[&] {
        const auto guard = limited.acquire();
        working = true;
        const auto begun = std::chrono::steady_clock::now();
        std::mutex mutex;
        std::condition_variable_any work;
        std::unique_lock lock{mutex};
        work.wait_for(lock, guard.stop_token(), 10s, [] { return false; });
        told = !guard.held();
        working = false;
        std::cout << "told to stop after " << milliseconds{std::chrono::steady_clock::now() - begun}.count() << " ms\n";
    }};
    while (!working) std::this_thread::sleep_for(1ms);

    const auto early = other.try_acquire_for(200ms);
    const bool too_soon = early.held();
    auto turn = other.try_acquire_for(8s);
    const bool beside = working;
    holder.join();
    if (!turn) return 1;
    std::cout << "our turn, " << (beside ? "beside" : "after") << " the one before; token " << turn.token() << '\n';

    // A release wakes at once.
    std::chrono::steady_clock::time_point released;
    std::jthread waiting{[&] {
        const auto next = limited.try_acquire_for(5s);
        const milliseconds waited = std::chrono::steady_clock::now() - released;
        std::cout << (next ? "the next one was woken after " : "nobody woke the next one in ") << waited.count() << " ms\n";
    }};
    std::this_thread::sleep_for(100ms);
    const bool held = turn.held();
    released = std::chrono::steady_clock::now();
    turn.release();
    return told && !too_soon && !beside && held ? 0 : 1;
}
