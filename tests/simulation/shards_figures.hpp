// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_SHARDS_FIGURES_HPP
#define LEASEHOLD_TESTS_SIMULATION_SHARDS_FIGURES_HPP

#include "shards_timed.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

// How long members take to divide shards anew, and what moves meanwhile, in simulated time. A cycle is a third of the ttl; work drains at
// once.
namespace shards {

// What happens, and what was found in each run of it.
struct figure {
    const char* what;
    double cycles_at_most;  // the goals
    double moves_at_most;
    std::vector<double> cycles{};
    std::vector<double> moves{};

    void add(std::int64_t ms, std::size_t moved)
    {
        cycles.push_back(static_cast<double>(ms) / static_cast<double>(cycle_ms));
        moves.push_back(static_cast<double>(moved));
    }
    [[nodiscard]] double median() const
    {
        auto sorted = cycles;
        std::ranges::sort(sorted);
        return sorted[sorted.size() / 2];
    }
    [[nodiscard]] double worst() const { return *std::ranges::max_element(cycles); }
    [[nodiscard]] double most_moves() const { return *std::ranges::max_element(moves); }
    [[nodiscard]] bool met() const { return worst() <= cycles_at_most && most_moves() <= moves_at_most; }
};

class all_figures {
public:
    explicit all_figures(std::uint64_t seeds)
    {
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            join_and_kill(seed);
            kill_beside_one_that_hangs(seed);
            start(seed);
            restart(seed, true);
            restart(seed, false);
        }
    }

    [[nodiscard]] std::vector<const figure*> all() const
    {
        return {&join_, &kill_, &kill_beside_hung_, &start_, &leave_, &restart_, &restart_old_first_};
    }

private:
    static constexpr std::int64_t at_most = 20 * cycle_ms;
    static constexpr double any = std::numeric_limits<double>::infinity();

    static std::int64_t until_fair(timed_world& w)
    {
        return w.run_until([&w] { return w.fair(); }, at_most, "fair");
    }

    void join_and_kill(std::uint64_t seed)
    {
        timed_world w{64, seed};
        for (int m = 0; m < 3; ++m) w.join();
        until_fair(w);
        w.run_until(w.now() + 5 * cycle_ms + w.random().below(cycle_ms));
        const std::size_t before = w.moves();
        w.join();
        const std::int64_t joined = until_fair(w);
        w.run_until(w.now() + 10 * cycle_ms);
        join_.add(joined, w.moves() - before);
        const std::size_t at_kill = w.moves();
        w.kill(1);
        const std::int64_t taken = w.run_until([&w] { return w.all_owned(); }, at_most, "owned") - ttl_ms;
        w.run_until(w.now() + 10 * cycle_ms);
        kill_.add(taken, w.moves() - at_kill);
    }

    void kill_beside_one_that_hangs(std::uint64_t seed)
    {
        timed_world w{64, seed};
        for (int m = 0; m < 4; ++m) w.join();
        until_fair(w);
        w.run_until(w.now() + 5 * cycle_ms + w.random().below(cycle_ms));
        const std::size_t before = w.moves();
        w.hang(0);
        w.kill(1);
        const std::int64_t taken = w.run_until([&w] { return w.all_owned(); }, at_most, "owned") - ttl_ms;
        kill_beside_hung_.add(taken, w.moves() - before);
    }

    void start(std::uint64_t seed)
    {
        timed_world w{1024, seed};
        for (int m = 0; m < 16; ++m) w.join();
        const std::int64_t divided = until_fair(w);
        w.run_until(w.now() + 10 * cycle_ms);
        start_.add(divided, w.moves());
    }

    void restart(std::uint64_t seed, bool successor_joins_first)
    {
        timed_world w{64, seed};
        for (int m = 0; m < 4; ++m) w.join();
        until_fair(w);
        w.run_until(w.now() + 5 * cycle_ms);
        const std::size_t before = w.moves();
        const std::int64_t begun = w.now();
        const auto settle = [&w] {
            until_fair(w);
            w.run_until(w.now() + 2 * cycle_ms);
        };
        const auto join = [&] {
            w.join();
            settle();
        };
        for (std::size_t m = 0; m < 4; ++m) {
            if (successor_joins_first) join();
            const std::size_t at_leave = w.moves();
            w.leave(m);
            const std::int64_t gone = w.run_until([&] { return w.all_owned() && !w.alive(m); }, at_most, "owned");
            settle();
            leave_.add(gone, w.moves() - at_leave);
            if (!successor_joins_first) join();
        }
        (successor_joins_first ? restart_ : restart_old_first_).add(w.now() - begun, w.moves() - before);
    }

    figure join_{"a fourth member joins: shares are fair", 2, 16};
    figure kill_{"one of four is killed: all are owned, after the ttl", 2, 16};
    figure kill_beside_hung_{"one of four is killed, another hangs: all are owned, after the ttl", 4, 16};
    figure start_{"16 members start at once on 1,024: shares are fair", 3, any};
    figure leave_{"one of four or five stops: it has left, all are owned", 2, 16};
    figure restart_{"rolling restart of four, each after its successor has joined", any, 110};
    // Each stop moves the 16 shards of one that stops, and each join 16 others: there is no other way to fair shares.
    figure restart_old_first_{"rolling restart of four, each before its successor joins", any, 128};
};

}  // namespace shards

#endif
