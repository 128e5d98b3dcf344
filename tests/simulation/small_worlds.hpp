// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_SMALL_WORLDS_HPP
#define LEASEHOLD_TESTS_SIMULATION_SMALL_WORLDS_HPP

#include "small_world.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace sim {

// What all small worlds have in common. Times are such that renewals (a third of the ttl), tries (half of it), the end of a
// call and the end of a term fall together now and then: then all their orders are tried.
inline plan small_rules(store_kind kind)
{
    plan p;
    p.kind = kind;
    p.ttl = 1200 * ms;
    p.call_timeout = 300 * ms;
    p.fault_end = 2 * p.ttl;
    p.quick_delay = ms;
    p.drift_ppm = 52'000;
    p.slow_polls = true;
    return p;
}

inline choice_bounds small_bounds(int faults, fault_kinds kinds)
{
    return {kinds, faults, 0, 1500 * ms, {500 * ms, 1500 * ms}};
}

inline const fault_kinds& messages_go_wrong()
{
    static const fault_kinds kinds{fault_kind::lost_request, fault_kind::lost_reply, fault_kind::doubled, fault_kind::late};
    return kinds;
}

inline const fault_kinds& anything_goes_wrong()
{
    static const fault_kinds kinds{fault_kind::lost_request, fault_kind::lost_reply,        fault_kind::doubled,
                                   fault_kind::late,         fault_kind::broken_connection, fault_kind::refused,
                                   fault_kind::stopped,      fault_kind::crashed,           fault_kind::clock};
    return kinds;
}

// In a cluster whose nodes lag behind each other.
inline plan lagging_rules()
{
    plan p = small_rules(store_kind::compare_and_set);
    p.in_step = false;
    p.min_hold = p.ttl / 4;
    return p;
}

// A term that is longer by half has the same margin, which covers less drift.
inline plan other_ttl_rules()
{
    plan p = small_rules(store_kind::memory);
    p.drift_ppm = 34'000;
    return p;
}

// Two hosts that run a job once per fire.
inline void add_worlds_of_fires(std::vector<world_plan>& to)
{
    const auto memory = small_rules(store_kind::memory), compared = small_rules(store_kind::compare_and_set),
               single = small_rules(store_kind::single_statement);
    plan restarted = compared, blind = memory, unfenced = compared;
    restarted.fixed_owners = true;
    blind.saves_blindly = true;
    unfenced.fences_hold_nothing = true;
    const std::int64_t ttl = memory.ttl;
    const fire_plan once{.first = ttl / 2, .work = ttl / 2, .ends = ttl * 8};
    fire_plan without_record = once, saves = once, fails = once, given_up = once, two = once, missed = once, all = once, late = once,
              too_late = once, commits = once, at_the_deadline = once;
    without_record.recorded = false;
    saves.saves = true;
    commits.completes = at_the_deadline.completes = completion::in_transaction;
    commits.renews = at_the_deadline.renews = false;
    at_the_deadline.work = ttl * 9 / 10 - 5 * ms;
    saves.completes = completion::by_job;
    fails.failures = 1;
    given_up.failures = given_up.max_attempts = 2;
    two.count = missed.count = 2;
    two.period = missed.period = ttl;
    missed.first = -ttl;
    all = missed;
    all.catch_up = leasehold::catch_up::all;
    two.saves = true;
    late.catch_up = too_late.catch_up = leasehold::catch_up::none;
    late.begin_within = too_late.begin_within = ttl / 2;
    too_late.first = -2 * ttl;
    late.failures = 1;
    const auto any = small_bounds(1, anything_goes_wrong()), messages = small_bounds(1, messages_go_wrong()),
               failover = small_bounds(1, {fault_kind::failover}),
               broken = small_bounds(1, {fault_kind::broken_connection, fault_kind::late, fault_kind::doubled}),
               crashes = small_bounds(2, {fault_kind::crashed, fault_kind::lost_reply});
    const auto add = [&to](const char* name, const char* what, const plan& rules, const choice_bounds& bounds, bool quick,
                           const fire_plan& does) { to.push_back({name, what, rules, {}, bounds, quick, does}); };
    add("fire", "one fire, two hosts in run()", memory, any, true, once);
    add("fire-compared", "the same with compare-and-set statements", compared, any, false, once);
    add("fire-first", "a name without a record", single, any, true, without_record);
    add("fire-saves", "the job saves a checkpoint, completes its fire, and keeps the lease for a while", single, messages, true, saves);
    add("fire-broken", "the same, with connections that break", compared, broken, true, saves);
    add("fire-fails", "the job fails once", memory, any, false, fails);
    add("fire-given-up", "at most two attempts", memory, any, false, given_up);
    add("fire-killed", "hosts crash, and come back under their owner's name", restarted, crashes, true, once);
    add("fire-failover", "the store is gone for a while, and has lost nothing", memory, failover, true, once);
    add("fires-two", "one fire after the other, with a checkpoint of the job in each", memory, messages, false, two);
    add("fires-last", "two missed fires, the last of which is run", memory, any, true, missed);
    add("fires-all", "two missed fires, both run in order", memory, any, false, all);
    add("fires-none", "a fire whose job fails, and that is told as missed if it is too late", memory, messages, false, late);
    add("fire-too-late", "a missed fire that is told, and not run", memory, any, true, too_late);
    add("fire-commits", "the job completes its fire in its own transaction; nothing is renewed", compared, any, false, commits);
    add("fire-commits-single", "the same with single-statement grants", single, any, false, commits);
    add("fire-commits-late", "the same, at the end of a lease", compared,
        small_bounds(1, {fault_kind::late, fault_kind::lost_reply, fault_kind::stopped}), true, at_the_deadline);
    add("fire-unfenced", "a database whose fences hold nothing: a rule must break", unfenced, any, false, commits);
    add("fire-blind", "a store that saves whatever the token: a rule must break", blind, messages, false, saves);
}

