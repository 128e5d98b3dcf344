// SPDX-License-Identifier: BSL-1.0
#include "explore_command.hpp"
#include "schedule.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <random>
#include <string>

namespace {

volatile std::sig_atomic_t interrupted = 0;  // then the figures so far are printed

constexpr const char* usage = R"(Usage: simulate [option]...

Runs leases of simulated processes against a simulated database, on simulated time, and checks what the library promises.
One seed decides everything that happens in a schedule.

  --schedules N   play N schedules (default: 1000)
  --seconds N     play for N seconds instead
  --seed N        the first schedule's seed; the next has N + 1, and so on (default: random, and printed)
  --trace         tell the story of one schedule: that of --seed
  --past FILE     play the seeds in FILE first, one at the start of each line
  --quiet         print nothing but a failure
  --help          also lists the small worlds

Or nothing is drawn: a small world of two processes is explored whole. All orders of what happens at one instant are tried, and
all ways in which up to N faults can happen in a run.

  --explore WORLD  a small world; quick: those of a few seconds; all: those that must not break
  --faults N       so many faults in one run at most (default: the world's)
  --swaps N        so often in one run a thread overtakes another one of its process (default: the world's)
  --limit SECONDS  give up after so long with one world and one number of faults (default: never)
  --replay LIST    one run, and its events: with the answers that were printed when a rule broke

Exit status: 0 nothing broken, 1 a rule was broken (how to replay it is printed), 2 wrong options, 3 a world was not explored whole.
)";

struct options {
    std::uint64_t schedules = 1000;
    double seconds = 0;
    std::uint64_t seed = 0;
    bool seeded = false;
    bool trace = false;
    bool quiet = false;
    std::string past;
    sim::explore_options explore;
};

[[noreturn]] void leave(const char* text, int status)
{
    std::fputs(text, status == 0 ? stdout : stderr);
    std::exit(status);
}

std::uint64_t number(const char* text)
{
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(text, &end, 10);
    if (end == text || *end != '\0') leave("simulate: a number is missing or wrong; see --help\n", 2);
    return value;
}

int small_number(const char* text)
{
    const std::uint64_t value = number(text);
    if (value > 9) leave("simulate: so many faults or swaps would take for ever; at most 9\n", 2);
    return static_cast<int>(value);
}

options read(int argc, char** argv)
{
    options chosen;
    if (const char* seed = std::getenv("LEASEHOLD_SIM_SEED")) {
        chosen.seed = number(seed);
        chosen.seeded = true;
    }
    for (int i = 1; i < argc; ++i) {
        const std::string option{argv[i]};
        const char* const value = i + 1 < argc ? argv[i + 1] : "";
        if (option == "--help") {
            std::fputs(usage, stdout);
            std::puts("\nSmall worlds, and how many faults they have:");
            sim::print_catalogue();
            std::exit(0);
        }
        if (option == "--trace")
            chosen.trace = true;
        else if (option == "--quiet")
            chosen.quiet = true;
        else {
            ++i;
            if (option == "--schedules")
                chosen.schedules = number(value);
            else if (option == "--seconds")
                chosen.seconds = static_cast<double>(number(value));
            else if (option == "--past")
                chosen.past = value;
            else if (option == "--explore")
                chosen.explore.world = value;
            else if (option == "--faults")
                chosen.explore.faults = small_number(value);
            else if (option == "--swaps")
                chosen.explore.swaps = small_number(value);
            else if (option == "--limit")
                chosen.explore.limit = static_cast<double>(number(value));
            else if (option == "--replay")
                chosen.explore.replay = value;
            else if (option == "--seed") {
                chosen.seed = number(value);
                chosen.seeded = true;
            } else
                leave("simulate: unknown option; see --help\n", 2);
        }
    }
    const sim::explore_options& explore = chosen.explore;
    if (explore.world.empty() && (explore.faults || explore.swaps || explore.limit > 0 || !explore.replay.empty()))
        leave("simulate: --faults, --swaps, --limit and --replay go with --explore; see --help\n", 2);
    if (!chosen.seeded) chosen.seed = (std::uint64_t{std::random_device{}()} << 16U) ^ std::random_device{}();
    return chosen;
}

class session {
public:
    explicit session(const options& chosen) : options_{chosen} {}

    int run()
    {
        if (options_.trace) return play_one(options_.seed, true) ? 0 : 1;
        if (!options_.past.empty() && !play_past()) return 1;
        if (!options_.quiet)
            std::fprintf(stderr, "simulate: the first seed is %llu\n", static_cast<unsigned long long>(options_.seed));
        std::signal(SIGINT, [](int) { interrupted = 1; });
        std::signal(SIGTERM, [](int) { interrupted = 1; });
        for (std::uint64_t seed = options_.seed; !enough() && interrupted == 0; ++seed) {
            if (!play_one(seed, false)) return 1;
            if (!options_.quiet && played_ % 10'000 == 0)
                std::fprintf(stderr, "simulate: %llu schedules, %.0f s\n", static_cast<unsigned long long>(played_),
                             elapsed());
        }
        if (!options_.quiet) summary();
        return 0;
    }

private:
    using real = std::chrono::steady_clock;

    [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(real::now() - begun_).count(); }
    [[nodiscard]] bool enough() const
    {
        return options_.seconds > 0 ? elapsed() >= options_.seconds : played_ >= options_.schedules;
    }

    bool play_one(std::uint64_t seed, bool told)
    {
        const sim::outcome result = sim::play(seed, told);
        ++played_;
        events_ += result.events;
        all_.add(result.faults);
        if (told)
            std::printf("seed %llu: %llu events, hash %016llx\n", static_cast<unsigned long long>(seed),
                        static_cast<unsigned long long>(result.events), static_cast<unsigned long long>(result.hash));
        if (result.broken_rule == nullptr) return true;
        if (!told && !options_.quiet) sim::play(seed, true);
        std::printf("BROKEN after %llu schedules and %.1f s: %s\n  %s\n  replay: simulate --seed %llu --trace\n",
                    static_cast<unsigned long long>(played_), elapsed(), result.broken_rule, result.details.c_str(),
                    static_cast<unsigned long long>(seed));
        return false;
    }

    bool play_past()
    {
        std::ifstream file{options_.past};
        if (!file) leave("simulate: can't read the file of past seeds\n", 2);
        for (std::string line; std::getline(file, line);) {
            if (line.empty() || line[0] == '#') continue;
            if (!play_one(std::strtoull(line.c_str(), nullptr, 10), false)) return false;
        }
        return true;
    }

    void summary() const
    {
        const double took = elapsed();
        std::printf("%llu schedules in %.1f s (%.0f a minute), %llu events; nothing broken\n",
                    static_cast<unsigned long long>(played_), took, static_cast<double>(played_) / took * 60,
                    static_cast<unsigned long long>(events_));
        all_.each([](const char* what, std::uint64_t how_often) {
            std::printf("%14llu %s\n", static_cast<unsigned long long>(how_often), what);
        });
    }

    const options options_;
    const real::time_point begun_ = real::now();
    std::uint64_t played_ = 0;
    std::uint64_t events_ = 0;
    sim::tally all_;
};

}  // namespace

int main(int argc, char** argv)
{
    try {
        const options chosen = read(argc, argv);
        if (chosen.explore.world.empty()) return session{chosen}.run();
        std::signal(SIGINT, [](int) { interrupted = 1; });
        return sim::explore_command(chosen.explore, interrupted);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "simulate: %s\n", e.what());
        return 2;
    }
}
