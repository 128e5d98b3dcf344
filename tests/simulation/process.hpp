// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_PROCESS_HPP
#define LEASEHOLD_TESTS_SIMULATION_PROCESS_HPP

#include "fiber.hpp"

#include <leasehold/time_point.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sim {

// Nanoseconds of the simulation's own time, which no process sees.
using instant = std::int64_t;
inline constexpr instant never = std::numeric_limits<instant>::max();

// A monotonic clock that runs too fast or too slow by so many parts per million, from a start of its own.
struct drifting_clock {
    std::int64_t offset = 0;
    std::int64_t ppm = 0;

    [[nodiscard]] std::int64_t at(instant t) const noexcept
    {
        return offset + t + t / 1'000'000 * ppm + t % 1'000'000 * ppm / 1'000'000;
    }

    // The first instant at which it shows `local` or more.
    [[nodiscard]] instant when(std::int64_t local) const noexcept
    {
        const std::int64_t rate = 1'000'000 + ppm, elapsed = local - offset;
        instant t = elapsed / rate * 1'000'000 + elapsed % rate * 1'000'000 / rate;
        while (at(t) >= local) --t;
        while (at(t) < local) ++t;
        return t;
    }
};

// One run of the program on a host. After a crash it is not run any more, and its successor is another process.
struct process {
    int index = 0;
    int host = 0;
    std::string label;
    drifting_clock clock;
    instant frozen_until = 0;
    std::int64_t frozen_total = 0;  // how long it has been frozen so far
    bool dead = false;
    std::vector<fiber*> waiting;  // for a waker
    std::uint64_t history = 0;    // stands for all that it has seen and done: see scheduler::affect()

    [[nodiscard]] leasehold::time_point now(instant t) const noexcept
    {
        return leasehold::time_point{leasehold::duration{clock.at(t)}};
    }
};

}  // namespace sim

#endif