// Hosts that share permits whose count changes.
inline void add_worlds_of_permits(std::vector<world_plan>& to)
{
    using enum permit_step::kind;
    plan memory = small_rules(store_kind::memory);
    memory.names = 2;  // all renewals of a process go together: threads that renew side by side would lead to too many orders
    memory.call_timeout += 10 * ms + 1;
    const std::int64_t ttl = memory.ttl;
    const auto lost = small_bounds(1, {fault_kind::lost_request, fault_kind::lost_reply}),
               stops = small_bounds(1, {fault_kind::stopped, fault_kind::crashed, fault_kind::clock});
    const auto add = [&to](const char* name, const char* what, const plan& rules, const choice_bounds& bounds, bool quick,
                           const permit_plan& does) { to.push_back({name, what, rules, {}, bounds, quick, std::nullopt, does}); };
    // A renewal comes at the same time, or, where something else goes wrong, a little earlier: both would be too many orders.
    const std::int64_t meets = ttl / 3, misses = ttl / 3 - 7 * ms, ends = ttl * 3;
    const auto none = small_bounds(0, {});
    const auto fewer = [&](std::int64_t at) {
        return permit_plan{{{2, false, {{takes, 2, 0, ttl * 13 / 6}}}, {2, false, {{takes, 1, ttl / 12}, {resizes, 1, at}}}}, 2, ends};
    };
    const permit_plan more{{{1, false, {{takes, 1, 0, ttl / 2}, {waits, 2, ttl / 2, ttl / 4}}},
                            {1, false, {{takes, 1, ttl / 12}, {resizes, 2, misses}, {takes, 1, misses, ttl / 2}}}},
                           2,
                           ends};
    const permit_plan twice{
        {{3, false, {{takes, 3, 0, ttl}}}, {3, false, {{takes, 1, ttl / 12}, {resizes, 2, meets}, {resizes, 1, meets}}}}, 3, ends};
    const permit_plan some{{{3, false, {{waits, 2, 0, ttl / 2}}}, {3, false, {{waits, 2, 0, ttl / 2}}}}, 3, ends};
    const permit_plan old{
        {{2, false, {{takes}, {resizes, 1, meets}}}, {2, false, {{takes, 1, ttl / 12}, {takes, 2, meets, ttl / 3}}}}, 2, ends};
    add("permits-fewer", "two permits become one while both are held", memory, none, true, fewer(meets));
    add("permits-fewer-lost", "the same, and answers get lost", memory, lost, false, fewer(misses));
    add("permits-fewer-stops", "the same, and a process is stopped, or ends", memory, stops, false, fewer(misses));
    add("permits-more", "one permit becomes two while it is held, and answers get lost", memory, lost, true, more);
    add("permits-more-stops", "the same, and a process is stopped, or ends", memory, stops, true, more);
    add("permits-twice", "three permits become two, and then one, while all are held", memory, lost, false, twice);
    add("permits-some", "two want two of three permits at once, and answers get lost", memory, lost, false, some);
    add("permits-old", "one takes both permits while the other makes them one", memory, none, true, old);
}

