// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_RANDOM_HPP
#define LEASEHOLD_TESTS_SIMULATION_RANDOM_HPP

#include <cstdint>

namespace sim {

// Sebastiano Vigna's splitmix64: every decision of a schedule comes from one of these, in the order of its events.
class random_source {
public:
    explicit random_source(std::uint64_t seed) noexcept : state_{seed} {}

    std::uint64_t next() noexcept
    {
        std::uint64_t x = state_ += 0x9E3779B97F4A7C15ULL;
        x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
        x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
        return x ^ (x >> 31U);
    }

    // 0 to n - 1.
    std::int64_t below(std::int64_t n) noexcept
    {
        return n <= 1 ? 0 : static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
    }

    // Both ends included.
    std::int64_t between(std::int64_t low, std::int64_t high) noexcept { return low + below(high - low + 1); }

    // In so many of 1,024 cases. Draws nothing where that is none, so that switching a fault off changes little else.
    bool chance(std::int64_t of_1024) noexcept { return of_1024 > 0 && below(1024) < of_1024; }

private:
    std::uint64_t state_;
};

}  // namespace sim

#endif
