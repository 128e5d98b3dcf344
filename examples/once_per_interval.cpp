// SPDX-License-Identifier: BSL-1.0
// ctest:

// A job that must run at most once per interval, no matter how many hosts try: min_hold keeps the name closed after a job
// that ended sooner. Here five hosts try at the same time, in three intervals of half a second.
//
// It runs on an SQLite file, or on the database of a connection string that is given as an argument.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;

constexpr auto interval = 500ms;
constexpr lh::lease_terms once{.ttl = 2s, .min_hold = interval};

int main(int argc, char** argv)
{
    const std::string connection_string = argc > 1 ? argv[1] : "Driver=SQLite3;Database=once_per_interval.db";
    lh::odbc_store{connection_string}.create_schema();

    const auto end = std::chrono::steady_clock::now() + 2 * interval + interval / 2;
    std::optional<std::chrono::steady_clock::time_point> last;
    bool at_most_once = true;
    int runs = 0;
    std::atomic<int> skipped = 0;
    const auto host = [&](int number) {
        lh::odbc_store store{connection_string};  // every host has its own
        lh::basic_lease lease{store, "send-the-newsletter", once};
        while (std::chrono::steady_clock::now() < end) {
            // The job is over at once, and so is its guard; the name stays closed for the rest of the interval.
            const bool ran = lease.try_run([&](auto& guard) {
                const auto now = std::chrono::steady_clock::now();
                std::cout << "host " << number << " runs the job, token " << guard.token() << std::endl;
                at_most_once = at_most_once && (!last || now - *last > interval - 10ms);
                last = now;
                ++runs;
            });
            if (!ran) ++skipped;
            std::this_thread::sleep_for(20ms);  // these hosts try often; yours may try once a minute
        }
    };
    {
        std::vector<std::jthread> hosts;
        for (int number = 1; number <= 5; ++number) hosts.emplace_back(host, number);
    }
    std::cout << "ran " << runs << " times, was skipped " << skipped << " times\n";
    return at_most_once && runs >= 2 && runs <= 4 && skipped > 0 ? 0 : 1;
}
