// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_BACKOFF_HPP
#define LEASEHOLD_DETAIL_BACKOFF_HPP

#include <leasehold/duration.hpp>

#include <algorithm>
#include <cstdint>

namespace leasehold::inline v0::detail {

// Pauses between attempts. They double from the shortest to the longest. With a seed, each is shortened by up to a half at
// random, so that callers that began at the same time do not all come back at the same time.
class backoff {
public:
    // Nobody else comes back at the same time: nothing is shortened.
    constexpr backoff(duration shortest, duration longest) noexcept
        : shortest_{shortest}, longest_{longest}, pause_{std::min(shortest, longest)}
    {
    }
    // `seed` makes the pauses random: use a different one for each caller.
    constexpr backoff(duration shortest, duration longest, std::uint64_t seed) noexcept
        : shortest_{shortest}, longest_{longest}, pause_{std::min(shortest, longest)}, random_{seed | 1U}
    {
    }

    constexpr duration next() noexcept
    {
        const duration pause = pause_;
        pause_ = pause < longest_ / 2 ? pause * 2 : longest_;
        random_ ^= random_ << 13U;  // George Marsaglia's xorshift
        random_ ^= random_ >> 7U;
        random_ ^= random_ << 17U;
        return pause - pause / 2 / 1024 * static_cast<int>(random_ & 1023U);
    }

    // Starts again with the shortest pause.
    constexpr void reset() noexcept { pause_ = std::min(shortest_, longest_); }

private:
    duration shortest_;
    duration longest_;
    duration pause_;
    std::uint64_t random_ = 0;  // which stays 0
};

}  // namespace leasehold::inline v0::detail

#endif
