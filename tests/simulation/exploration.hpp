// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_EXPLORATION_HPP
#define LEASEHOLD_TESTS_SIMULATION_EXPLORATION_HPP

#include "small_world.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace sim {

// What an exploration has seen, and whether that was all.
struct exploration {
    int faults = 0;            // so many in one run at most
    bool complete = false;     // nothing is left
    std::uint64_t untried = 0; // so many answers of the last run's questions were not tried; each may have led to many runs
    std::uint64_t runs = 0;
    std::uint64_t known = 0;     // of these, so many ended in a state that had been seen
    std::uint64_t questions = 0; // asked beyond what a run repeats
    std::size_t states = 0;
    std::size_t deepest = 0;  // questions of one run
    double seconds = 0;
    tally faults_made;
    outcome last;            // run
    std::string replay;      // of the last run, where it broke a rule
    std::set<std::uint64_t> ends;  // small_world::rows() of all runs that came to their end
};

// What some rules of the checks depend on follows from the faults.
inline world_plan with_faults(world_plan plan, int faults)
{
    plan.bounds.faults = faults;
    plan.rules.calm = faults == 0;
    plan.rules.refused = faults != 0 && plan.bounds.kinds.has(fault_kind::refused) ? 1 : 0;
    if (faults == 0) plan.rules.at_clock.of_1024 = 0;
    return plan;
}

// Tries all that can happen in `of` with up to so many faults in one run. Ends early where a rule breaks, after `limit` seconds
// (0: never), or when `*interrupted`.
inline exploration explore(const world_plan& of, int faults, double limit = 0, const volatile std::sig_atomic_t* interrupted = nullptr,
                           const reductions& reduced = {})
{
    using real = std::chrono::steady_clock;
    const auto begun = real::now();
    const world_plan plan = with_faults(of, faults);
    enumerator choose{plan.bounds, plan.name};
    visited_states seen;
    exploration found;
    found.faults = faults;
    bool more = true;
    while (more) {
        const std::size_t repeated = choose.repeated();
        choose.begin_run();
        small_world world{plan, choose, false, reduced};
        found.last = world.run(reduced.states ? &seen : nullptr);
        ++found.runs;
        if (world.known())
            ++found.known;
        else
            found.ends.insert(world.rows());
        found.deepest = std::max(found.deepest, choose.depth());
        found.questions += choose.depth() - std::min(choose.depth(), repeated);
        found.faults_made.add(found.last.faults);
        found.seconds = std::chrono::duration<double>(real::now() - begun).count();
        if (found.last.broken_rule != nullptr) {
            found.replay = choose.replay();
            break;
        }
        if ((limit > 0 && found.seconds >= limit) || (interrupted != nullptr && *interrupted != 0)) {
            found.complete = !choose.advance();
            break;
        }
        more = choose.advance();
        found.complete = !more;
    }
    found.untried = found.complete ? 0 : choose.untried();
    found.states = seen.size();
    return found;
}

// The one run with these answers.
inline outcome repeat(const world_plan& of, int faults, const enumerator::sparse_answers& answers, bool told)
{
    const world_plan plan = with_faults(of, faults);
    enumerator choose{plan.bounds, plan.name};
    choose.repeat(answers);
    choose.begin_run();
    return small_world{plan, choose, told}.run(nullptr);
}

}  // namespace sim

#endif
