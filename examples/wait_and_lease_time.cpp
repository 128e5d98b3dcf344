// SPDX-License-Identifier: BSL-1.0
// ctest:

// tryLock(waitTime, leaseTime): wait for at most so long, hold for at most so long.
//
// As it is usually written, on Redis: whoever gives a lease time isn't renewed any more, and when that time is over the lock
// is gone under the holder's feet: nothing tells it, and the next one works beside it. Those who wait are woken by a message,
// and a message that is lost costs the rest of the wait.
// Here the two times of a lease are apart. The ttl is how long a crashed holder is waited for, and is renewed; a limit of the
// work is a policy, renew_for. When it is reached the holder is told, by its stop token, before anybody else is let in. A
// release wakes who waits; that is a hint, and who waits comes back at the term's end without it.
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
    lh::memory_store store;  // an lh::odbc_store or a redis_store is used just so
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

    const bool too_soon = static_cast<bool>(other.try_acquire_for(200ms));
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
