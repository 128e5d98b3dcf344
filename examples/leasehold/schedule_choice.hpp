// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_SCHEDULE_CHOICE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_SCHEDULE_CHOICE_HPP

#include <leasehold/duration.hpp>
#include <leasehold/recurring_options.hpp>
#include <leasehold/schedule/concept.hpp>
#include <leasehold/schedule/cron.hpp>
#include <leasehold/schedule/every.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace tool {

/// When a command is due: by --once-per and --at, or by --cron.
class chosen_schedule {
public:
    explicit chosen_schedule(leasehold::every when) : when_{when} {}
    explicit chosen_schedule(leasehold::cron when) : when_{when} {}

    [[nodiscard]] leasehold::fire_time next(leasehold::fire_time after) const noexcept
    {
        const auto* const every = std::get_if<leasehold::every>(&when_);
        return every ? every->next(after) : std::get_if<leasehold::cron>(&when_)->next(after);
    }
    [[nodiscard]] std::string text() const
    {
        return std::visit([](const auto& of) { return of.text(); }, when_);
    }

private:
    std::variant<leasehold::every, leasehold::cron> when_;
};

/// What was said about a schedule.
struct asked_schedule {
    std::optional<leasehold::duration> once_per;
    std::optional<std::string> at;
    std::optional<std::string> cron;

    [[nodiscard]] bool given() const noexcept { return once_per || at || cron; }
};

/// Throws failure (exit_code::usage), saying which option must change and what it may be; std::system_error for a line of cron.
[[nodiscard]] chosen_schedule choose_schedule(const asked_schedule& asked);

/// "03:00", "03:00:30", or a duration: how long after the beginning of the period.
[[nodiscard]] leasehold::duration parse_time_of_period(std::string_view text);

/// How early a host may come for a fire that is still to come: then it waits, since clocks differ by minutes. Less where fires are close.
[[nodiscard]] leasehold::duration earliness(const chosen_schedule& of, leasehold::fire_time next);

/// As in "2026-11-25 03:00:00 UTC".
[[nodiscard]] std::string to_text(leasehold::fire_time fire);

}  // namespace tool

#endif
