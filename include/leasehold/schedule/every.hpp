// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SCHEDULE_EVERY_HPP
#define LEASEHOLD_SCHEDULE_EVERY_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/schedule/concept.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace leasehold::inline v0 {

/// A schedule that fires at equal distances, in UTC: at the multiples of `period` since 1970-01-01 00:00, and `at` later.
///
///     lh::every{.period = 24h, .at = 3h}   // each day at 03:00 UTC
///     lh::every{.period = 15min}           // at :00, :15, :30 and :45
///
/// All hosts have the same fires, whenever they began. A week of 7 * 24h begins on a Thursday, as 1970 did.
struct every {
    /// The distance of two fires: 1 ms to 10 years.
    duration period = std::chrono::hours{24};
    /// How long after each multiple of the period: 0 or more, and shorter than the period.
    duration at{};

    /// See schedule.
    [[nodiscard]] constexpr fire_time next(fire_time after) const noexcept
    {
        if (broken_rule() != nullptr) return no_fire;
        const duration since = after.time_since_epoch();
        duration begun = since % period;  // since the last multiple of the period
        if (begun < duration::zero()) begun += period;
        const duration to_come = begun < at ? at - begun : period - begun + at;
        return since > duration::zero() && to_come > duration::max() - since ? no_fire : after + to_come;
    }

    /// The rule that it breaks, in words, or nullptr.
    [[nodiscard]] constexpr const char* broken_rule() const noexcept
    {
        if (period == duration::zero()) return "every: a period of 0 never ends: it must be at least 1 ms";
        if (period < std::chrono::milliseconds{1}) return "every: period must be at least 1 ms";
        if (period > std::chrono::hours{24 * 3650}) return "every: period must be at most 10 years (3650 days)";
        if (at < duration::zero()) return "every: at must not be negative";
        if (at >= period) return "every: at must be shorter than period: it says how long after each multiple of the period";
        return nullptr;
    }

    /// As in "every 1d at 3h".
    [[nodiscard]] std::string text() const
    {
        std::string text = "every " + in_units(period);
        return at == duration::zero() ? text : text + " at " + in_units(at);
    }

    friend constexpr bool operator==(const every&, const every&) = default;

private:
    static std::string in_units(duration length)
    {
        static constexpr std::array<std::pair<std::string_view, std::int64_t>, 7> units{{{"d", 86'400'000'000'000},
                                                                                          {"h", 3'600'000'000'000},
                                                                                          {"min", 60'000'000'000},
                                                                                          {"s", 1'000'000'000},
                                                                                          {"ms", 1'000'000},
                                                                                          {"us", 1'000},
                                                                                          {"ns", 1}}};
        std::string text;
        std::int64_t left = length.count();
        for (const auto& [unit, size] : units) {
            if (left / size == 0) continue;
            text += (text.empty() ? "" : " ") + std::to_string(left / size) + std::string{unit};
            left %= size;
        }
        return text.empty() ? "0s" : text;
    }
};

}  // namespace leasehold::inline v0

#endif
