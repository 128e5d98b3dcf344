// SPDX-License-Identifier: BSL-1.0
// What it costs to divide shards among members: how many statements a member needs in a cycle when nothing moves, counted at the database;
// and how many cycles and moves it takes after a join, a kill, a start and restarts, in simulated time. Ends with 1 if a goal is missed.
#include <benchmarks/choice.hpp>
#include <benchmarks/counted_statements.hpp>
#include <benchmarks/results.hpp>
#include <simulation/shards_figures.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <support/eventually.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <list>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace {

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

constexpr auto ttl = 6s;
constexpr auto cycle = ttl / 3;
constexpr int cycles = 15;
struct group_size {
    std::size_t shards;
    std::size_t members;
};
constexpr group_size sizes[] = {{64, 4}, {1024, 16}};
constexpr double statements_at_most = 3;
constexpr std::uint64_t runs = 200;

// With a store of its own, as a process has, and work that waits for its end.
class member {
public:
    member(const std::string& connection_string, std::size_t shards)
        : store_{connection_string}, group_{store_, "orders of " + std::to_string(shards), shards, lh::shard_options{.ttl = ttl}}
    {
        runs_ = std::jthread{[this](const std::stop_token& stop) {
            group_.run(stop, [](auto& shard) {
                lh::waker ends;
                const std::stop_callback wake{shard.stop_token(), [&ends] { ends.wake(); }};
                ends.wait();
            });
        }};
    }

    [[nodiscard]] lh::shard_statistics statistics() const { return group_.statistics(); }

private:
    lh::odbc_store store_;
    lh::shard_group<lh::odbc_store> group_;
    std::jthread runs_;
};

// A cycle and member.
double statements_when_nothing_moves(const counting_database& at, const group_size& size)
{
    lh::odbc_store{at.connection_string}.create_schema();
    std::list<member> members;
    for (std::size_t i = 0; i < size.members; ++i) members.emplace_back(at.connection_string, size.shards);
    const auto taken = [&members] {
        std::size_t all = 0;
        for (const member& each : members) all += each.statistics().taken;
        return all;
    };
    const auto fair = [&] {
        for (const member& each : members)
            if (each.statistics().owned != size.shards / size.members) return false;
        return true;
    };
    if (!eventually(fair, 300s)) throw std::runtime_error{"the shares have not become fair"};
    std::this_thread::sleep_for(2 * ttl);
    const std::size_t taken_before = taken();
    const lh::steady_clock clock;
    const lh::time_point begun = clock.now();
    const std::int64_t before = at.statements();
    std::this_thread::sleep_for(cycles * cycle);
    const std::int64_t statements = at.statements() - before;
    const double passed = std::chrono::duration<double>{clock.now() - begun} / cycle;
    if (taken() != taken_before) throw std::runtime_error{"something has moved meanwhile"};
    return static_cast<double>(statements) / passed / static_cast<double>(size.members);
}

bool count_statements(const counting_database& at, results& raw)
{
    bool all_met = true;
    for (const group_size& size : sizes) {
        const double each = statements_when_nothing_moves(at, size);
        const bool met = each <= statements_at_most;
        std::printf("%-11s statements a cycle and member, %4zu shards: %5.2f, at most %.0f: %s\n", at.label.c_str(), size.shards,
                    each, statements_at_most, met ? "met" : "missed");
        std::fflush(stdout);
        raw.add(at.label, "statements a cycle, " + std::to_string(size.shards) + " shards", each);
        all_met = all_met && met;
    }
    return all_met;
}

bool simulate(results& raw)
{
    bool all_met = true;
    const shards::all_figures measured{runs};
    for (const shards::figure* each : measured.all()) {
        std::printf("%s: %.1f cycles, at worst %.1f; at most %.0f moves: %s\n", each->what, each->median(), each->worst(),
                    each->most_moves(), each->met() ? "met" : "missed");
        raw.add(each->what, "cycles", each->median());
        raw.add(each->what, "cycles, worst", each->worst());
        raw.add(each->what, "moves, most", each->most_moves());
        all_met = all_met && each->met();
    }
    return all_met;
}

}  // namespace

int main(int argc, char** argv)
{
    const auto chosen = read_choice({argv + 1, argv + argc}, {"simulated", "sqlite", "postgresql", "mariadb"});
    if (!chosen) {
        std::fputs("Usage: shard_costs [--results FILE] [simulated | sqlite | postgresql | mariadb]\n", stderr);
        return 64;
    }
    try {
        results raw{"shard_costs", chosen->results};
        bool met = !chosen->wants("simulated") || simulate(raw);
        met = on_counting_databases(*chosen, [&raw](const counting_database& of) { return count_statements(of, raw); }) && met;
        return met ? 0 : 1;
    }
    catch (const std::exception& e) {
        std::fprintf(stderr, "shard_costs: %s\n", e.what());
        return 70;
    }
}
