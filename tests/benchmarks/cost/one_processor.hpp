// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_COST_ONE_PROCESSOR_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_COST_ONE_PROCESSOR_HPP

#include <cerrno>
#include <system_error>

#include <sched.h>

namespace cost {

/// From here on this thread, and whatever it starts, servers too, run on one of the processors that it may run on: the last,
/// for the first has most of the interrupts.
inline void stay_on_one_processor()
{
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) throw std::system_error{errno, std::generic_category(), "sched_getaffinity"};
    unsigned last = 0;
    for (unsigned i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &allowed)) last = i;
    CPU_SET(last, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) throw std::system_error{errno, std::generic_category(), "sched_setaffinity"};
}

}  // namespace cost

#endif
