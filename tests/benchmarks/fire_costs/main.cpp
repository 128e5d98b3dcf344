// SPDX-License-Identifier: BSL-1.0
// How many statements a fire costs beyond a grant and a release, counted at the database: with one host, with hosts that alternate, and
// with a new process each time; what looks cost while no fire is due; and what an observer of many names costs. Ends with 1 if a goal is
// missed.
#include <benchmarks/choice.hpp>
#include <benchmarks/counted_statements.hpp>
#include <benchmarks/results.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

constexpr int fires = 8;
constexpr lh::every often{.period = 400ms};
constexpr double goal = 2;  // statements beyond a grant and a release
constexpr double noise = 0.25;  // what a server does by itself meanwhile, a fire
constexpr std::size_t observed = 1000;

// On a clock that is turned, so that no reading of the store's clock is young enough to be used again: fires are far apart as a rule.
struct host {
    host(lh::odbc_store& store, std::string_view owner, lh::every when = often)
        : job{store, "report", when, lh::recurring_options{}, clock, lh::fixed_owner_id{std::string{owner}}, lh::no_renewal{}}
    {
    }

    void complete_next()
    {
        clock.advance(2min);
        const lh::fire_time next = often.next(std::chrono::time_point_cast<lh::duration>(std::chrono::system_clock::now()));
        std::this_thread::sleep_until(next + 20ms);
        auto run = job.try_begin();
        if (!run || !run.complete()) throw std::runtime_error{"a fire was not completed"};
    }

    lh::manual_clock clock;
    lh::recurring<lh::odbc_store, lh::every, lh::manual_clock, lh::fixed_owner_id, lh::no_renewal> job;
};

// A round, on average. What the first one costs more is taken off: fires are missed while nobody counts.
template <class Round>
double counted(const counting_database& s, Round round)
{
    const auto all = [&s, &round](int rounds) {
        const std::int64_t before = s.statements();
        for (int i = 0; i < rounds; ++i) round(i);
        return static_cast<double>(s.statements() - before);
    };
    const double some = all(fires);
    return (all(2 * fires) - some) / fires;
}

void grant_and_release(lh::odbc_store& store)
{
    lh::basic_lease lease{store, "bare", 60s, lh::no_renewal{}};
    const auto guard = lease.try_acquire();
    if (!guard) throw std::runtime_error{"no grant"};
}

class measuring {
public:
    measuring(const counting_database& of, results& raw) : s_{of}, raw_{raw} { store_.create_schema(); }

    bool run()
    {
        grant_and_release(store_);
        const double bare = counted(s_, [this](int) { grant_and_release(store_); });
        host one{store_, "a"}, other{store_, "b"};
        one.complete_next();  // the first fire of all
        tell("one host", counted(s_, [&](int) { one.complete_next(); }) - bare, goal);
        tell("hosts that alternate", counted(s_, [&](int i) { (i % 2 == 0 ? other : one).complete_next(); }) - bare, goal);
        const double bare_process = counted(s_, [this](int) {
            lh::odbc_store store{s_.connection_string};
            grant_and_release(store);
        });
        const double process = counted(s_, [this](int) {
            lh::odbc_store store{s_.connection_string};
            host{store, "new"}.complete_next();
        });
        tell("a new process each time", process - bare_process, goal);
        lh::recurring daily{store_, "daily", lh::every{.period = 24h}};
        if (auto run = daily.try_begin()) run.complete();
        const double looks = counted(s_, [&](int) { static_cast<void>(daily.try_begin()); });
        tell("a look while no fire is due", looks, 0);
        tell("an observer of 1,000 names, a look", of_an_observer(), 1);
        return met_;
    }

private:
    double of_an_observer()
    {
        using many = lh::basic_lease<lh::odbc_store, lh::steady_clock, lh::random_owner_id, lh::no_renewal>;
        std::vector<many> leases;
        for (std::size_t i = 0; i < observed; ++i) leases.emplace_back(store_, "observed/" + std::to_string(i), 10min);
        const auto held = lh::try_acquire_each(leases);
        lh::prefix_observer watch{store_, "observed/", {}, {.every = 200ms}};
        const auto next_look = [&watch](int) {
            for (lh::duration before = watch.age();;) {
                std::this_thread::sleep_for(2ms);
                if (const lh::duration now = watch.age(); now < before) return;
                else before = now;
            }
        };
        next_look(0);
        if (watch.current().size() != observed) throw std::runtime_error{"the observer does not see all names"};
        return counted(s_, next_look);
    }

    void tell(std::string_view what, double statements, double at_most)
    {
        const bool met = statements <= at_most + noise;
        std::printf("%-11s %-28s %5.2f, at most %.0f: %s\n", s_.label.c_str(), std::string{what}.c_str(), statements, at_most,
                    met ? "met" : "missed");
        std::fflush(stdout);
        raw_.add(s_.label, what, statements);
        met_ = met_ && met;
    }

    const counting_database& s_;
    results& raw_;
    lh::odbc_store store_{s_.connection_string};
    bool met_ = true;
};

}  // namespace

int main(int argc, char** argv)
{
    const auto chosen = read_choice({argv + 1, argv + argc}, {"sqlite", "postgresql", "mariadb"});
    if (!chosen) {
        std::fputs("Usage: fire_costs [--results FILE] [sqlite | postgresql | mariadb]\n", stderr);
        return 64;
    }
    try {
        results raw{"fire_costs", chosen->results};
        const bool met = on_counting_databases(*chosen, [&raw](const counting_database& of) { return measuring{of, raw}.run(); });
        return met ? 0 : 1;
    }
    catch (const std::exception& e) {
        std::fprintf(stderr, "fire_costs: %s\n", e.what());
        return 70;
    }
}
