// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_WORLD_HPP
#define LEASEHOLD_TESTS_SIMULATION_WORLD_HPP

#include "checker.hpp"
#include "plan.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "server.hpp"
#include "event_log.hpp"
#include "tally.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sim {

// Everything of one schedule that its parts share.
struct world {
    world(std::uint64_t seed, bool told)
        : random{seed}, wishes{random}, log{told}, time{random, seed}, db{wishes, time, judge, owners}
    {
    }

    random_source random;
    plan wishes;
    event_log log;
    scheduler time;
    checker judge;
    std::vector<std::string> owners;
    server db;
    tally faults;
    std::vector<std::unique_ptr<process>> processes;

    [[nodiscard]] bool faults_go_on() const noexcept { return time.now() < wishes.fault_end; }

    template <class Text>
    void tell(const process& who, char what, std::int64_t value, Text&& text)
    {
        if (!time.draining()) log.tell(time.now(), who.label, what, value, text);
    }
    template <class Text>
    void tell(const char* who, char what, std::int64_t value, Text&& text)
    {
        if (!time.draining()) log.tell(time.now(), who, what, value, text);
    }

    void fail(const char* rule, const std::string& details)
    {
        if (time.draining()) return;
        tell("CHECK", '!', 0, [&] { return std::string{"BROKEN: "} + rule + ": " + details; });
        judge.fail(rule, details);
    }

    int new_owner(const std::string& text)
    {
        owners.push_back(text);
        return static_cast<int>(owners.size()) - 1;
    }
};

}  // namespace sim

#endif
