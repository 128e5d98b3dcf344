// SPDX-License-Identifier: BSL-1.0
// ctest:

// Several leases at a time. A basic_lease is a TimedLockable, so the standard library can lock any number of them, in any
// order, without a deadlock: std::scoped_lock and std::lock wait for all of them, std::try_lock takes all or none.
//
// It runs on an SQLite file, or on the database of a connection string that is given as an argument.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

namespace lh = leasehold;
using namespace std::chrono_literals;

constexpr lh::lease_terms terms{.ttl = 30s};

int main(int argc, char** argv)
{
    const std::string connection_string = argc > 1 ? argv[1] : "Driver=SQLite3;Database=several_leases.db";
    lh::odbc_store{connection_string}.create_schema();

    int transfers = 0;  // protected only by the leases
    const auto transfer = [&](const char* from, const char* to) {
        lh::odbc_store store{connection_string};  // every host has its own
        lh::basic_lease debit{store, from, terms};
        lh::basic_lease credit{store, to, terms};
        for (int i = 0; i < 20; ++i) {
            const std::scoped_lock both{debit, credit};
            ++transfers;
        }
    };
    {
        const std::jthread one_host{transfer, "account-1", "account-2"};
        const std::jthread another{transfer, "account-2", "account-1"};
    }
    std::cout << transfers << " transfers in opposite orders, and no deadlock\n";

    lh::odbc_store store{connection_string};
    lh::basic_lease one{store, "account-1", terms}, two{store, "account-2", terms}, three{store, "account-3", terms};
    lh::basic_lease somebody_elses{store, "account-3", terms};

    // Takes all or none, without waiting. Returns -1, or the index of the busy one; those before it are then free again.
    auto theirs = somebody_elses.try_acquire();
    const int busy = std::try_lock(one, two, three);
    const bool none = !one.inspect() && !two.inspect();
    std::cout << "account " << busy + 1 << " was busy, so we hold " << (none ? "none" : "some") << '\n';
    theirs.release();

    // Waits until it has all of them. Each keeps its own guard, and each can be lost: check before you rely on it.
    std::lock(one, two, three);
    const std::scoped_lock to_be_unlocked{std::adopt_lock, one, two, three};
    const bool all = one.guard().held() && two.guard().held() && three.guard().held();
    std::cout << "and now we hold " << (all ? "all three" : "not all") << '\n';
    return transfers == 40 && busy == 2 && none && all ? 0 : 1;
}
