// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SCHEDULE_CONCEPT_HPP
#define LEASEHOLD_SCHEDULE_CONCEPT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>

namespace leasehold::inline v0 {

/// An instant of a schedule, in UTC, on the store's clock.
///
/// Its unit is the library's duration, so that every coarser std::chrono::sys_time converts to it without a cast: sys_days, sys_seconds,
/// and system_clock's time points of the common standard libraries. Its range is 1677 to 2262.
using fire_time = std::chrono::sys_time<duration>;

/// What a schedule answers if no fire follows.
inline constexpr fire_time no_fire = fire_time::max();

/// When a job is due: the policy of a recurring.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.next(after) | fire_time, or a std::chrono::sys_time that converts to it | the first fire later than `after`, a fire_time; no_fire if there is none. The same answer on every host, at all times; must not decrease while `after` grows; must not throw |
///
/// An answer depends on nothing but `after`: hosts agree on a fire because they compute the same. Copies answer the same.
///
/// A schedule may have two more members. `s.text()`, a std::string of at most max_schedule_bytes without a line break, says what it is, as
/// in "cron 0 3 * * *": the record of the name contains it, so that two schedules under one name are refused. `s.broken_rule()`, a
/// const char*, says what is wrong with it, or is nullptr.
///
/// Minimal model: midnight, UTC.
///
///     struct at_midnight {
///         lh::fire_time next(lh::fire_time after) const noexcept
///         {
///             return std::chrono::floor<std::chrono::days>(after) + std::chrono::days{1};
///         }
///     };
template <class S>
concept schedule = std::copy_constructible<S> && requires(const S& s, fire_time after) {
    { s.next(after) } -> std::convertible_to<fire_time>;
};

/// The longest text of a schedule, in bytes of UTF-8.
inline constexpr std::size_t max_schedule_bytes = 200;

namespace detail {

template <class S>
concept schedule_with_text = schedule<S> && requires(const S& s) {
    { s.text() } -> std::convertible_to<std::string>;
};

template <class S>
concept schedule_with_rules = schedule<S> && requires(const S& s) {
    { s.broken_rule() } -> std::convertible_to<const char*>;
};

// The last fire at or before `now` that is later than `than`; `than` if there is none.
template <schedule S>
constexpr fire_time last_fire_after(const S& when, fire_time now, fire_time than)
{
    fire_time found = than;
    fire_time none_after = now;  // up to `now`
    // A schedule whose next fire is not later ends the search, too.
    for (fire_time following = when.next(found); following <= now && following > found; following = when.next(found)) {
        const fire_time middle = found + (none_after - found) / 2;
        const fire_time first = when.next(middle);
        if (first > now)
            none_after = middle;
        else
            found = first;
    }
    return found;
}

// The last fire at or before `now`, if there was one in the last hundred years.
template <schedule S>
constexpr std::optional<fire_time> last_fire(const S& when, fire_time now)
{
    constexpr std::chrono::hours century{24 * 36525};
    for (std::chrono::hours back{24}; back < century * 2; back *= 2) {
        const fire_time than = now - std::min(back, century);
        if (fire_time{when.next(than)} <= now) return last_fire_after(when, now, than);
    }
    return std::nullopt;
}

}  // namespace detail

/// Returns the same schedule. If it breaks one of its rules, the program does not compile.
///
///     constexpr auto at_three = lh::checked_schedule(lh::every{.period = 24h, .at = 3h});
template <detail::schedule_with_rules S>
consteval S checked_schedule(S when)
{
    if (const char* rule = when.broken_rule()) detail::raise_invalid(errc::invalid_terms, rule);
    return when;
}

}  // namespace leasehold::inline v0

#endif
