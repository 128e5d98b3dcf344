// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_TURN_PATIENCE_HPP
#define LEASEHOLD_ODBC_DETAIL_TURN_PATIENCE_HPP

#include <algorithm>
#include <atomic>
#include <chrono>

namespace leasehold::inline v0::odbc::detail {

// How long a waiter leaves a free name to whoever has its session lock: as long as the lock is worth. A lock that is stuck (with
// a frozen process, or left behind by a pooler) would otherwise cost every hand-over the longest patience. Thread-safe.
class turn_patience {
public:
    static constexpr std::chrono::milliseconds longest{250};
    static constexpr std::chrono::milliseconds shortest{4};

    [[nodiscard]] std::chrono::milliseconds now() const noexcept { return now_; }
    // Whether locks have been worth waiting for, the last time.
    [[nodiscard]] bool is_whole() const noexcept { return now() == longest; }

    // Nobody came, and the name was taken out of turn.
    void was_in_vain() noexcept { now_ = std::max(now_.load() / 4, shortest); }
    // A turn was handed over by the lock.
    void was_worth_it() noexcept { now_ = longest; }

private:
    std::atomic<std::chrono::milliseconds> now_{longest};
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
