// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_TAKER_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_TAKER_HPP

#include "record.hpp"

#include <leasehold/leasehold.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace hand_over {

/// What a taker does over and over.
enum class work {
    turns,    ///< holds until the others are in line, releases, and waits until somebody else has taken it
    contend,  ///< holds for a millisecond, and comes again at once
    take      ///< once: takes it and keeps it until the end
};

struct way {
    hand_over::work work = work::turns;
    bool polling = false;  ///< asks every 50 ms, as locks on databases mostly do, instead of the store's own waiting
    std::chrono::nanoseconds ttl = std::chrono::seconds{30};
};

inline constexpr auto poll_pause = std::chrono::milliseconds{50};
/// Long enough for whoever has just released to be back in line.
inline constexpr auto turn_lasts = std::chrono::milliseconds{15};

template <class Lease>
auto acquire(Lease& lease, const way& how, const record& run)
{
    if (!how.polling) return lease.acquire();
    for (;;) {
        auto guard = lease.try_acquire();
        if (guard || run.stop) return guard;
        std::this_thread::sleep_for(poll_pause);
    }
}

/// Held while the takers of a run start.
inline constexpr std::string_view busy_name = "held while they start";

/// In nanoseconds: within it everybody has had a few turns, and the sessions they need.
inline constexpr std::int64_t warm_up = 1'000'000'000;

inline void note(record& run, std::size_t index, std::int64_t asked, std::int64_t got)
{
    record::taker& self = run.takers[index];
    ++self.grants;
    self.got_at = got;
    // Not while takers still connect, nor while those that have stopped disconnect: both keep the processors busy.
    if (asked - run.began > warm_up && !run.stop) self.longest_wait = std::max(self.longest_wait.load(), got - asked);
}

template <class Lease>
void take_turns(record& run, std::size_t index, Lease& lease, const way& how)
{
    using namespace std::chrono_literals;
    while (!run.stop) {
        const auto asked = now();
        auto guard = acquire(lease, how, run);
        const auto got = now();
        if (!guard) return;
        note(run, index, asked, got);
        if (const auto since = run.released.exchange(0)) run.add(got - since);
        if (how.work == work::take) {
            while (!run.stop) std::this_thread::sleep_for(1ms);
        } else if (how.work == work::contend) {
            std::this_thread::sleep_for(1ms);
        } else {
            std::this_thread::sleep_for(turn_lasts);
            const auto released = now();
            run.released = released;
            guard.release();
            // Not before somebody else has had it: a poller that came back at once would nearly always win. The other one may have
            // released it, too, by the time that this thread looks.
            while (run.released == released && !run.stop) std::this_thread::sleep_for(100us);
        }
    }
}

/// Takes part in a run, from its begin until its stop.
template <class Store>
void take_part(record& run, std::size_t index, Store& store, const way& how)
{
    leasehold::basic_lease lease{store, "measured", leasehold::lease_terms{.ttl = how.ttl}};
    std::error_code ignored;
    static_cast<void>(store.inspect(busy_name, ignored));  // connects
    ++run.connected;
    // Opens also the session that a waiter needs, and prepares all statements: no run is to count these.
    leasehold::basic_lease prepares{store, busy_name};
    static_cast<void>(prepares.acquire());
    ++run.ready;
    while (!run.begin) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    take_turns(run, index, lease, how);
}

}  // namespace hand_over

#endif
