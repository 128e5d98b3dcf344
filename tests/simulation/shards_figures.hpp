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
            restart(seed, successor::joins_before, restart_successor_first_);
            restart(seed, successor::restarts_in_place, restart_in_place_);
            restart(seed, successor::joins_once_shares_are_fair, restart_slow_);
        }
    }

    [[nodiscard]] std::vector<const figure*> all() const
    {
        return {&join_, &kill_, &kill_beside_hung_, &start_, &leave_, &restart_successor_first_, &restart_in_place_, &restart_slow_};
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

    // When the successor of a member that stops joins.
    enum class successor : std::uint8_t { joins_before, restarts_in_place, joins_once_shares_are_fair };

    void restart(std::uint64_t seed, successor when, figure& of)
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
        for (std::size_t m = 0; m < 4; ++m) {
            if (when == successor::joins_before) {
                w.join();
                settle();
            }
            const std::size_t at_leave = w.moves();
            w.leave(m);
            if (when == successor::restarts_in_place) {
                w.run_until([&] { return !w.alive(m); }, at_most, "gone");
                w.run_until(w.now() + 500);
            } else {
                const std::int64_t gone = w.run_until([&] { return w.all_owned() && !w.alive(m); }, at_most, "owned");
                settle();
                leave_.add(gone, w.moves() - at_leave);
            }
            if (when != successor::joins_before) {
                w.join();
                settle();
            }
        }
        of.add(w.now() - begun, w.moves() - before);
    }

    figure join_{"a fourth member joins: shares are fair", 2, 16};
    figure kill_{"one of four is killed: all are owned, after the ttl", 2, 16};
    figure kill_beside_hung_{"one of four is killed, another hangs: all are owned, after the ttl", 4, 16};
    figure start_{"16 members start at once on 1,024: shares are fair", 3, any};
    figure leave_{"one of four or five stops: it has left, all are owned", 2, 16};
    figure restart_successor_first_{"rolling restart of four, each after its successor has joined", any, 110};
    figure restart_in_place_{"rolling restart of four, each back within half a second", any, 110};
    // Each stop moves the 16 shards of one that stops, and each join 16 others: there is no other way to fair shares.
    figure restart_slow_{"rolling restart of four, each long before its successor joins", any, 128};
};

}  // namespace shards

#endif
