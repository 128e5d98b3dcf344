// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_RETRY_PAUSE_HPP
#define LEASEHOLD_ODBC_DETAIL_RETRY_PAUSE_HPP

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>

namespace leasehold::inline v0::odbc::detail {

// Pauses between tries after a conflict: the first and the longest, each with jitter.
inline constexpr std::chrono::microseconds first_pause{500};
inline constexpr std::chrono::microseconds longest_pause{50'000};

// What a session waits before it tries again. Not thread-safe.
class retry_pause {
public:
    explicit retry_pause(std::uintptr_t seed) : random_{static_cast<std::minstd_rand::result_type>(seed)} {}

    // False, without waiting, where the next try would begin after the deadline.
    bool before_next(int tries, std::chrono::steady_clock::time_point deadline)
    {
        const auto limit = std::min<std::chrono::microseconds>(first_pause * (1 << std::min(tries, 7)), longest_pause);
        const std::chrono::microseconds chosen{
            std::uniform_int_distribution<std::int64_t>{limit.count() / 4, limit.count()}(random_)};
        if (deadline - std::chrono::steady_clock::now() <= chosen) return false;
        std::this_thread::sleep_for(chosen);
        return true;
    }

private:
    std::minstd_rand random_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
