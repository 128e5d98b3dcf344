// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_WORLD_HPP
#define LEASEHOLD_TESTS_SIMULATION_WORLD_HPP

#include "checker.hpp"
#include "chooser.hpp"
#include "fingerprint.hpp"
#include "plan.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "server.hpp"
#include "event_log.hpp"
#include "tally.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sim {

// Everything of one schedule that its parts share.
struct world {
    // Drawn from a seed.
    world(std::uint64_t seed, bool told)
        : random{seed}, drawn{random, seed}, choose{drawn}, planned{random}, log{told}, time{choose}, db{planned, time, judge, owners}
    {
    }
    // As planned, with what is left open decided by `by`.
    world(const plan& p, chooser& by, bool told)
        : random{0}, drawn{random, 0}, choose{by}, planned{p}, log{told}, time{choose}, db{planned, time, judge, owners}
    {
    }

    random_source random;  // not where all is enumerated
    random_chooser drawn;
    chooser& choose;
    plan planned;
    event_log log;
    scheduler time;
    checker judge;
    std::vector<std::string> owners;
    server db;
    tally faults;
    std::vector<std::unique_ptr<process>> processes;

    [[nodiscard]] bool faults_go_on() const noexcept { return time.now() < planned.fault_end; }

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

    // Equal for two worlds of one plan that can't be told apart from here on.
    [[nodiscard]] std::uint64_t fingerprint() const
    {
        std::uint64_t print = mixed_all(time.fingerprint(), db.fingerprint(), judge.fingerprint());
        for (const auto& p : processes) print = mixed_all(print, p->history, p->frozen_until, p->frozen_total, p->dead);
        return print;
    }

    // The number of the owner with this text.
    int owner(const std::string& text)
    {
        const auto found = std::ranges::find(owners, text);
        if (found != owners.end()) return static_cast<int>(found - owners.begin());
        owners.push_back(text);
        return static_cast<int>(owners.size()) - 1;
    }
};

}  // namespace sim

#endif
