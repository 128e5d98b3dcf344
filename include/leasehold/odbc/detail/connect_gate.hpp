// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_CONNECT_GATE_HPP
#define LEASEHOLD_ODBC_DETAIL_CONNECT_GATE_HPP

#include <leasehold/odbc/detail/reconnect_schedule.hpp>
#include <leasehold/odbc/detail/report.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

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

}  // namespace leasehold::inline v0::odbc::detail

#endif
