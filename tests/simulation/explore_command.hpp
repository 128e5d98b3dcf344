// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_EXPLORE_COMMAND_HPP
#define LEASEHOLD_TESTS_SIMULATION_EXPLORE_COMMAND_HPP

#include "exploration.hpp"
#include "small_worlds.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace sim {

struct explore_options {
    std::string world;          // or "all", "quick"; empty: nothing is explored
    std::optional<int> faults;  // else as the catalogue says
    std::optional<int> swaps;   // the same
    double limit = 0;           // seconds for each world; 0: none
    std::string replay;         // the answers of one run
};

// Empty: `text` is not what enumerator::replay() prints.
inline std::optional<enumerator::sparse_answers> answers_of(const std::string& text)
{
    enumerator::sparse_answers answers;
    const char* at = text.c_str();
    for (;;) {
        char* end = nullptr;
        const auto question = static_cast<std::size_t>(std::strtoull(at, &end, 10));
        if (end == at || *end != '=') return std::nullopt;
        at = end + 1;
        const auto answer = static_cast<std::size_t>(std::strtoull(at, &end, 10));
        if (end == at) return std::nullopt;
        answers.emplace_back(question, answer);
        if (*end == '\0') return answers;
        if (*end != ',') return std::nullopt;
        at = end + 1;
    }
}

inline void print_catalogue()
{
    for (const world_plan& each : small_worlds())
        std::printf("  %-10s %d %s%s\n", each.name, each.bounds.faults, each.quick ? "quick  " : "       ", each.what);
}

inline void print(const world_plan& of, const exploration& found)
{
    const auto number = [](auto n) { return static_cast<unsigned long long>(n); };
    std::printf(
        "%-10s faults %d, swaps %d: %llu runs (%llu ended in a known state), %llu choice points, %llu states, deepest path %llu choices, "
        "%llu terms lost, %llu calls timed out, %.1f s: ",
        of.name, found.faults, of.bounds.swaps, number(found.runs), number(found.known), number(found.questions), number(found.states),
        number(found.deepest), number(found.faults_made.losses), number(found.faults_made.timeouts), found.seconds);
    if (found.last.broken_rule != nullptr)
        std::printf("BROKEN: %s\n  %s\n  replay: %s\n", found.last.broken_rule, found.last.details.c_str(), found.replay.c_str());
    else if (found.complete)
        std::puts("complete, nothing was left");
    else
        std::printf("INCOMPLETE: %llu answers of the last run were left, and all that follows from them\n", number(found.untried));
    std::fflush(stdout);
}

inline world_plan with_swaps(world_plan world, const explore_options& chosen)
{
    world.bounds.swaps = chosen.swaps.value_or(world.bounds.swaps);
    return world;
}

// With 0 faults, then 1, and so on, so that what breaks a rule breaks it with as few as possible. Returns the exit status.
inline int explore_one(const world_plan& of, const explore_options& chosen, const volatile std::sig_atomic_t& interrupted)
{
    const world_plan world = with_swaps(of, chosen);
    for (int faults = 0; faults <= chosen.faults.value_or(world.bounds.faults); ++faults) {
        const exploration found = explore(world, faults, chosen.limit, &interrupted);
        print(world, found);
        if (found.last.broken_rule != nullptr) return 1;
        if (!found.complete) return 3;
    }
    return 0;
}

inline int explore_command(const explore_options& chosen, const volatile std::sig_atomic_t& interrupted)
{
    if (chosen.world == "all" || chosen.world == "quick") {
        int status = 0;
        for (const world_plan& each : small_worlds())
            if ((each.quick || (chosen.world == "all" && !each.is_broken())) && status != 1) {
                const int of_this = explore_one(each, chosen, interrupted);
                if (of_this != 0) status = of_this;
            }
        return status;
    }
    const world_plan* const world = small_world_named(chosen.world);
    if (world == nullptr) {
        std::fprintf(stderr, "simulate: there is no small world '%s'; there are all, quick, and these:\n", chosen.world.c_str());
        print_catalogue();
        return 2;
    }
    if (chosen.replay.empty()) return explore_one(*world, chosen, interrupted);
    const auto answers = answers_of(chosen.replay);
    if (!answers) {
        std::fputs("simulate: --replay needs what an exploration printed, as in 12=1,40=2\n", stderr);
        return 2;
    }
    const outcome result = repeat(with_swaps(*world, chosen), chosen.faults.value_or(world->bounds.faults), *answers, true);
    if (result.broken_rule != nullptr) std::printf("BROKEN: %s\n  %s\n", result.broken_rule, result.details.c_str());
    return result.broken_rule == nullptr ? 0 : 1;
}

}  // namespace sim

#endif
