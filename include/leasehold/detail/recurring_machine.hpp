// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_RECURRING_MACHINE_HPP
#define LEASEHOLD_DETAIL_RECURRING_MACHINE_HPP

#include <leasehold/detail/backoff.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fire_record.hpp>
#include <leasehold/recurring_options.hpp>
#include <leasehold/schedule/concept.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

// What becomes of the fires of a name: pure functions of its record, the schedule and the store's time, without I/O or a clock.
namespace leasehold::inline v0::detail {

struct fire_rules {
    leasehold::catch_up catch_up = leasehold::catch_up::last;
    int max_attempts = 0;  // 0: without a limit
    duration begin_within{};
    duration retry_min{};
    duration retry_max{};
};

enum class fire_action : std::uint8_t {
    rest,   // there is nothing to do before `until`
    begin,  // `fire` is due
    pass    // no fire is due, but fires have to be noted as missed or given up
};

struct fire_step {
    fire_action action = fire_action::rest;
    fire_time fire{};                     // rest: the next one to be begun; begin: this one
    fire_time until{};                    // rest
    int attempt = 0;                      // begin: the number of this attempt
    fire_time passed{};                   // begin, pass: no fire up to here needs work any more
    std::optional<fire_time> given_up{};  // pass: this one has been begun too often
};

// A name without a record starts here: no earlier fire needs work.
template <schedule Schedule>
constexpr fire_time before_the_last_fire(const Schedule& schedule, fire_time now)
{
    const std::optional<fire_time> last = last_fire(schedule, now);
    return last ? *last - duration{1} : now;
}

// `start`: where a name without a record starts.
template <schedule Schedule>
constexpr fire_step next_fire_step(const fire_record& record, const Schedule& schedule, const fire_rules& rules, fire_time start,
                                   fire_time now)
{
    const fire_time passed = record.passed.value_or(start);
    const fire_time first = schedule.next(passed);
    if (first > now) return {.fire = first, .until = first};
    const fire_time due = rules.catch_up == catch_up::all ? first : last_fire_after(schedule, now, passed);
    const bool is_open = record.open && record.open->fire == due;
    const int attempts = is_open ? record.open->attempts : 0;
    if (rules.max_attempts > 0 && attempts >= rules.max_attempts) return {.action = fire_action::pass, .passed = due, .given_up = due};
    if (rules.catch_up == catch_up::none && !is_open && now - due > rules.begin_within) return {.action = fire_action::pass, .passed = due};
    if (is_open && now < record.open->not_before) {
        // A later fire may come first, and take this one's place.
        const fire_time later = rules.catch_up == catch_up::all ? no_fire : fire_time{schedule.next(due)};
        return {.fire = due, .until = std::min(record.open->not_before, later)};
    }
    const fire_time before = due == first ? passed : last_fire_after(schedule, due - duration{1}, passed);
    return {.action = fire_action::begin, .fire = due, .attempt = attempts + 1, .passed = before};
}

// Whether the record has to be written before the work begins. Without a record, the next holder would not know of this fire.
constexpr bool notes_beginning(const fire_record& record, const fire_rules& rules, const fire_step& step) noexcept
{
    return rules.max_attempts > 0 || rules.catch_up == catch_up::none || record.passed != step.passed;
}

// Returns the fires that a step notes as missed, at most the last 1,000, in order. `passed`: no fire up to there needed work before.
template <schedule Schedule>
std::vector<fire_time> missed_fires(fire_time passed, const Schedule& schedule, const fire_step& step)
{
    constexpr std::size_t most = 1000;
    std::vector<fire_time> missed;
    for (fire_time end = step.passed; missed.size() < most;) {
        const fire_time last = last_fire_after(schedule, end, passed);
        if (last <= passed) break;
        if (last != step.given_up) missed.push_back(last);
        end = last - duration{1};
    }
    std::reverse(missed.begin(), missed.end());
    return missed;
}

// Returns the pause after this many attempts.
constexpr duration pause_after(int attempts, const fire_rules& rules) noexcept
{
    backoff pauses{rules.retry_min, rules.retry_max};
    duration pause = pauses.next();
    for (int i = 1; i < attempts && pause < rules.retry_max; ++i) pause = pauses.next();
    return pause;
}

// The records that follow a record. ----------------------------------------------------------------------------------------------------

inline fire_record begun(fire_record record, const fire_step& step)
{
    record.passed = step.passed;
    record.open = open_fire{step.fire, step.attempt, step.fire};
    return record;
}

inline fire_record passed_by(fire_record record, const fire_step& step)
{
    record.passed = step.passed;
    record.open.reset();
    return record;
}

inline fire_record completed(fire_record record, fire_time fire, fire_time now, std::string_view owner)
{
    record.passed = fire;
    record.last = completed_fire{fire, now, std::string{owner}};
    record.open.reset();
    return record;
}

// `before`: no fire up to there needs work any more.
inline fire_record failed(fire_record record, const fire_rules& rules, const fire_step& begun_by, fire_time now)
{
    if (rules.max_attempts > 0 && begun_by.attempt >= rules.max_attempts)
        return passed_by(std::move(record), {.action = fire_action::pass, .passed = begun_by.fire});
    record.passed = begun_by.passed;
    record.open = open_fire{begun_by.fire, begun_by.attempt, now + pause_after(begun_by.attempt, rules)};
    return record;
}

// Under another schedule, which begins with its next fire; with the next after a completed one, too, if the store's clock was set back.
inline fire_record rescheduled(fire_record record, std::string_view schedule_text, std::string_view owner, fire_time now)
{
    record.schedule = schedule_text;
    record.made_by = owner;
    record.passed = std::max(record.passed.value_or(now), now);
    record.open.reset();
    return record;
}

}  // namespace leasehold::inline v0::detail

#endif