// Two that contend for a lease, and one that holds its name closed for a while. Where the store wakes nobody, the pauses of that one are
// drawn anew each time, so there would be no telling what comes next.
inline void add_worlds_of_holds(std::vector<world_plan>& to)
{
    plan wakes = small_rules(store_kind::memory), queue = small_rules(store_kind::single_statement);
    wakes.notifies = queue.notifies = true;
    const std::int64_t ttl = wakes.ttl;
    const contender_plan has_it{role::tries, 1, ttl / 2}, waits{role::waits, 1, ttl / 4};
    const auto lost = small_bounds(1, {fault_kind::lost_request, fault_kind::lost_reply});
    const hold_plan while_held{.at = ttl / 4, .period = ttl * 5 / 4};
    hold_plan opened = while_held;
    opened.opens_after = ttl / 2;
    const auto add = [&](const char* name, const char* what, const plan& rules, const choice_bounds& bounds, bool quick,
                         const hold_plan& does) {
        to.push_back({name, what, rules, {has_it, waits}, bounds, quick, std::nullopt, std::nullopt, does});
    };
    add("hold", "one has the name, one waits, and a third holds it closed; answers get lost", wakes, lost, true, while_held);
    add("hold-opened", "the same, and the name is opened before its time", wakes, lost, true, opened);
    add("hold-queue", "the same as hold, with session locks", queue, small_bounds(0, {}), true, while_held);
}

// One who looks at a name that another changes.
inline void add_worlds_of_observers(std::vector<world_plan>& to)
{
    const plan memory = small_rules(store_kind::memory);
    const std::int64_t step = memory.ttl / 6;
    const auto faults = [](int count) {
        return small_bounds(count, {fault_kind::lost_request, fault_kind::lost_reply, fault_kind::late, fault_kind::stopped});
    };
    const auto add = [&](const char* name, const char* what, int count, bool quick, const observed_plan& does) {
        to.push_back({name, what, memory, {}, faults(count), quick, std::nullopt, std::nullopt, std::nullopt, does});
    };
    add("observed", "one looks at a name, and another changes it in every way", 1, true, {4, step, step * 2, step * 3});
    add("observed-long", "the same, with more changes, longer terms and more looks", 1, false, {5, step, step * 3, step * 2});
}

