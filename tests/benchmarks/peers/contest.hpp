// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_PEERS_CONTEST_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_PEERS_CONTEST_HPP

#include <support/child_process.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace peers {

using namespace std::chrono_literals;

/// What is compared: a way to lock, and how its clients are started.
struct subject {
    std::string label;
    std::vector<std::string> program;
    std::string kind;
    std::string address;
    std::string server;  ///< whose floor it is compared with
    bool only_pairs = false;
    bool has_ttl = true;
};

/// How much is measured of each in a round.
struct extent {
    int rounds = 3;
    int slices = 10;  ///< of pairs, each beside one of its floor
    int pairs = 100;  ///< in a slice
    std::chrono::milliseconds contention = 5s;
    int turns = 40;
    int kills = 3;
};
/// That it runs, and no figures to believe.
constexpr extent brief_extent{.rounds = 1, .slices = 2, .pairs = 20, .contention = 500ms, .turns = 4, .kills = 1};

constexpr std::size_t contenders = 8;

/// A process that has a lock; see serve.hpp for what it is told.
class client {
public:
    client(const subject& what, const std::string& name, std::chrono::milliseconds ttl)
        : label_{what.label}, process_{command_of(what, name, ttl), {.capture = true}}
    {
    }

    void tell(const std::string& line)
    {
        told_ = line;
        if (!process_.write(line + '\n')) throw std::runtime_error{label_ + ": a client has ended"};
    }
    std::vector<std::int64_t> answer()
    {
        const auto line = process_.read_line(60s);
        if (!line) throw std::runtime_error{label_ + ": a client did not answer to " + told_};
        std::vector<std::int64_t> numbers;
        std::istringstream words{*line};
        for (std::int64_t number = 0; words >> number;) numbers.push_back(number);
        if (numbers.empty()) throw std::runtime_error{label_ + ": a client answered " + *line};
        return numbers;
    }
    std::vector<std::int64_t> ask(const std::string& line)
    {
        tell(line);
        return answer();
    }
    void kill() { process_.kill(); }

private:
    static std::vector<std::string> command_of(const subject& what, const std::string& name, std::chrono::milliseconds ttl)
    {
        std::vector<std::string> words = what.program;
        words.insert(words.end(), {what.kind, what.address, name, std::to_string(ttl.count())});
        return words;
    }

    std::string label_, told_;
    leasehold_test::child_process process_;
};

/// What a round saw of eight clients.
struct contention {
    double per_second = 0;
    double fewest_per_second = 0;  ///< of a client
    double most_per_second = 0;
    double longest_wait_ms = 0;
};

constexpr auto usual_ttl = 30s;
constexpr auto short_ttl = 2s;
/// After the grant, and before anybody renews.
constexpr auto killed_after = 300ms;

/// How long a waiter has waited when the lock is released: by chance, so that those who poll are met anywhere between two polls.
inline void let_it_wait()
{
    static std::minstd_rand random{4711};
    std::this_thread::sleep_for(std::chrono::microseconds{std::uniform_int_distribution{100'000, 200'000}(random)});
}

/// Adds the times of grants and their releases, and of two bare round trips, measured alternately.
inline void measure_pairs(const subject& what, const subject& floor, const extent& much, std::vector<std::int64_t>& own,
                          std::vector<std::int64_t>& bare)
{
    client locks{what, "measured", usual_ttl}, travels{floor, "floor", usual_ttl};
    for (client* each : {&locks, &travels}) each->ask("pairs 20");  // what is only done once
    for (int slice = 0; slice < much.slices; ++slice)
        for (auto [each, to] : {std::pair{&travels, &bare}, std::pair{&locks, &own}}) {
            const auto more = each->ask("pairs " + std::to_string(much.pairs));
            to->insert(to->end(), more.begin(), more.end());
        }
}

inline contention measure_contention(const subject& what, const extent& much)
{
    std::vector<client> clients;
    for (std::size_t i = 0; i < contenders; ++i) clients.emplace_back(what, "measured", usual_ttl).ask("pairs 3");
    const auto run = [&clients](std::chrono::milliseconds time) {
        for (client& each : clients) each.tell("contend " + std::to_string(time.count()));
        std::vector<std::int64_t> times;
        std::int64_t longest = 0;
        for (client& each : clients) {
            const auto counted = each.answer();
            times.push_back(counted.at(0));
            longest = std::max(longest, counted.at(1));
        }
        return std::pair{times, longest};
    };
    run(much.contention / 10);  // opens the sessions that waiters need
    const auto [times, longest] = run(much.contention);
    const double seconds = std::chrono::duration<double>{much.contention}.count();
    std::int64_t all = 0;
    for (const auto each : times) all += each;
    const auto [fewest, most] = std::ranges::minmax(times);
    return {static_cast<double>(all) / seconds, static_cast<double>(fewest) / seconds, static_cast<double>(most) / seconds,
            static_cast<double>(longest) / 1e6};
}

/// Adds the times from the begin of a release until the one waiter has the lock.
inline void measure_turns(const subject& what, const extent& much, std::vector<std::int64_t>& took)
{
    client one{what, "measured", usual_ttl}, other{what, "measured", usual_ttl};
    for (client* each : {&one, &other}) each->ask("pairs 3");
    client *holder = &one, *waiter = &other;
    holder->ask("acquire");
    for (int turn = -2; turn < much.turns; ++turn) {  // two to warm up
        waiter->tell("acquire");
        let_it_wait();
        const auto released = holder->ask("release").at(0);
        const auto got = waiter->answer().at(0);
        if (turn >= 0) took.push_back(got - released);
        std::swap(holder, waiter);
    }
    holder->ask("release");
}

/// Adds how long after the end of the ttl, counted from the return of the grant, a waiter had the lock of a killed holder.
inline void measure_kills(const subject& what, const extent& much, std::vector<std::int64_t>& late)
{
    for (int i = 0; i < much.kills; ++i) {
        client holder{what, "killed", short_ttl}, waiter{what, "killed", short_ttl};
        const auto granted = holder.ask("acquire").at(0);
        waiter.tell("acquire");
        std::this_thread::sleep_for(killed_after);
        holder.kill();
        late.push_back(waiter.answer().at(0) - granted - short_ttl / 1ns);
        waiter.ask("release");
    }
}

}  // namespace peers

#endif
