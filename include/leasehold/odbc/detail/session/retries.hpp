// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_RETRIES_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_RETRIES_HPP

#include <leasehold/odbc/detail/driver/errors.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

namespace leasehold::inline v0::odbc::detail {

// The pause after the first connection that failed, and the longest; each is cut by up to a half by chance.
inline constexpr std::chrono::milliseconds first_reconnect_pause{20};
inline constexpr std::chrono::milliseconds longest_reconnect_pause{500};

// When a store may try to connect next: at once as long as connections succeed, one at a time and ever more rarely while they
// fail, so that a server which is starting is not kept from it by those who wait for it. A function of what happened and when.
class reconnect_schedule {
public:
    using time_point = std::chrono::steady_clock::time_point;

    [[nodiscard]] bool free() const noexcept { return pause_.count() == 0; }
    [[nodiscard]] time_point next() const noexcept { return next_; }

    // Somebody is trying now: nobody else until the pause is over. `chance`: any number.
    void trying(time_point now, std::uint64_t chance) noexcept
    {
        if (!free()) next_ = now + shortened(chance);
    }

    void failed(time_point now, std::uint64_t chance) noexcept
    {
        pause_ = free() ? first_reconnect_pause : std::min(pause_ * 2, longest_reconnect_pause);
        next_ = now + shortened(chance);
    }

    void succeeded() noexcept { pause_ = std::chrono::milliseconds::zero(); }

private:
    [[nodiscard]] std::chrono::microseconds shortened(std::uint64_t chance) const noexcept
    {
        const std::chrono::microseconds whole = pause_;
        return whole - whole * static_cast<int>(chance % 1024) / 2048;
    }

    std::chrono::milliseconds pause_{};
    time_point next_{};
};

// The turns of a store's sessions to connect. Thread-safe.
class connect_gate {
public:
    using time_point = reconnect_schedule::time_point;

    explicit connect_gate(std::minstd_rand::result_type seed) : random_{seed} {}

    // Nothing: it is this session's turn to try; then tell succeeded() or failed(). Otherwise why the last one failed: there is
    // no turn before the deadline.
    std::optional<report> wait_for_turn(time_point deadline)
    {
        std::unique_lock lock{mutex_};
        for (;;) {
            const time_point now = std::chrono::steady_clock::now();
            if (schedule_.free() || now >= schedule_.next()) {
                schedule_.trying(now, random_());
                return std::nullopt;
            }
            if (schedule_.next() >= deadline) return last_failure_;
            changed_.wait_until(lock, schedule_.next());
        }
    }

    void succeeded()
    {
        const std::lock_guard lock{mutex_};
        if (schedule_.free()) return;
        schedule_.succeeded();
        changed_.notify_all();
    }

    void failed(const report& why)
    {
        const std::lock_guard lock{mutex_};
        last_failure_ = why;
        schedule_.failed(std::chrono::steady_clock::now(), random_());
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    reconnect_schedule schedule_;
    std::minstd_rand random_;
    report last_failure_;
};

// Pauses between tries after a conflict: the first and the longest, each with jitter.
inline constexpr std::chrono::microseconds first_pause{500};
inline constexpr std::chrono::microseconds longest_pause{50'000};

// What a session waits before it tries again. Not thread-safe.
class retry_pause {
public:
    explicit retry_pause(std::uintptr_t seed) : random_{static_cast<std::minstd_rand::result_type>(seed)} {}

    // False where the next try would begin after the deadline, so that the call ends with what made it fail. Does not wait then,
    // unless this thread sleeps for longer than it asked for.
    bool before_next(int tries, std::chrono::steady_clock::time_point deadline)
    {
        const auto limit = std::min<std::chrono::microseconds>(first_pause * (1 << std::min(tries, 7)), longest_pause);
        const std::chrono::microseconds chosen{
            std::uniform_int_distribution<std::int64_t>{limit.count() / 4, limit.count()}(random_)};
        if (deadline - std::chrono::steady_clock::now() <= chosen) return false;
        std::this_thread::sleep_for(chosen);
        return std::chrono::steady_clock::now() < deadline;
    }

private:
    std::minstd_rand random_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
