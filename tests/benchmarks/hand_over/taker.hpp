// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_TAKER_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_TAKER_HPP

#include "record.hpp"
#include "waiters.hpp"

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

/// See the waiters of these names; `floor`: see floor.hpp.
enum class waits { blocking, polling, asynchronous, floor };

/// What the takers take turns at.
enum class rights {
    lease,
    writing,              ///< of a shared lease
    writing_and_reading,  ///< of a shared lease: every second taker only reads
};

struct way {
    hand_over::work work = work::turns;
    hand_over::waits waits = waits::blocking;
    std::chrono::nanoseconds ttl = std::chrono::seconds{30};
    hand_over::rights rights = rights::lease;
};

inline bool reads(std::size_t taker, const way& how) { return how.rights == rights::writing_and_reading && taker % 2 == 1; }

/// Long enough for the last holder to be back in the queue.
inline constexpr auto turn_lasts = std::chrono::milliseconds{15};

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

template <class Lease, class Waiter>
void take_turns(record& run, std::size_t index, Lease& lease, Waiter& waiter, const way& how)
{
    using namespace std::chrono_literals;
    while (!run.stop) {
        const auto asked = now();
        auto [guard, got] = waiter.acquire(lease, run);
        if (!guard) return;
        note(run, index, asked, got);
        if (const auto since = run.released.exchange(0)) run.add(got - since, index);
        if (how.work == work::take)
            while (!run.stop) std::this_thread::sleep_for(1ms);
        else
            std::this_thread::sleep_for(how.work == work::contend ? std::chrono::milliseconds{1} : turn_lasts);
        term of{.taker = index, .token = guard.token().value(), .asked = asked, .got = got, .releasing = now()};
        if (how.work == work::turns) run.released = of.releasing;
        of.was_held = guard.release() == leasehold::release_outcome::released;
        of.released = now();
        run.add(of);
        // Not before somebody else has had it: a poller that came back at once would nearly always win. The other one may have
        // released it, too, by the time that this thread looks.
        if (how.work == work::turns)
            while (run.released == of.releasing && !run.stop) std::this_thread::sleep_for(100us);
    }
}

/// `lease`: what its waiter is for.
template <class Store, class Waiter, class Lease>
void take_part(record& run, std::size_t index, Store& store, Waiter waiter, Lease& lease, const way& how)
{
    std::error_code ignored;
    static_cast<void>(store.inspect(busy_name, ignored));  // connects
    ++run.connected;
    // Opens also the session that a waiter needs, and prepares all statements: no run is to count these.
    leasehold::basic_lease prepares{store, busy_name};
    static_cast<void>(waiter.acquire(prepares, run));
    ++run.ready;
    while (!run.begin) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    take_turns(run, index, lease, waiter, how);
}

/// Takes part in a run, from its begin until its stop.
template <class Store>
void take_part(record& run, std::size_t index, Store& store, const way& how)
{
    const leasehold::lease_terms terms{.ttl = how.ttl};
    if (how.rights != rights::lease) {
        leasehold::shared_lease shared{store, "measured, shared", terms};
        return reads(index, how) ? take_part(run, index, store, blocking_reader{}, shared, how)
                                 : take_part(run, index, store, blocking_waiter{}, shared, how);
    }
    leasehold::basic_lease lease{store, "measured", terms};
    switch (how.waits) {
    case waits::blocking: return take_part(run, index, store, blocking_waiter{}, lease, how);
    case waits::polling: return take_part(run, index, store, polling_waiter{}, lease, how);
    case waits::floor: throw std::logic_error{"the floor needs no store"};
    case waits::asynchronous: break;
    }
#ifdef HAND_OVER_ASYNCHRONOUS
    take_part(run, index, store, asynchronous_waiter{}, lease, how);
#else
    throw std::logic_error{"compiled without Boost.Asio"};
#endif
}

}  // namespace hand_over

#endif
