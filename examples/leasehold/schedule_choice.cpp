// SPDX-License-Identifier: BSL-1.0
#include "schedule_choice.hpp"

#include "duration_text.hpp"
#include "exit_code.hpp"
#include "failure.hpp"

#include <leasehold/fire_record.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace tool {

namespace {

using leasehold::duration;
using namespace std::chrono_literals;

// Two digits; -1 for anything else.
int two_digits(std::string_view text)
{
    int number = -1;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    return text.size() == 2 && wrong == std::errc{} && end == text.data() + text.size() ? number : -1;
}

}  // namespace

duration parse_time_of_period(std::string_view text)
{
    if (text.find(':') == std::string_view::npos) return parse_duration(text);
    const bool with_seconds = text.size() == 8 && text[5] == ':';
    const int hours = two_digits(text.substr(0, 2));
    const int minutes = text.size() >= 5 && text[2] == ':' ? two_digits(text.substr(3, 2)) : -1;
    const int seconds = with_seconds ? two_digits(text.substr(6, 2)) : 0;
    if ((text.size() != 5 && !with_seconds) || hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 59)
        throw failure{exit_code::usage, "--at: '" + std::string{text} +
                                            "' is no time of day: write 03:00 or 03:00:30, in UTC, or a duration after the beginning of"
                                            " --once-per, as in 15m"};
    return std::chrono::hours{hours} + std::chrono::minutes{minutes} + std::chrono::seconds{seconds};
}

chosen_schedule choose_schedule(const asked_schedule& asked)
{
    if (asked.cron) return chosen_schedule{leasehold::cron{*asked.cron}};
    if (!asked.once_per) throw failure{exit_code::usage, "--at goes with --once-per, as in --once-per 24h --at 03:00"};
    const leasehold::every when{.period = *asked.once_per, .at = asked.at ? parse_time_of_period(*asked.at) : duration::zero()};
    if (asked.once_per && *asked.once_per < 1s) throw failure{exit_code::usage, "--once-per must be at least 1s"};
    if (when.at >= when.period)
        throw failure{exit_code::usage, "--at " + *asked.at + " is not within --once-per " + to_text(*asked.once_per) +
                                            ": it says how long after the beginning of each such time"};
    if (const char* rule = when.broken_rule()) throw failure{exit_code::usage, rule};
    return chosen_schedule{when};
}

duration earliness(const chosen_schedule& of, leasehold::fire_time next)
{
    const leasehold::fire_time second = of.next(next);
    return std::min<duration>(10min, second == leasehold::no_fire ? duration::max() : (second - next) / 2);
}

std::string to_text(leasehold::fire_time fire)
{
    std::string text = leasehold::detail::written_time(fire);
    std::ranges::replace(text, 'T', ' ');
    return text.substr(0, text.size() - 1) + " UTC";
}

}  // namespace tool
