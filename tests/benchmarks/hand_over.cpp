// SPDX-License-Identifier: BSL-1.0
// How long a released lease takes to its next holder, and how fairly contenders take turns: with the store's own waiting, and
// with the loop that asks every 50 ms.
//
// Each waiter has a store of its own, as a process would. Hand-over is measured from the instant before the release to the
// instant after the next holder's acquire() returned.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/temporary_directory.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

using ms = std::chrono::duration<double, std::milli>;
constexpr lh::lease_terms terms{.ttl = 30s};
constexpr auto poll_pause = 50ms;
constexpr auto contention = 4s;

struct statistics {
    double median = 0;
    double p99 = 0;
};

statistics of(std::vector<double> values)
{
    std::ranges::sort(values);
    return {values[values.size() / 2], values[values.size() * 99 / 100]};
}

template <class Lease>
auto acquire(Lease& lease, bool polling)
{
    if (!polling) return lease.acquire();
    for (;;) {
        if (auto guard = lease.try_acquire()) return guard;
        std::this_thread::sleep_for(poll_pause);
    }
}

// Takes turns `times` times: whoever holds releases when all others have had time to get in line.
template <class Store>
statistics hand_overs(std::deque<Store>& stores, std::size_t waiters, int times, bool polling)
{
    std::mutex mutex;
    std::vector<double> took;
    std::atomic<bool> stop = false;
    std::atomic<std::chrono::steady_clock::rep> released{0};
    const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i <= waiters; ++i)
            threads.emplace_back([&, i] {
                lh::basic_lease lease{stores[i], "measured", terms};
                while (!stop) {
                    auto guard = acquire(lease, polling);
                    const auto got = now();
                    if (const auto since = released.exchange(0)) {
                        const std::lock_guard lock{mutex};
                        took.push_back(ms{std::chrono::steady_clock::duration{got - since}}.count());
                        if (took.size() >= static_cast<std::size_t>(times)) stop = true;
                    }
                    std::this_thread::sleep_for(15ms);
                    released = now();
                    guard.release();
                    // Not before somebody else has it: a poller that came back at once would nearly always win.
                    while (released != 0 && !stop) std::this_thread::sleep_for(100us);
                }
            });
    }
    return of(std::move(took));
}

template <class Store>
void contend(const char* label, std::deque<Store>& stores, bool polling)
{
    constexpr std::size_t contenders = 8;
    std::vector<int> grants(contenders);
    std::vector<double> longest(contenders);
    const auto until = std::chrono::steady_clock::now() + contention;
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < contenders; ++i)
            threads.emplace_back([&, i] {
                lh::basic_lease lease{stores[i], "contended", terms};
                while (std::chrono::steady_clock::now() < until) {
                    const auto begun = std::chrono::steady_clock::now();
                    auto guard = acquire(lease, polling);
                    longest[i] = std::max(longest[i], ms{std::chrono::steady_clock::now() - begun}.count());
                    ++grants[i];
                    std::this_thread::sleep_for(1ms);
                }
            });
    }
    int all = 0;
    for (const int each : grants) all += each;
    const auto [least, most] = std::ranges::minmax(grants);
    std::printf("%-12s 8 contenders, %-5s %6.0f grants/s   most/least %.2f (%d, %d)   longest wait %.1f ms\n", label,
                polling ? "poll" : "wait", all / std::chrono::duration<double>{contention}.count(),
                least > 0 ? static_cast<double>(most) / least : 0.0, most, least, std::ranges::max(longest));
    std::fflush(stdout);
}

template <class Store>
void measure(const char* label, std::deque<Store>& stores)
{
    for (const std::size_t waiters : {1U, 8U}) {
        const statistics own = hand_overs(stores, waiters, 200, false);
        const statistics poll = hand_overs(stores, waiters, 60, true);
        std::printf("%-12s %zu waiter%s  median %7.3f ms  p99 %7.3f ms   50 ms poll: median %6.2f ms  p99 %6.2f ms   ratio %.0f\n", label,
                    waiters, waiters == 1 ? " " : "s", own.median, own.p99, poll.median, poll.p99, poll.median / own.median);
        std::fflush(stdout);
    }
    contend(label, stores, false);
    contend(label, stores, true);
}

void measure_database(const char* label, const std::string& connection_string)
{
    std::deque<lh::odbc_store> stores;
    for (int i = 0; i < 9; ++i) stores.emplace_back(connection_string, lh::odbc_options{.session_locks = true});
    stores.front().create_schema();
    measure(label, stores);
}

// Nine views of one store, as the processes' stores of one database.
void measure_memory()
{
    lh::memory_store store;
    const auto hook = [](const lh::store_call&, const lh::store_call_report&) {};
    std::deque<lh::hooked_store<lh::memory_store, decltype(hook)>> stores;
    for (int i = 0; i < 9; ++i) stores.emplace_back(store, hook);
    measure("memory", stores);
}

}  // namespace

int main(int argc, char** argv)
try {
    const std::string only = argc > 1 ? argv[1] : "";
    const temporary_directory folder;
    if (only.empty() || only == "memory") measure_memory();
    if (only.empty() || only == "sqlite") measure_database("SQLite", sqlite_connection_string(folder.path() / "leases.db"));
    if (only.empty() || only == "postgresql") {
        const postgresql_server server;
        measure_database("PostgreSQL", server.connection_string());
    }
    if (only.empty() || only == "mariadb") {
        const mariadb_server server;
        measure_database("MariaDB", server.connection_string());
    }
    return EXIT_SUCCESS;
}
catch (const std::exception& e) {
    std::fprintf(stderr, "hand_over: %s\n", e.what());
    return EXIT_FAILURE;
}
