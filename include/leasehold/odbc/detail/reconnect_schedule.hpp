// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_RECONNECT_SCHEDULE_HPP
#define LEASEHOLD_ODBC_DETAIL_RECONNECT_SCHEDULE_HPP

#include <algorithm>
#include <chrono>
#include <cstdint>

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

}  // namespace leasehold::inline v0::odbc::detail

#endif
