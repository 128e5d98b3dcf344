// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_GATHERING_HPP
#define LEASEHOLD_RENEWAL_GATHERING_HPP

#include <leasehold/duration.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

// Which renewals go to a batching_store together: pure functions, no terms and no threads.
namespace leasehold::inline v0::renewal {

/// Most renewals in one call, whatever the store says: an answer is to come while others are still in time.
inline constexpr std::size_t max_batch = 1000;

/// How much company a renewal is sent in. More is cheaper, but one call that hangs, or one row that somebody has locked, takes
/// all of them with it.
enum class company : std::uint8_t { none, some, many };

/// Of a term that has `left` until its deadline, and had `planned` left when its first renewal was due. A call in company takes
/// half of the time left at most (see time_in_company), so what comes back from it without an answer has less company next, and
/// then none.
constexpr company company_of(duration left, duration planned) noexcept
{
    if (left >= planned / 4 * 3) return company::many;
    return left >= planned / 8 * 3 ? company::some : company::none;
}

/// How many renewals one call may have, where the store takes `limit`.
constexpr std::size_t most_together(company with, std::size_t limit) noexcept
{
    const std::size_t many = std::min(limit, max_batch);
    if (with == company::many) return std::max<std::size_t>(many, 1);
    return with == company::some ? std::max<std::size_t>(many / 16, 1) : 1;
}

/// How long a call may take whose terms have at least `left` until their deadlines.
constexpr duration time_in_company(duration left) noexcept { return left / 2; }

/// How much sooner than planned a renewal may go, to go along with others. `pause` lies between what happened last and the
/// renewal. At most an eighth more renewals come of it, and only until the terms have found each other: what has gone together
/// once is due together ever after.
constexpr duration lead_of_first(duration pause) noexcept { return pause / 8; }
/// The same for a renewal that is tried again. The pauses before are made different on purpose, for stores that can't batch.
constexpr duration lead_of_retry(duration pause) noexcept { return pause / 2; }

}  // namespace leasehold::inline v0::renewal

#endif
