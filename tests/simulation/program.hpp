// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_PROGRAM_HPP
#define LEASEHOLD_TESTS_SIMULATION_PROGRAM_HPP

#include "process.hpp"

namespace sim {

// What runs in each process of a small world. It draws nothing: all that differs from run to run is what happens to it.
class program {
public:
    program() = default;
    program(const program&) = delete;
    program& operator=(const program&) = delete;
    virtual ~program() = default;

    [[nodiscard]] virtual bool done() const noexcept = 0;
    [[nodiscard]] virtual const process& self() const noexcept = 0;
    virtual void cancel_all() = 0;
};

}  // namespace sim

#endif
