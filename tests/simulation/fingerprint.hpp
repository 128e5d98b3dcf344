// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_FINGERPRINT_HPP
#define LEASEHOLD_TESTS_SIMULATION_FINGERPRINT_HPP

#include <cstdint>

namespace sim {

// Adds `x` to what a fingerprint stands for, in order.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t print, std::uint64_t x) noexcept
{
    std::uint64_t z = (print ^ (print >> 29U)) * 0x9E3779B97F4A7C15ULL + x + 0x632BE59BD9B4E019ULL;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
}

template <class... Parts>
[[nodiscard]] constexpr std::uint64_t mixed_all(std::uint64_t print, Parts... parts) noexcept
{
    ((print = mixed(print, static_cast<std::uint64_t>(parts))), ...);
    return print;
}

}  // namespace sim

#endif
