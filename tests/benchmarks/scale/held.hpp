// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_SCALE_HELD_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_SCALE_HELD_HPP

#include "subject.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <list>
#include <system_error>
#include <thread>

#include <malloc.h>

// Very many leases held by one process: memory, whether all are renewed on time, and how long it takes to let go of them.
namespace scale {

namespace lh = leasehold;

inline std::size_t heap_in_use()
{
    const struct mallinfo2 info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
}

inline void measure_held(const subject& of, const options& wanted, leasehold_test::results& results)
{
    using lease_type = lh::basic_lease<lh::odbc_store>;
    lh::odbc_store store{of.connection_string, {.on_connect = of.settings}};
    store.create_schema();
    { const lh::basic_lease warm_up{store, "warm-up"}; }
    std::vector<lease_type::guard_type> guards;
    guards.reserve(wanted.held);

    const std::size_t before = heap_in_use();
    std::list<lease_type> leases;
    const auto begun = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < wanted.held; ++i) {
        leases.emplace_back(store, numbered("shard-of-some-service/", i), lh::lease_terms{.ttl = 30s});
        guards.push_back(leases.back().try_acquire());
    }
    const double granting = seconds_since(begun);
    const double each = static_cast<double>(heap_in_use() - before) / static_cast<double>(wanted.held) + sizeof(lease_type::guard_type);

    const double own = own_processor_time(), server = of.processor_time();
    const auto holding = std::chrono::steady_clock::now();
    lh::duration least = 1h;
    std::size_t lost = 0;
    while (seconds_since(holding) < wanted.seconds) {
        std::this_thread::sleep_for(1s);
        lost = 0;
        for (const auto& guard : guards) {
            lost += guard.held() ? 0 : 1;
            least = std::min(least, guard.remaining());
        }
    }
    const double took = seconds_since(holding);
    const double own_share = (own_processor_time() - own) / took * 100, server_share = (of.processor_time() - server) / took * 100;

    const auto letting_go = std::chrono::steady_clock::now();
    const std::size_t released = lh::release_all(guards);
    const double release = seconds_since(letting_go);

    const double least_left = std::chrono::duration<double>{least}.count();
    std::printf("%-12.*s %zu leases (granted in %.0f s): %.0f bytes each; held for %.0f s: %zu lost, least time left %.1f s,"
                " process %.1f %% of a core, server %.1f %%; %zu sessions; released %zu in %.2f s\n",
                static_cast<int>(of.label.size()), of.label.data(), wanted.held, granting, each, took, lost, least_left, own_share,
                server_share, store.sessions(), released, release);
    std::fflush(stdout);
    results.add(of.label, "held, leases", static_cast<double>(wanted.held));
    results.add(of.label, "held, bytes each", each);
    results.add(of.label, "held, lost", static_cast<double>(lost));
    results.add(of.label, "held, least time left, s", least_left);
    results.add(of.label, "held, process, percent of a core", own_share);
    results.add(of.label, "held, server, percent of a core", server_share);
    results.add(of.label, "held, sessions", static_cast<double>(store.sessions()));
    results.add(of.label, "held, release of all, s", release);
}

}  // namespace scale

#endif
