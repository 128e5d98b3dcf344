// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_STOPWATCH_HPP
#define LEASEHOLD_TESTS_SIMULATION_STOPWATCH_HPP

#include "process.hpp"
#include "world.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <stop_token>
#include <string>

namespace sim {

// How long an operation takes, by the process's own clock.
class stopwatch {
public:
    stopwatch(world& w, const process& of) : world_{w}, of_{of}, begun_{now()}, frozen_{of.frozen_total} {}

    [[nodiscard]] std::int64_t elapsed() const { return now() - begun_; }

    // It may take the store's time-outs (so many), and as long as the process was stopped.
    void check(std::int64_t at_most, int calls) const
    {
        const std::int64_t stopped = (of_.frozen_total - frozen_) * 5 / 4;
        const std::int64_t allowed = at_most + calls * (world_.planned.call_timeout + 5 * ms) + stopped + 10 * ms;
        if (world_.time.draining() || elapsed() <= allowed) return;
        world_.fail("calls return in time", of_.label + ": " + seconds(elapsed()) + " for what may take " +
                                                seconds(at_most) + " and " + std::to_string(calls) + " calls");
    }

private:
    [[nodiscard]] std::int64_t now() const { return of_.clock.at(world_.time.now()); }

    world& world_;
    const process& of_;
    std::int64_t begun_;
    std::int64_t frozen_;
};

// Waits of one process that are cancelled after some time.
class cancellations {
public:
    cancellations(world& w, process& of) : world_{w}, of_{of} {}

    struct one {
        std::stop_source source;
        instant at = never;       // when it was cancelled
        std::int64_t frozen = 0;  // how long the process had been stopped by then
        [[nodiscard]] std::stop_token token() const { return source.get_token(); }
    };

    const one& after(std::int64_t how_long)
    {
        one& added = all_.emplace_back();
        if (world_.time.draining()) added.source.request_stop();
        world_.time.at(of_.clock.when(of_.clock.at(world_.time.now()) + how_long), &cancel, this, all_.size() - 1, &of_, true);
        return added;
    }

    // What was cancelled has returned: soon enough?
    void check(const one& cancelled) const
    {
        if (cancelled.at == never || world_.time.draining()) return;
        const plan& p = world_.planned;
        const std::int64_t late = of_.clock.at(world_.time.now()) - of_.clock.at(cancelled.at);
        const std::int64_t stopped = (of_.frozen_total - cancelled.frozen) * 5 / 4;
        if (late > 2 * (p.call_timeout + 5 * ms) + p.ttl + stopped)
            world_.fail("a cancelled wait ends", of_.label + " went on for " + seconds(late));
    }

    // The schedule is over: nothing waits any more.
    void cancel_all()
    {
        for (one& c : all_) c.source.request_stop();
    }

private:
    static void cancel(void* self, std::uint64_t number)
    {
        cancellations& c = *static_cast<cancellations*>(self);
        if (c.of_.dead) return;
        one& cancelled = c.all_[static_cast<std::size_t>(number)];
        c.world_.time.affect(c.of_);
        cancelled.at = c.world_.time.now();
        cancelled.frozen = c.of_.frozen_total - std::max<std::int64_t>(0, c.of_.frozen_until - cancelled.at);
        c.world_.tell(c.of_, 'c', 0, [] { return std::string{"is asked to stop"}; });
        cancelled.source.request_stop();
        c.world_.time.look_at_wakers(c.of_);
    }

    world& world_;
    process& of_;
    std::deque<one> all_;  // so that they stay where they are
};

}  // namespace sim

#endif
