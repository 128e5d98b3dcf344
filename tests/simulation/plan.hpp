// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_PLAN_HPP
#define LEASEHOLD_TESTS_SIMULATION_PLAN_HPP

#include "clock.hpp"
#include "random.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

namespace sim {

// How the simulated database decides: by the library's memory_store, or by the library's ODBC flows over statements of ours.
enum class store_kind : std::uint8_t { memory, compare_and_set, single_statement };

inline constexpr std::int64_t ms = 1'000'000;

// What a schedule is made of, all drawn from its seed before it begins. Chances are of 1,024 each.
struct plan {
    plan() = default;
    explicit plan(random_source& random)
    {
        draw_shape(random);
        draw_faults(random);
        draw_clocks(random);
    }

    int hosts = 2;
    int names = 1;
    store_kind kind = store_kind::memory;
    bool in_step = true;        // false: the nodes of a cluster lag behind each other
    bool notifies = false;      // the store wakes waiters, when the message gets through
    bool fixed_owners = false;  // a restarted process has its predecessor's owners
    bool calm = false;          // no faults at all

    std::int64_t ttl = 0;           // the middle one; leases have between half and one and a half of it
    std::int64_t margin_part = 10;  // safety_margin is ttl / this
    std::int64_t min_hold = 0;      // of some of the leases
    std::int64_t call_timeout = 0;
    std::int64_t fault_end = 0;    // nothing goes wrong from here on
    std::int64_t quick_delay = 0;  // of a message, at most
    bool slow_polls = false;       // polls come seldom
    bool takes_blindly = false;    // the database is broken: see sql_table
    bool saves_blindly = false;    // the same: it saves a checkpoint whatever the token
    bool fences_hold_nothing = false;  // the same: nobody waits for a user's transaction

    std::int64_t lost_request = 0, lost_reply = 0, duplicate = 0, slow = 0, broken_connection = 0, refused = 0;
    freezes_at_clock at_clock;
    int freezes = 0, crashes = 0, server_freezes = 0, server_restarts = 0;

    std::int64_t drift_ppm = 0;     // bound for every clock, so that the margin covers it
    std::int64_t jump = 0;          // of the server's clock, once
    bool trust_is_promised = true;  // false where the jump is beyond the margin

    // Whether renewals go together. Not drawn, so that older seeds mean what they meant.
    [[nodiscard]] bool batches() const noexcept { return names > 1 && call_timeout % 4 != 0; }

    // Whether there are permits and shared leases. Not drawn either. Where a process may stop while it reads the clock, it may do
    // so with a lock that is shared with other processes only in this simulation.
    [[nodiscard]] bool several() const noexcept { return names > 1 && at_clock.of_1024 == 0; }

    // Whether its session locks wake the waiters; otherwise, where it notifies, each release does.
    [[nodiscard]] bool has_locks() const noexcept { return notifies && kind != store_kind::memory; }

    // How long a statement waits for a lock, and how long the server keeps a transaction of which it hears nothing.
    [[nodiscard]] std::int64_t lock_timeout() const noexcept { return call_timeout / 3; }
    [[nodiscard]] std::int64_t idle_timeout() const noexcept { return ttl; }

    // By how much a node is behind the others at most, in microseconds.
    [[nodiscard]] std::int64_t lag() const noexcept { return in_step || calm || kind != store_kind::compare_and_set ? 0 : ttl / 2000; }

    [[nodiscard]] std::int64_t longest_ttl() const noexcept { return ttl * 3 / 2 * 3 / 2; }  // renew(ttl) included
    [[nodiscard]] std::int64_t longest_delay() const noexcept { return slow == 0 ? quick_delay : ttl * 2; }

    [[nodiscard]] std::string describe() const
    {
        const char* kinds[] = {"memory_store", "compare-and-set statements", "single-statement grants"};
        char text[400];
        std::snprintf(text, sizeof text,
                      "%d hosts, %d names, %s%s%s%s; ttl about %.3f s, margin 1/%d, drift up to %.2f %%, jump %.3f s%s, call timeout "
                      "%.3f s%s",
                      hosts, names, kinds[static_cast<int>(kind)], lag() != 0 ? ", nodes that lag" : "",
                      has_locks() ? ", session locks"
                      : notifies  ? ", notifying"
                                  : "",
                      fixed_owners ? ", fixed owners" : "", static_cast<double>(ttl) / 1e9, static_cast<int>(margin_part),
                      static_cast<double>(drift_ppm) / 1e4, static_cast<double>(jump) / 1e9,
                      trust_is_promised ? "" : " (beyond the margin)", static_cast<double>(call_timeout) / 1e9, calm ? "; no faults" : "");
        return text;
    }

private:
    void draw_shape(random_source& random)
    {
        hosts = static_cast<int>(random.between(2, 5));
        names = random.chance(300) ? 2 : 1;
        kind = static_cast<store_kind>(random.below(3));
        in_step = random.chance(700);
        notifies = random.chance(400);
        fixed_owners = random.chance(250);
        calm = random.chance(100);
        constexpr std::array<std::int64_t, 4> ttls{100, 500, 3000, 10000};
        ttl = ttls[static_cast<std::size_t>(random.below(4))] * ms;
        constexpr std::array<std::int64_t, 4> parts{10, 10, 4, 20};
        margin_part = parts[static_cast<std::size_t>(random.below(4))];
        min_hold = random.chance(250) ? random.between(ttl / 10, ttl * 2) : 0;
        call_timeout = random.between(calm ? ttl / 2 : ttl / 20, ttl * 5 / 4);
        quick_delay = calm ? ttl / 400 : random.between(ttl / 1000 + 50'000, ttl / 20);
        fault_end = ttl * random.between(3, 8);
    }

    // Some kinds of fault in each schedule, seldom all: what one hides another shows.
    void draw_faults(random_source& random)
    {
        const auto some = [&random, this](std::int64_t most) {
            return !calm && random.chance(400) ? random.between(1, most) : 0;
        };
        lost_request = some(200);
        lost_reply = some(200);
        duplicate = some(150);
        slow = some(150);
        broken_connection = some(150);
        refused = some(150);
        at_clock = {some(12), ttl * 2, fault_end};
        freezes = static_cast<int>(some(4));
        crashes = static_cast<int>(some(3));
        server_freezes = static_cast<int>(some(2));
        server_restarts = static_cast<int>(some(2));
    }

    // (ttl - margin) of the slowest holder must not be longer than ttl of the fastest server, for a ttl that renew() made
    // half as long again while the margin stayed: drift <= m / (2 - m), m being margin / longest ttl. A quarter of that
    // where the clock of the server may also jump, by what is left.
    void draw_clocks(random_source& random)
    {
        drift_ppm = 1'000'000 * 2 / (3 * margin_part * 2 - 2) - 100;
        const bool jumps = !calm && random.chance(200);
        if (!jumps) return;
        drift_ppm /= 4;
        const std::int64_t shortest = ttl / 2, margin = shortest / margin_part;
        const std::int64_t lost_by_drift = shortest * 3 / 2 / 1'000'000 * (2 * drift_ppm + drift_ppm * drift_ppm / 250'000);
        const std::int64_t covered = margin - lost_by_drift - 1000;
        if (random.chance(300)) {
            jump = random.between(margin, ttl * 3);
            trust_is_promised = false;
        } else {
            jump = random.chance(700) ? random.between(covered / 2, covered) : -random.between(1, ttl * 3);
        }
    }
};

}  // namespace sim

#endif
