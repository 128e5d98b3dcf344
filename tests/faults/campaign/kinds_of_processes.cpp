// SPDX-License-Identifier: BSL-1.0
// Faults of the contenders' processes.
#include "kinds.hpp"

#include <array>
#include <span>

namespace campaign {

namespace {

bool kill_contender(const scene& on, drawn_fault& fault)
{
    if (!on.processes.runs(fault.target)) return false;
    on.processes.kill(fault.target);
    return true;
}

void start_contender(const scene& on, const drawn_fault& fault, instant)
{
    on.processes.start(fault.target);
}

bool freeze_contender(const scene& on, drawn_fault& fault)
{
    if (!on.processes.runs(fault.target)) return false;
    on.processes.freeze(fault.target);
    return true;
}

void thaw_contender(const scene& on, const drawn_fault& fault, instant) { on.processes.thaw(fault.target); }

bool ask_contender_to_leave(const scene& on, drawn_fault& fault)
{
    if (!on.processes.runs(fault.target)) return false;
    on.processes.ask_to_leave(fault.target);
    return true;
}

void reap_and_start_contender(const scene& on, const drawn_fault& fault, instant)
{
    on.processes.reap(fault.target);
    start_contender(on, fault, 0);
}

constexpr auto sort = fault_lane::sort::processes;

constexpr auto kinds = std::to_array<fault_kind>({
    {"holder_killed", sort, place::anywhere, target::holder, 4, 50 * millisecond, 800 * millisecond,
     excused::nothing, &kill_contender, &start_contender},
    {"waiter_killed", sort, place::anywhere, target::waiter, 2, 50 * millisecond, 800 * millisecond,
     excused::nothing, &kill_contender, &start_contender},
    {"holder_frozen", sort, place::anywhere, target::holder, 3, 100 * millisecond, 4 * second, excused::nothing,
     &freeze_contender, &thaw_contender},
    {"waiter_frozen", sort, place::anywhere, target::waiter, 2, 100 * millisecond, 4 * second, excused::nothing,
     &freeze_contender, &thaw_contender},
    {"contender_leaves", sort, place::anywhere, target::anybody, 1, 100 * millisecond, 500 * millisecond,
     excused::nothing, &ask_contender_to_leave, &reap_and_start_contender},
});

}  // namespace

std::span<const fault_kind> kinds_of_processes() noexcept { return kinds; }

}  // namespace campaign
