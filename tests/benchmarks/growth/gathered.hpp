// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_GROWTH_GATHERED_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_GROWTH_GATHERED_HPP

#include <benchmarks/results.hpp>

#include <leasehold/leasehold.hpp>
#include <support/scripted_batching_store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <list>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace growth {

/// How many statements the renewals of one host become: the library's own engine on a clock that is turned, in a store that counts.
inline void measure_gathered(std::vector<std::size_t> counts, leasehold_test::results& results)
{
    using namespace std::chrono_literals;
    namespace lh = leasehold;
    using leasehold_test::operation;
    using lease_type = lh::basic_lease<leasehold_test::scripted_batching_store, lh::manual_clock>;
    constexpr auto ttl = 30s;
    constexpr auto step = 20ms;
    constexpr auto settling = 120s;
    constexpr auto measured = 300s;
    for (const std::size_t count : counts) {
        lh::manual_clock clock;
        leasehold_test::scripted_batching_store store{clock};
        const auto pass = [&clock, step](lh::duration time) {
            for (lh::duration passed{}; passed < time; passed += step) {
                clock.advance(step);
                std::this_thread::sleep_for(50us);  // the workers' turn
            }
        };
        std::mt19937 random{static_cast<std::mt19937::result_type>(count)};
        std::exponential_distribution<double> pause{static_cast<double>(count) / 10};  // all of them within ten seconds or so
        std::list<lease_type> leases;
        std::vector<lease_type::guard_type> guards;
        while (guards.size() < count) {
            pass(std::chrono::duration_cast<lh::duration>(std::chrono::duration<double>{pause(random)}));
            leases.emplace_back(store, "held-" + std::to_string(guards.size()), lh::lease_terms{.ttl = ttl}, clock);
            guards.push_back(leases.back().try_acquire());
        }
        const auto statements = [&store] { return store.sizes().size() + static_cast<std::size_t>(store.sent(operation::renew)); };
        pass(settling);
        const std::size_t before = statements();
        pass(measured);
        const double rate = static_cast<double>(statements() - before) / std::chrono::duration<double>{measured}.count();
        std::size_t lost = 0;
        for (const auto& each : guards) lost += each.held() ? 0 : 1;
        std::printf("simulated   %6zu held, granted at random moments: %.3f statements a second to renew them, %zu lost\n", count, rate,
                    lost);
        std::fflush(stdout);
        results.add("simulated", "statements a second, " + std::to_string(count) + " held", rate);
    }
}

}  // namespace growth

#endif
