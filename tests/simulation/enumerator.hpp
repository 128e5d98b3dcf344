// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_ENUMERATOR_HPP
#define LEASEHOLD_TESTS_SIMULATION_ENUMERATOR_HPP

#include "chooser.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace sim {

class fault_kinds {
public:
    fault_kinds(std::initializer_list<fault_kind> all)
    {
        for (const fault_kind each : all) bits_ |= bit(each);
    }
    [[nodiscard]] bool has(fault_kind which) const noexcept { return (bits_ & bit(which)) != 0; }

private:
    static std::uint32_t bit(fault_kind which) noexcept { return std::uint32_t{1} << static_cast<unsigned>(which); }
    std::uint32_t bits_ = 0;
};

// What an enumeration leaves open.
struct choice_bounds {
    fault_kinds kinds;
    int faults = 0;                    // so many in one run, of whatever kinds
    int swaps = 0;                     // so often in one run a thread goes on before others of its process that come first
    std::int64_t latest = 0;           // a late message arrives within this time
    std::vector<std::int64_t> stops;   // a process is stopped for one of these times
};

// Gives every answer in turn, depth first. Each run repeats the answers of the run before, up to the last one that has an
// alternative left, and goes on with the first answer to each question from there.
class enumerator final : public chooser {
public:
    // Which answer was given to the question with this number; all others were answered with the first.
    using sparse_answers = std::vector<std::pair<std::size_t, std::size_t>>;

    enumerator(const choice_bounds& bounds, std::string world) : bounds_{bounds}, world_{std::move(world)} {}

    void begin_run()
    {
        asked_ = 0;
        faults_left_ = bounds_.faults;
        swaps_left_ = bounds_.swaps;
        over_ = false;
    }
    // From here on nothing is decided any more.
    void end_run() noexcept { over_ = true; }

    // To the next run; false when there is none left.
    bool advance()
    {
        while (!answers_.empty() && answers_.back().is_last()) answers_.pop_back();
        if (answers_.empty()) return false;
        ++answers_.back().given;
        return true;
    }

    // All that was to be repeated has been.
    [[nodiscard]] bool on_new_ground() const noexcept { return asked_ >= answers_.size(); }
    [[nodiscard]] int faults_left() const noexcept { return faults_left_; }
    [[nodiscard]] int swaps_left() const noexcept { return swaps_left_; }
    // So many answers the next run will repeat.
    [[nodiscard]] std::size_t repeated() const noexcept { return answers_.size(); }
    [[nodiscard]] std::size_t depth() const noexcept { return asked_; }
    // How many answers of this run's questions have not been tried yet.
    [[nodiscard]] std::uint64_t untried() const
    {
        std::uint64_t count = 0;
        for (const answer& a : answers_) count += a.of_one ? 0 : a.of - a.given - 1;
        return count;
    }

    // For one run that repeats another.
    void repeat(sparse_answers wanted) { wanted_ = std::move(wanted); }

    [[nodiscard]] bool enumerates() const noexcept override { return true; }
    std::uint64_t tie() override { return 0; }

    std::size_t one_of(std::size_t n) override
    {
        if (n <= 1 || over_) return 0;
        if (asked_ == answers_.size())
            answers_.push_back({static_cast<std::uint32_t>(wanted(asked_)), static_cast<std::uint32_t>(n), false});
        const answer& a = answers_[asked_];
        if (a.of != n || a.given >= n) not_repeatable();
        ++asked_;
        return a.given;
    }

    std::size_t one_of_or_first(std::size_t n) override
    {
        if (n <= 1 || over_) return 0;
        optional_ = asked_;
        return one_of(n);
    }
    void first_will_do() override { answers_[optional_].of_one = true; }

    std::size_t turn_of(std::size_t n) override
    {
        if (swaps_left_ == 0) return 0;
        const std::size_t chosen = one_of(n);
        if (chosen != 0) --swaps_left_;
        return chosen;
    }

    [[nodiscard]] bool swaps() const noexcept override { return swaps_left_ != 0; }
    bool maybe(std::int64_t) override { return one_of(2) == 1; }
    bool happens(fault_kind what, std::int64_t) override
    {
        if (faults_left_ == 0 || !bounds_.kinds.has(what) || one_of(2) == 0) return false;
        --faults_left_;
        return true;
    }
    bool lags(std::int64_t) override { return happens(fault_kind::lagging, 0); }
    // Orders matter, not how soon: what is not late takes no time.
    std::int64_t between(std::int64_t, std::int64_t) override { return 0; }
    std::int64_t late(std::int64_t, std::int64_t) override { return whenever + bounds_.latest; }
    std::int64_t stop(std::int64_t, std::int64_t) override { return bounds_.stops[one_of(bounds_.stops.size())]; }
    bool copy_is_late() override { return one_of(2) == 1; }

    [[nodiscard]] std::string replay() const override
    {
        std::string text;
        for (std::size_t i = 0; i < asked_; ++i)
            if (answers_[i].given != 0) text += (text.empty() ? "" : ",") + std::to_string(i) + '=' + std::to_string(answers_[i].given);
        return "simulate --explore " + world_ + " --faults " + std::to_string(bounds_.faults) + " --swaps " +
               std::to_string(bounds_.swaps) + " --replay " + (text.empty() ? "0=0" : text);
    }

private:
    struct answer {
        std::uint32_t given, of;
        bool of_one = false;  // the others would lead to nothing else
        [[nodiscard]] bool is_last() const noexcept { return of_one || given + 1 == of; }
    };

    [[nodiscard]] std::size_t wanted(std::size_t number) const
    {
        const auto found = std::ranges::find(wanted_, number, &std::pair<std::size_t, std::size_t>::first);
        return found == wanted_.end() ? 0 : found->second;
    }

    [[noreturn]] void not_repeatable() const
    {
        std::fprintf(stderr, "simulate: question %zu is not the one that was answered: these are answers to another world, or the world "
                     "depends on something besides its answers\n", asked_);
        std::exit(2);
    }

    choice_bounds bounds_;
    std::string world_;
    std::vector<answer> answers_;
    std::size_t asked_ = 0;
    std::size_t optional_ = 0;  // the last question of one_of_or_first()
    int faults_left_ = 0;
    int swaps_left_ = 0;
    bool over_ = false;
    sparse_answers wanted_;
};

}  // namespace sim

#endif
