// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_CONNECT_GATE_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_CONNECT_GATE_HPP

#include <leasehold/duration.hpp>
#include <leasehold/odbc/detail/driver/errors.hpp>
#include <leasehold/odbc/detail/pauses.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

namespace leasehold::inline v0::odbc::detail {

// When a store may try to connect next: at once as long as connections succeed, one at a time and ever more rarely while they
// fail, so that callers who wait for a server don't keep it from starting. A function of what happened and when.
class reconnect_schedule {
public:
    using time_point = std::chrono::steady_clock::time_point;

    explicit reconnect_schedule(const backoff& pauses) noexcept : pauses_{pauses} {}

    [[nodiscard]] bool free() const noexcept { return pause_ == duration::zero(); }
    [[nodiscard]] time_point next() const noexcept { return next_; }

    // One session is trying now: no other until the pause is over.
    void trying(time_point now) noexcept { next_ = now + std::chrono::duration_cast<time_point::duration>(pause_); }

    void failed(time_point now) noexcept
    {
        pause_ = pauses_.next();
        trying(now);
    }

    void succeeded() noexcept
    {
        pauses_.reset();
        pause_ = duration::zero();
    }

private:
    backoff pauses_;
    duration pause_{};
    time_point next_{};
};

// The turns of a store's sessions to connect. Thread-safe.
class connect_gate {
public:
    using time_point = reconnect_schedule::time_point;

    explicit connect_gate(std::uint64_t seed) : schedule_{{first_reconnect_pause, longest_reconnect_pause, seed}} {}

    // Returns nothing if it is this session's turn to try; then tell succeeded() or failed(). Otherwise returns why the last try failed:
    // there is no turn before the deadline, or is_wanted() says no. It is called before and after each pause, and must not block.
    template <class Predicate>
    std::optional<report> wait_for_turn(time_point deadline, Predicate is_wanted)
    {
        std::unique_lock lock{mutex_};
        for (bool pauses = false;;) {
            pauses = pauses || !schedule_.free();
            if (pauses && !is_wanted()) return last_failure_;
            const time_point now = std::chrono::steady_clock::now();
            if (schedule_.free() || now >= schedule_.next()) {
                schedule_.trying(now);
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

    void failed(const report& reason)
    {
        const std::lock_guard lock{mutex_};
        last_failure_ = reason;
        schedule_.failed(std::chrono::steady_clock::now());
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    reconnect_schedule schedule_;
    report last_failure_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
