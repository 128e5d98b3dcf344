// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_GUARD_CHECKS_HPP
#define LEASEHOLD_TESTS_SIMULATION_GUARD_CHECKS_HPP

#include "guard_monitors.hpp"
#include "stopwatch.hpp"
#include "world.hpp"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>

// What every program does with a lease and its guard, and what must come of it.
namespace sim {

// So that the engine is there from here on: a wait that has been cancelled already asks nobody.
inline void start_engine(lease& right)
{
    const no_freeze here;  // the first connection takes a lock of all processes
    std::stop_source cancelled;
    cancelled.request_stop();
    std::error_code ec;
    static_cast<void>(right.acquire(cancelled.get_token(), ec));
}

inline bool believes_in(const guard& g)
{
    const no_freeze here;
    return g.held();
}

// A leader gives the term's token to others: they must not go on when another may lead.
inline void check_told(world& w, const process& self, const std::optional<std::stop_token>& helpers)
{
    if (helpers && !helpers->stop_requested())
        w.fail("helpers are told that leading is over", self.label + " stepped down and told nobody");
}

struct held_name {
    int name;
    int owner;
    std::int64_t min_hold;
    instant granted;  // when the guard was handed out
};

// Releases the guard. `lost`: the token of its losses, or none.
inline void give_back(world& w, const process& self, guard& g, const held_name& of, const std::stop_token& lost)
{
    const std::int64_t token = g.token().value();
    const bool before = believes_in(g);
    const stopwatch watch{w, self};
    std::error_code ec;
    const bool released = g.release(ec) == leasehold::release_outcome::released;
    watch.check(0, 1);
    w.tell(self, 'u', token, [&] {
        return "release of token " + std::to_string(token) + ": " + (ec ? ec.message() : released ? "released" : "lost already");
    });
    if (ec || !released) return;
    // A term that was lost keeps nothing closed. Both clocks may drift, and a stop while the clock is read makes the process think that
    // it began earlier.
    const plan& p = w.planned;
    if (before && p.at_clock.of_1024 == 0 && p.jump <= 0)
        w.judge.closed_until(of.name, token, of.granted + of.min_hold - of.min_hold / 1'000'000 * 3 * p.drift_ppm - ms);
    const row_view row = w.db.look(of.name);
    if (row.live && row.token == token && row.owner == of.owner)
        w.fail("released means free", self.label + " released token " + std::to_string(token) + ", and still holds it in the store");
    if (before && lost.stop_requested()) w.fail("a release is no loss", self.label + " was told of a loss by its own release");
}

}  // namespace sim

#endif