// The catalogue. The last of each kind is broken on purpose.
inline const std::vector<world_plan>& small_worlds()
{
    static const std::vector<world_plan> all = [] {
        const std::int64_t ttl = small_rules(store_kind::memory).ttl;
        const contender_plan twice{role::tries, 2, ttl / 2, true}, once{role::tries, 1, ttl / 2}, renews{role::tries, 1, ttl * 3 / 2},
            starts{role::tries, 1, ttl / 2, false, false}, runs_out{role::tries, 1, ttl * 2, false, true, true},
            waits{role::waits, 1, ttl / 2}, two_try{role::tries, 1, ttl, false, true, false, 2},
            two_wait{role::waits, 1, ttl / 2, false, true, false, 2}, keeps{role::tries, 1, ttl * 5 / 2},
            cancels{role::cancels, 1, ttl / 2}, leads{role::leads, 1, ttl / 2}, permit{role::takes_permit, 1, ttl / 2},
            reads{role::reads, 1, ttl / 2}, writes{role::writes, 1, ttl / 2},
            forces{role::ends_by_hand, 1, ttl / 2}, one_tries_one_waits{.hold = ttl / 2, .tries = 1, .another_waits = true},
            steps_down{.does = role::leads, .hold = ttl / 2, .stops_after_leading = true};
        const auto memory = small_rules(store_kind::memory), compared = small_rules(store_kind::compare_and_set),
                   single = small_rules(store_kind::single_statement);
        plan queue = single, wakes = memory, closed = compared, closed_memory = memory, hangs = memory, restarted = compared,
             blind = compared, in_clock = memory;
        queue.notifies = wakes.notifies = true;
        closed.min_hold = closed_memory.min_hold = ttl;
        hangs.call_timeout = ttl;
        restarted.fixed_owners = true;
        blind.takes_blindly = true;
        in_clock.at_clock = {1, 0, in_clock.fault_end};
        const auto any = [](int faults) { return small_bounds(faults, anything_goes_wrong()); };
        const auto lags = [](int faults) { return small_bounds(faults, {fault_kind::lagging}); };
        const auto lost = [](int faults) { return small_bounds(faults, {fault_kind::lost_request, fault_kind::lost_reply}); };
        const auto messages = [](int faults) { return small_bounds(faults, messages_go_wrong()); };
        const contender_plan brief{role::tries, 2, 0}, other_ttls{.hold = ttl * 3 / 2, .other_ttls = true},
            long_permit{role::takes_permit, 1, ttl * 3 / 2}, other_permit{.does = role::takes_permit, .hold = ttl / 2, .permits = 2};
        const choice_bounds crashes = small_bounds(2, {fault_kind::crashed, fault_kind::lost_reply});
        // The stop in the middle outlasts the deadline, and not the extension of a renewal that was answered before it.
        choice_bounds in_clocks = small_bounds(1, {fault_kind::stopped_in_clock});
        in_clocks.stops = {500 * ms, 900 * ms, 1500 * ms};
        choice_bounds swapped = messages(1);
        swapped.swaps = 1;
        std::vector<world_plan> worlds{
            {"memory", "memory_store: try, hold, renew, release", memory, {once, once}, any(1), true},
            {"compared", "compare-and-set statements: the same", compared, {once, once}, any(1), true},
            {"single", "single-statement grants: the same", single, {once, once}, any(1), true},
            {"terms", "two terms and one, each with a fenced write", compared, {twice, once}, messages(1), false},
            {"renewed", "a term that is renewed four times; the other tries to get it", compared, {renews, once}, any(1), true},
            {"ttls", "a term is renewed by a longer ttl, and then by a shorter one", other_ttl_rules(), {other_ttls, once}, any(1), true},
            {"lags", "short terms, closed by min_hold; a node of the cluster lags behind", lagging_rules(), {brief, once}, lags(2), true},
            {"runs-out", "a term that is renewed once, and then not any more", compared, {runs_out, once}, any(1), true},
            {"closed", "min_hold keeps it closed", closed, {once, once}, any(1), true},
            {"closed-own",
             "the same in memory_store, and the owner that released it tries again",
             closed_memory,
             {twice, once},
             any(1),
             true},
            {"forced", "a person ends a term by force_release()", memory, {renews, forces}, any(1), true},
            {"hangs", "a call without an answer ends after the deadline", hangs, {renews, once}, any(1), true},
            {"restarted", "processes crash, and come back under their owner's name", restarted, {once, once}, crashes, true},
            {"in-clock", "a process is stopped while it reads its clock", in_clock, {renews, once}, in_clocks, true},
            {"one-object", "two threads try through one lease object, and a process", compared, {two_try, once}, messages(1), false},
            {"one-waits", "two threads wait through one lease object, and a process", memory, {two_wait, waits}, messages(1), true},
            {"beside",
             "a thread waits while another makes one attempt through the same object",
             memory,
             {one_tries_one_waits, keeps},
             any(1),
             true},
            {"cancelled", "a wait is cancelled while the other holds", memory, {keeps, cancels}, any(1), true},
            {"waiting", "both wait, and poll", memory, {waits, waits}, any(1), true},
            {"woken", "both wait; a release wakes them", wakes, {waits, waits}, messages(1), true},
            {"queue", "both wait in the queue for the session lock", queue, {waits, waits}, messages(1), true},
            {"election", "one leads, then the other", memory, {steps_down, leads}, any(1), true},
            {"permit", "one permit for two", memory, {permit, permit}, messages(1), false},
            {"counts", "two semaphores of one name do not agree on the count", memory, {long_permit, other_permit}, lost(1), true},
            {"late-count", "the same, with messages that are late or doubled", memory, {long_permit, other_permit}, messages(1), false},
            {"shared", "a reader and a writer", memory, {reads, writes}, messages(0), true},
            {"starts", "the first call comes while the engine's threads start", memory, {starts, starts}, any(1), false},
            {"threads", "threads of a process overtake each other", compared, {once, once}, swapped, false},
            {"memory-2", "memory, and two faults of messages", memory, {once, once}, messages(2), false},
            {"single-2", "single, and two faults of messages", single, {once, once}, messages(2), false},
            {"broken", "a database whose take-over compares nothing: a rule must break", blind, {twice, once}, small_bounds(0, {}), false}};
        add_worlds_of_fires(worlds);
        add_worlds_of_permits(worlds);
        add_worlds_of_holds(worlds);
        add_worlds_of_observers(worlds);
        return worlds;
    }();
    return all;
}

// Null: there is none of this name.
inline const world_plan* small_world_named(std::string_view name)
{
    for (const world_plan& each : small_worlds())
        if (name == each.name) return &each;
    return nullptr;
}

}  // namespace sim

#endif
