// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_CANCELLED_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_CANCELLED_HPP

#include "record.hpp"
#include "waiters.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

// How long the end of a wait takes that is cancelled. A store's ticket has left the queue by then, or has told the server to end the
// session's wait, for which it waits 30 ms at most.
namespace hand_over {

struct cancellations {
    std::vector<std::int64_t> blocking, asynchronous;  ///< ns each
};

/// Long enough for a waiter to be in the queue.
inline constexpr auto wait_lasts = std::chrono::milliseconds{20};

template <class Lease>
std::int64_t cancel_blocking(Lease& lease)
{
    std::stop_source stop;
    std::atomic<std::int64_t> ended = 0;
    std::thread waiter{[&] {
        const auto guard = lease.acquire(stop.get_token());
        ended = now();
    }};
    std::this_thread::sleep_for(wait_lasts);
    const auto asked = now();
    stop.request_stop();
    waiter.join();
    return ended - asked;
}

template <class Store>
cancellations times_of_cancellations(Store& rival, Store& store)
{
    constexpr int times = 100;
    leasehold::basic_lease holder{rival, "waited for"}, lease{store, "waited for"};
    const auto held = holder.acquire();
    cancellations took;
#ifdef HAND_OVER_ASYNCHRONOUS
    asynchronous_waiter loop;
#endif
    // Alternately, so that both see the same machine. The first of each connects.
    for (int i = 0; i <= times; ++i) {
        const auto blocking = cancel_blocking(lease);
        if (i != 0) took.blocking.push_back(blocking);
#ifdef HAND_OVER_ASYNCHRONOUS
        const auto asynchronous = loop.cancel(lease, wait_lasts);
        if (i != 0) took.asynchronous.push_back(asynchronous);
#endif
    }
    return took;
}

/// An empty connection string: the memory store.
inline cancellations times_of_cancellations(const std::string& connection_string)
{
    if (connection_string.empty()) {
        leasehold::memory_store store;
        return times_of_cancellations(store, store);
    }
    leasehold::odbc_store rival{connection_string}, store{connection_string};
    return times_of_cancellations(rival, store);
}

}  // namespace hand_over

#endif
