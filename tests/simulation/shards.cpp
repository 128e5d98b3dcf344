// SPDX-License-Identifier: BSL-1.0
// Members that divide shards, without servers: small worlds explored whole, schedules drawn at random, and figures.
#include "shards_figures.hpp"
#include "shards_small.hpp"
#include "shards_timed.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace shards;

struct named_world {
    const char* name;
    std::size_t members;
    bool settled;
    troubles to_come;
    bool quick;
};

constexpr std::size_t rounds_to_settle = 6;

const std::vector<named_world>& small_worlds()
{
    static const std::vector<named_world> all{
        {"three start at once", 3, false, {}, true},
        {"two start at once, answers are lost or late", 2, false, {.lost_answers = 1, .late_attempts = 1}, true},
        {"three start at once, answers are lost, looks are old", 3, false, {.lost_answers = 1, .old_looks = 1}, false},
        {"one, and two join", 1, true, {.joins = 2}, true},
        {"one dies", 3, true, {.kills = 1}, true},
        {"two die", 3, true, {.kills = 2}, true},
        {"one is cut off", 3, true, {.cut_offs = 1}, true},
        {"one joins, one dies", 2, true, {.joins = 1, .kills = 1}, true},
        {"one joins, one dies and comes back", 2, true, {.joins = 2, .kills = 1}, false},
        {"one joins, an answer is lost", 2, true, {.joins = 1, .lost_answers = 1}, true},
        {"one joins, an attempt is late", 2, true, {.joins = 1, .late_attempts = 1}, true},
        {"one joins, a look is old", 2, true, {.joins = 1, .old_looks = 1}, true},
        {"one joins, answers are lost and late, a look is old",
         2,
         true,
         {.joins = 1, .lost_answers = 1, .late_attempts = 1, .old_looks = 1},
         true},
        {"one joins, two looks are old", 2, true, {.joins = 1, .old_looks = 2}, true},
        {"one dies, an attempt is late, a look is old", 3, true, {.kills = 1, .late_attempts = 1, .old_looks = 1}, true},
        {"one is cut off, an attempt is late, a look is old", 3, true, {.cut_offs = 1, .late_attempts = 1, .old_looks = 1}, true},
        {"one pauses and goes on", 3, true, {.pauses = 2}, true},
        {"one pauses, one joins", 2, true, {.joins = 1, .pauses = 1}, true},
        {"one loses a shard by force", 3, true, {.forced = 1}, true},
        {"one loses two shards by force, a look is old", 2, true, {.old_looks = 1, .forced = 2}, true},
        {"one loses a shard by force, one joins", 2, true, {.joins = 1, .forced = 1}, true},
        {"one loses a shard by force, one pauses", 3, true, {.pauses = 1, .forced = 1}, true},
        {"one pauses, one joins, one dies", 2, true, {.joins = 1, .kills = 1, .pauses = 1}, false},
    };
    return all;
}

bool explore_all(bool quick)
{
    bool fine = true;
    for (const named_world& world : small_worlds()) {
        if (quick && !world.quick) continue;
        const explored found = explore(small_world{world.members, world.settled, world.to_come}, rounds_to_settle, 3'000'000);
        std::cout << std::setw(9) << found.worlds << " worlds, settled within " << found.slowest << " rounds: " << world.name << '\n';
        if (!found.broken.empty()) {
            std::cout << found.broken;
            fine = false;
        }
    }
    return fine;
}

// Eight members at most, 64 shards; joins, kills, pauses and leaves at random; lost and late answers, old looks.
void play(std::uint64_t seed)
{
    timed_world w{64, seed, {.lost_answers = 60, .late_attempts = 60, .old_looks = 200, .drain_ms = 5'000}};
    sim::random_source& random = w.random();
    for (std::int64_t i = random.between(1, 4); i > 0; --i) w.join(static_cast<std::uint32_t>(random.chance(256) ? 2 : 1));
    for (std::int64_t step = random.between(3, 12); step > 0; --step) {
        w.run_until(w.now() + random.below(30'000));
        std::vector<std::size_t> living;
        for (std::size_t m = 0; m < w.members(); ++m)
            if (w.alive(m)) living.push_back(m);
        const std::int64_t what = random.below(5);
        const std::size_t one =
            living.empty() ? 0 : living[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(living.size())))];
        if (living.empty() || (what <= 1 && living.size() < 8))
            w.join();
        else if (what == 2)
            w.kill(one);
        else if (what == 3)
            w.leave(one);
        else if (what == 4)
            w.pause(one, !w.paused(one));
    }
    w.calm();
    w.join();
    w.run_until([&] { return w.fair(); }, 2 * ttl_ms + 40 * cycle_ms, "fair");
    const std::size_t moved = w.moves();
    w.run_until(w.now() + 10 * cycle_ms);
    if (!w.fair()) throw broken_rule{"no longer fair: " + w.text()};
    if (w.moves() > moved + 8) throw broken_rule{"it goes in circles: " + std::to_string(w.moves() - moved) + " moves after it was fair"};
}

bool figures(std::uint64_t seeds)
{
    std::cout << "Cycles are a third of the ttl; " << seeds << " seeds; work drains at once.\n" << std::fixed;
    bool fine = true;
    const all_figures measured{seeds};
    for (const figure* each : measured.all()) {
        std::cout << "  " << each->what << ": median " << std::setprecision(1) << each->median() << ", at worst " << each->worst()
                  << " cycles; at most " << std::setprecision(0) << each->most_moves() << " moves" << (each->met() ? "\n" : ": MISSED\n");
        fine = fine && each->met();
    }
    return fine;
}

int usage()
{
    std::cerr << "usage: simulate_shards [--explore quick|all] [--schedules N] [--seed N] [--figures SEEDS]\n";
    return 2;
}

}  // namespace

int main(int argc, char** argv)
try {
    std::uint64_t seed = 1;
    std::uint64_t schedules = 0;
    std::uint64_t seeds = 0;
    std::string_view explore_which;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (i + 1 == argc) return usage();
        const char* value = argv[++i];
        if (option == "--explore")
            explore_which = value;
        else if (option == "--schedules")
            schedules = std::strtoull(value, nullptr, 10);
        else if (option == "--seed")
            seed = std::strtoull(value, nullptr, 10);
        else if (option == "--figures")
            seeds = std::strtoull(value, nullptr, 10);
        else
            return usage();
    }
    bool fine = true;
    if (!explore_which.empty()) fine = explore_all(explore_which == "quick");
    for (std::uint64_t i = 0; i < schedules; ++i) {
        try {
            play(seed + i);
        } catch (const broken_rule& broken) {
            std::cout << "seed " << seed + i << ": " << broken.what() << "\n  again: simulate_shards --schedules 1 --seed " << seed + i
                      << '\n';
            return EXIT_FAILURE;
        }
    }
    if (schedules > 0) std::cout << schedules << " schedules\n";
    if (seeds > 0) fine = figures(seeds) && fine;
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return EXIT_FAILURE;
}
