// SPDX-License-Identifier: BSL-1.0
// ctest:

// Waiting for a turn, with a time limit and with a way to cancel the wait, and without a polling loop of your own.
//
// It runs on an SQLite file, or on the database of a connection string that is given as an argument.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <iostream>
#include <stop_token>
#include <string>
#include <thread>

namespace lh = leasehold;
using namespace std::chrono_literals;

int main(int argc, char** argv)
{
    const std::string connection_string = argc > 1 ? argv[1] : "Driver=SQLite3;Database=waiting_turn.db";
    lh::odbc_store store{connection_string};
    store.create_schema();
    lh::odbc_store stores_elsewhere{connection_string};  // another host has its own
    lh::basic_lease ours{store, "the-only-printer", lh::lease_terms{.ttl = 30s}};
    lh::basic_lease theirs{stores_elsewhere, "the-only-printer", lh::lease_terms{.ttl = 30s}};

    auto guard = theirs.acquire();
    std::cout << "they print, token " << guard.token() << '\n';

    // With a limit: an empty guard, and no error, if the time runs out.
    const auto early = ours.try_acquire_for(200ms);
    const bool in_time = early.held();
    std::cout << "we waited for 200 ms: " << (in_time ? "our turn" : "still busy") << '\n';

    // Cancelled from another thread, for example because this service shuts down.
    std::jthread printing{[&ours](std::stop_token shut_down) {
        const auto turn = ours.acquire(shut_down);
        const bool called_off = turn.empty();
        std::cout << (called_off ? "we called our wait off\n" : "our turn, too soon\n");
    }};
    std::this_thread::sleep_for(100ms);
    printing.request_stop();
    printing.join();

    // Without a limit: the release wakes us if the database can do that (PostgreSQL, MariaDB); otherwise we poll.
    const auto begun = std::chrono::steady_clock::now();
    std::jthread done_soon{[&guard] {
        std::this_thread::sleep_for(300ms);
        std::cout << "they are done\n";
        guard.release();
    }};
    const auto turn = ours.acquire();
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
    done_soon.join();
    std::cout << "our turn after " << waited.count() << " ms, token " << turn.token() << '\n';
    return !in_time && turn.held() && waited >= 290ms && waited < 25s ? 0 : 1;
}
