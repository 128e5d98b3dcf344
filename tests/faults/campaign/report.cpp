// SPDX-License-Identifier: BSL-1.0
#include "check.hpp"

#include <cstdio>
#include <string>

namespace campaign {

namespace {

double seconds(instant time) { return static_cast<double>(time) / static_cast<double>(second); }

void print_faults(const figures& what)
{
    std::printf("  %-30s %6s %9s %7s  %18s  %18s\n", "fault", "times", "lasted", "errors", "longest no holder", "without excuse");
    int all = 0;
    for (const auto& [name, kind] : what.faults) {
        if (name == "wall_clock_off") {
            std::printf("  %-30s %6d\n", name.c_str(), kind.count);
        } else {
            std::printf("  %-30s %6d %7.1f s %7d  %16.2f s  %16.2f s\n", name.c_str(), kind.count, seconds(kind.time), kind.errors,
                        seconds(kind.longest_gap), seconds(kind.longest_recovery));
        }
        all += kind.count;
    }
    std::printf("  %-30s %6d\n", "all", all);
}

void print_calls(const figures& what)
{
    for (const auto& [name, kind] : what.calls) {
        std::string answers;
        for (const auto& [answer, count] : kind.answers)
            answers += (answers.empty() ? "" : ", ") + answer + " " + std::to_string(count);
        std::printf("  %-8s %7d calls, longest %.3f s, %d beyond the limit: %s\n", name.c_str(), kind.count,
                    seconds(kind.longest), kind.beyond_limit, answers.c_str());
    }
}

void print_holds(const hold_figures& holds)
{
    if (holds.told.empty()) return;
    std::string told;
    for (const auto& [answer, count] : holds.told) told += (told.empty() ? "" : ", ") + answer + " " + std::to_string(count);
    std::printf("  the name was held closed %d times (%s); holders asked: %d; grants inside: %d\n", holds.certain, told.c_str(),
                holds.asked, holds.grants_inside);
    const auto times = [](const char* what, const std::vector<instant>& took) {
        std::printf("  %s: %zu, median %.3f s, p99 %.3f s\n", what, took.size(), seconds(of_100(took, 50)), seconds(of_100(took, 99)));
    };
    times("waits of hold() where neither its operator nor all were hit", holds.waits);
    times("from the end of a hold to the next term", holds.openings);
}

void print_fires(const fire_figures& fires)
{
    if (fires.begun == 0) return;
    std::printf("  fires: %d begun, %d of them more than once, %d completed, %d perhaps, %d given up without a word\n", fires.begun,
                fires.begun_again, fires.completed, fires.perhaps_completed, fires.given_up_untold);
    for (const auto& [what, count] : fires.told) std::printf("  fires %s: %d\n", what.c_str(), count);
    std::printf("  from when a fire was due until it was completed: median %.3f s, p99 %.3f s\n", seconds(of_100(fires.lateness, 50)),
                seconds(of_100(fires.lateness, 99)));
}

}  // namespace

void print(const figures& what)
{
    constexpr std::size_t most_shown = 20;
    std::printf("  %s, %.0f s: %d terms, somebody seen to hold for %.0f %% of the time, longest without %.2f s\n",
                what.database.c_str(), seconds(what.length), what.terms,
                100 * seconds(what.held) / (what.length > 0 ? seconds(what.length) : 1), seconds(what.longest_gap));
    print_faults(what);
    print_calls(what);
    for (const auto& [name, effect] : what.effects)
        std::printf("  %s: %d times, %lld at most\n", name.c_str(), effect.first, static_cast<long long>(effect.second));
    for (const auto& [name, amount] : what.circumstances)
        std::printf("  circumstance: %s (%lld)\n", name.c_str(), static_cast<long long>(amount));
    if (what.leases > 0)
        std::printf("  leases of the crowd: %d, longest that nobody held one %.2f s\n", what.leases,
                    seconds(what.longest_gap_of_those));
    std::printf("  history: %zu calls answered, %zu without an answer, %zu perhaps sent more than once, %zu answers not judged;"
                " decided in %.2f s\n",
                what.history.answered, what.history.without_answer, what.history.repeated, what.history.not_judged, what.seconds_to_decide);
    std::printf("  losses signalled: %d, latest %.3f s after the deadline\n", what.signals, seconds(what.latest_signal));
    print_holds(what.holds);
    print_fires(what.fires);
    const auto hand_overs = [](const char* when, const std::vector<instant>& took) {
        std::printf("  hand-overs%s: %zu, median %.3f s, p99 %.3f s\n", when, took.size(), seconds(of_100(took, 50)),
                    seconds(of_100(took, 99)));
    };
    hand_overs("", what.hand_overs);
    hand_overs(" after a host was cut off", what.hand_overs_after_cut_off);
    std::printf("  calls while there was no database: %d errors, %d busy or granted\n", what.calls_in_outage,
                what.busy_in_outage);
    std::printf("  calls that claim to have written while nothing could be: %d\n", what.written_in_refusal);
    std::printf("  overlaps: %d   tokens out of order: %d   told too early that a term is over: %d   crashes: %d\n",
                what.overlaps, what.tokens_out_of_order, what.lost_too_early, what.crashes);
    for (std::size_t i = 0; i < what.objections.size() && i < most_shown; ++i)
        std::printf("  objection: %s\n", what.objections[i].c_str());
    if (what.objections.size() > most_shown) std::printf("  and %zu more\n", what.objections.size() - most_shown);
    std::printf("  the checker %s\n", what.objections.empty() ? "agrees" : "OBJECTS");
    std::fflush(stdout);
}

}  // namespace campaign
