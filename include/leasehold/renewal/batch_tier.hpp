// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_BATCH_TIER_HPP
#define LEASEHOLD_RENEWAL_BATCH_TIER_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

// Decides which renewals go to a batching_store together: pure functions, without terms and threads.
namespace leasehold::inline v0::renewal {

/// The largest number of renewals in one call, whatever the store says: the answer must come while other terms are still in
/// time.
inline constexpr std::size_t max_batch = 1000;

/// How many other renewals may share a renewal's call. More is cheaper, but one call that hangs, or one locked row, affects
/// all of them.
enum class batch_tier : std::uint8_t { none, some, many };

/// The batch_tier for a term that has `left` until its deadline, and had `planned` left when its first renewal was due. A
/// shared call takes at most half of the time left (see time_in_batch). So a renewal that comes back from it without an
/// answer shares its next call with fewer others, and the one after with none.
constexpr batch_tier tier_of(duration left, duration planned) noexcept
{
    if (left >= planned / 4 * 3) return batch_tier::many;
    return left >= planned / 8 * 3 ? batch_tier::some : batch_tier::none;
}

/// How many renewals one call may have if the store takes `limit`.
constexpr std::size_t largest_batch(batch_tier with, std::size_t limit) noexcept
{
    const std::size_t many = std::min(limit, max_batch);
    if (with == batch_tier::many) return std::max<std::size_t>(many, 1);
    return with == batch_tier::some ? std::max<std::size_t>(many / 16, 1) : 1;
}

/// How long a call may take if its terms have at least `left` until their deadlines.
constexpr duration time_in_batch(duration left) noexcept { return left / 2; }

/// The instants at which renewals to one store are due, so that they share calls. They are counted from an instant of the process, so that
/// processes are not due together.
struct renewal_grid {
    time_point origin;

    /// The last of the instants up to `at`, of which there is one in each `step`.
    [[nodiscard]] constexpr time_point before(time_point at, duration step) const noexcept
    {
        return step <= duration::zero() || at < origin ? at : at - (at - origin) % step;
    }
};

/// The step of the grid for a renewal that comes `pause` after the last: it goes early by an eighth of that at most, and by nothing if
/// the last one was on the grid.
constexpr duration step_of_first(duration pause) noexcept { return pause / 8; }

/// The same for a renewal that is tried again: early by a half at most. The pauses before these differ on purpose, so the step is a power
/// of two.
constexpr duration step_of_retry(duration pause) noexcept
{
    if (pause < duration{2}) return duration::zero();
    return duration{static_cast<duration::rep>(std::bit_floor(static_cast<std::uint64_t>(pause.count() / 2)))};
}

}  // namespace leasehold::inline v0::renewal

#endif
