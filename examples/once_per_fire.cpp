// SPDX-License-Identifier: BSL-1.0
// ctest:

// A job that runs once per fire of a schedule, on any host: each of five hosts waits for the fires, and the table knows which of them are
// done. Here a fire comes every 200 ms, and the job fails now and then; the first process to ask tries that fire again. In an outage
// a fire is missed: catch_up says what becomes of it.
//
// It runs on an SQLite file, or on the database of a connection string that is given as an argument.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <iostream>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;

int main(int argc, char** argv)
{
    const std::string connection_string = argc > 1 ? argv[1] : "Driver=SQLite3;Database=once_per_fire.db";
    lh::odbc_store{connection_string}.create_schema();

    std::stop_source stop;
    std::mutex mutex;
    std::map<lh::fire_time, int> reports;  // what the job writes
    const auto host = [&](int number) {
        lh::odbc_store store{connection_string};  // every host has its own
        lh::recurring job{store, "report", lh::every{.period = 200ms},
                          lh::recurring_options{.ttl = 2s, .catch_up = lh::catch_up::all, .retry_min = 10ms, .retry_max = 50ms}};
        job.run(stop.get_token(), [&](auto& run) {
            const std::lock_guard lock{mutex};
            if (run.token().value() % 4 == 0) throw std::runtime_error{"the report fails"};  // its fire is open again
            std::cout << "host " << number << " reports, token " << run.token() << std::endl;
            ++reports[run.fire()];
            if (reports.size() == 10) stop.request_stop();
        });
    };
    {
        std::vector<std::jthread> hosts;
        for (int number = 1; number <= 5; ++number) hosts.emplace_back(host, number);
    }

    bool each_once = reports.size() >= 10;
    for (auto last = reports.begin(), next = std::next(last); next != reports.end(); last = next++)
        each_once = each_once && last->second == 1 && next->first == last->first + 200ms;
    std::cout << reports.size() << " fires, each reported once: " << (each_once ? "yes" : "no") << '\n';
    return each_once ? 0 : 1;
}
