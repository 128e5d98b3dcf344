// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_SCALE_SEVERAL_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_SCALE_SEVERAL_HPP

#include "renewals.hpp"
#include "subject.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <list>
#include <string>
#include <system_error>
#include <vector>

// Many leases acquired at once and one by one; a permit and a shared right, compared with a lease.
namespace scale {

/// Acquires all of `wanted.leases` leases of one process; the rows are there, and free.
template <class Store>
double seconds_to_acquire(Store& store, const options& wanted)
{
    std::vector<lh::basic_lease<Store>> leases;
    for (std::size_t i = 0; i < wanted.leases; ++i) leases.emplace_back(store, numbered("several-", i), lh::lease_terms{.ttl = 10min});
    const auto begun = std::chrono::steady_clock::now();
    auto guards = lh::try_acquire_each(leases);
    const double took = seconds_since(begun);
    if (guards.size() != wanted.leases || lh::release_all(guards) != wanted.leases) throw std::runtime_error{"not all were granted"};
    return took;
}

inline void measure_acquiring(const subject& of, const options& wanted, leasehold_test::results& results)
{
    lh::odbc_store store{of.connection_string, {.session_locks = false, .on_connect = of.settings}};
    store.create_schema();
    one_by_one_store plain{store};
    std::vector<double> alone, together, ratios;
    static_cast<void>(seconds_to_acquire(store, wanted));  // from here on there are rows
    for (int round = 0; round < wanted.rounds; ++round) {
        alone.push_back(seconds_to_acquire(plain, wanted));
        together.push_back(seconds_to_acquire(store, wanted));
        ratios.push_back(alone.back() / together.back());
    }
    const auto [least, most] = std::ranges::minmax(ratios);
    std::printf("%-12.*s %zu leases acquired: one by one %7.1f ms, at once %6.1f ms   ratio %.1f (%.1f to %.1f)\n",
                static_cast<int>(of.label.size()), of.label.data(), wanted.leases, median(alone) * 1e3, median(together) * 1e3,
                median(ratios), least, most);
    std::fflush(stdout);
    results.add(of.label, "acquiring one by one, ms", median(alone) * 1e3);
    results.add(of.label, "acquiring at once, ms", median(together) * 1e3);
    results.add(of.label, "acquiring, ratio", median(ratios));
}

/// Microseconds of a grant and its release, the mean of so many.
template <class Attempt>
double microseconds_of(Attempt attempt, int times = 500)
{
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i)
        if (const auto guard = attempt(); !guard.held()) throw std::runtime_error{"an attempt was busy"};
    return seconds_since(begun) / times * 1e6;
}

inline void measure_uncontended(const subject& of, const options& wanted, leasehold_test::results& results)
{
    lh::odbc_store store{of.connection_string, {.on_connect = of.settings}};
    store.create_schema();
    lh::basic_lease lease{store, "one", lh::lease_terms{.ttl = 10min}};
    lh::lease_semaphore permits{store, "one of 16", 16, lh::lease_terms{.ttl = 10min}};
    lh::shared_lease shared{store, "shared", lh::lease_terms{.ttl = 10min}};
    std::vector<double> leases, to_permits, to_shared;
    for (int round = 0; round <= wanted.rounds; ++round) {
        const double one = microseconds_of([&] { return lease.try_acquire(); });
        const double permit = microseconds_of([&] { return permits.try_acquire(); });
        const double reader = microseconds_of([&] { return shared.try_acquire_shared(); });
        if (round == 0) continue;
        leases.push_back(one);
        to_permits.push_back(permit / one);
        to_shared.push_back(reader / one);
    }
    std::printf("%-12.*s a lease's grant and release %7.1f us; a permit %.2f, a shared right %.2f times as much\n",
                static_cast<int>(of.label.size()), of.label.data(), median(leases), median(to_permits), median(to_shared));
    std::fflush(stdout);
    results.add(of.label, "permit, ratio to a lease", median(to_permits));
    results.add(of.label, "shared right, ratio to a lease", median(to_shared));
}

inline void measure_several(const subject& of, const options& wanted, leasehold_test::results& results)
{
    measure_acquiring(of, wanted, results);
    measure_uncontended(of, wanted, results);
}

}  // namespace scale

#endif
