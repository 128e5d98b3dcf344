// SPDX-License-Identifier: BSL-1.0
// ctest:

// A holder says where it can be reached, and hands over when it is asked: how a new version takes over without a gap.
//
// It runs on an SQLite file, or on the database of a connection string that is given as an argument.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <stop_token>
#include <string>
#include <thread>

namespace lh = leasehold;
using namespace std::chrono_literals;

int main(int argc, char** argv)
{
    const std::string connection_string = argc > 1 ? argv[1] : "Driver=SQLite3;Database=hand_over.db";
    lh::odbc_store store{connection_string};
    store.create_schema();
    lh::odbc_store store_elsewhere{connection_string};  // another host has its own

    std::atomic<bool> serving = false;
    std::thread old_version{[&] {
        lh::basic_lease lease{store, "service", 2s};
        auto guard = lease.acquire();
        guard.publish("10.0.0.7:8443");
        serving = true;
        while (guard.held() && !guard.handover_requested()) std::this_thread::sleep_for(10ms);  // serves requests
        std::cout << "the old version ends: " << guard.handover_reason() << '\n';
    }};
    while (!serving) std::this_thread::sleep_for(1ms);

    // Anybody can see where the holder is.
    lh::basic_lease lease{store_elsewhere, "service", 2s};
    const auto holder = lease.inspect();
    const bool published = holder && holder->data == "10.0.0.7:8443";
    if (holder) std::cout << "served at " << holder->data << '\n';

    // The new version asks, and waits for its turn. A holder that does not answer keeps its lease.
    const bool asked = lease.request_handover("version 2 is ready");
    auto guard = lease.try_acquire_for(30s);
    old_version.join();
    if (guard) guard.publish("10.0.0.8:8443");
    const auto next = lease.inspect();
    std::cout << "served at " << (next ? next->data : "no address") << '\n';
    return published && asked && guard.held() && next && next->data == "10.0.0.8:8443" ? 0 : 1;
}
