// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_EVENTUALLY_HPP
#define LEASEHOLD_TESTS_SUPPORT_EVENTUALLY_HPP

#include <chrono>
#include <thread>

namespace leasehold_test {

/// Whether `predicate` comes true within `timeout` of real time.
///
/// For what another thread or process does. The only place in the tests that sleeps: a test that waits a fixed time for
/// something to happen is either slow or wrong.
template <class Predicate>
[[nodiscard]] bool eventually(Predicate predicate, std::chrono::nanoseconds timeout = std::chrono::seconds{10},
                              std::chrono::nanoseconds interval = std::chrono::milliseconds{2})
{
    const auto end = std::chrono::steady_clock::now() + timeout;
    for (;;) {
        // The clock first: a predicate that is slow, or was kept waiting, still gets its last look after the end.
        const bool last_look = std::chrono::steady_clock::now() >= end;
        if (predicate()) return true;
        if (last_look) return false;
        std::this_thread::sleep_for(interval);
    }
}

/// Whether `predicate` stays true for `period` of real time: for what must not happen.
template <class Predicate>
[[nodiscard]] bool throughout(Predicate predicate, std::chrono::nanoseconds period,
                              std::chrono::nanoseconds interval = std::chrono::milliseconds{2})
{
    return !eventually([&predicate] { return !predicate(); }, period, interval);
}

}  // namespace leasehold_test

#endif
