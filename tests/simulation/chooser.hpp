// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_CHOOSER_HPP
#define LEASEHOLD_TESTS_SIMULATION_CHOOSER_HPP

#include "random.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace sim {

enum class fault_kind : std::uint8_t {
    lost_request,
    lost_reply,
    doubled,
    late,
    broken_connection,
    refused,
    stopped,           // a process, before one of its steps
    stopped_in_clock,  // a process, while it reads its clock
    crashed,
    clock,   // of a process or of the server: as fast or as slow as the margin covers
    lagging,  // a node of the cluster, behind the last change of a row
    failover  // the server is gone for a while, and knows all when it is back
};

// Decides everything that a world leaves open: in which order, how soon, and what goes wrong. One model draws lots, the other
// tries every answer.
class chooser {
public:
    chooser() = default;
    chooser(const chooser&) = delete;
    chooser& operator=(const chooser&) = delete;
    virtual ~chooser() = default;

    // False: what happens at one instant is put in order by tie(). True: one_of() says what comes first.
    [[nodiscard]] virtual bool enumerates() const noexcept = 0;
    virtual std::uint64_t tie() = 0;

    // 0 to n - 1.
    virtual std::size_t one_of(std::size_t n) = 0;
    // The same where the first may do instead of all: if it turns out so, first_will_do() is called before the next question.
    virtual std::size_t one_of_or_first(std::size_t n) { return one_of(n); }
    virtual void first_will_do() {}
    // The same for the threads of one process that can go on: the first of them has been able to for the longest.
    virtual std::size_t turn_of(std::size_t n) = 0;
    // False: turn_of() gives the first.
    [[nodiscard]] virtual bool swaps() const noexcept { return true; }
    // Drawn in so many of 1,024 cases. No fault by itself.
    virtual bool maybe(std::int64_t of_1024) = 0;
    // Whether a fault happens; drawn in so many of 1,024 cases, and nothing is drawn where that is none.
    virtual bool happens(fault_kind what, std::int64_t of_1024) = 0;
    // Whether the node that gets a statement at this microsecond of the server's clock is one that lags behind.
    virtual bool lags(std::int64_t at_us) = 0;
    // How long something takes, both ends included.
    virtual std::int64_t between(std::int64_t low, std::int64_t high) = 0;
    // The same for a message that is late; or `whenever` and a bound: it arrives at any instant before, of those at which something
    // happens.
    virtual std::int64_t late(std::int64_t low, std::int64_t high) = 0;
    static constexpr std::int64_t whenever = std::int64_t{1} << 61U;
    // The same for a process that is stopped.
    virtual std::int64_t stop(std::int64_t low, std::int64_t high) = 0;
    // Whether the second copy of a message may be late although that is no fault of its own.
    virtual bool copy_is_late() = 0;

    // The command that lets the same happen again.
    [[nodiscard]] virtual std::string replay() const = 0;
};

// Draws lots, from a seed.
class random_chooser final : public chooser {
public:
    random_chooser(random_source& random, std::uint64_t seed) : random_{random}, seed_{seed} {}

    [[nodiscard]] bool enumerates() const noexcept override { return false; }
    std::uint64_t tie() override { return random_.next(); }
    std::size_t one_of(std::size_t n) override { return static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(n))); }
    std::size_t turn_of(std::size_t n) override { return one_of(n); }
    bool maybe(std::int64_t of_1024) override { return random_.chance(of_1024); }
    bool happens(fault_kind, std::int64_t of_1024) override { return random_.chance(of_1024); }
    // Not drawn, so that older seeds mean what they meant.
    bool lags(std::int64_t at_us) override { return at_us % 4 == 0; }
    std::int64_t between(std::int64_t low, std::int64_t high) override { return random_.between(low, high); }
    std::int64_t late(std::int64_t low, std::int64_t high) override { return random_.between(low, high); }
    std::int64_t stop(std::int64_t low, std::int64_t high) override { return random_.between(low, high); }
    bool copy_is_late() override { return false; }
    [[nodiscard]] std::string replay() const override { return "simulate --seed " + std::to_string(seed_) + " --trace"; }

private:
    random_source& random_;
    std::uint64_t seed_;
};

}  // namespace sim

#endif
