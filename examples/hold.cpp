// SPDX-License-Identifier: BSL-1.0
// ctest:

// A name is held closed while its tables are rebuilt, and an observer tells of it: what an operator does before a migration.
//
// It runs on an SQLite file, or on the database of a connection string that is given as an argument.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>

namespace lh = leasehold;
using namespace std::chrono_literals;

int main(int argc, char** argv)
{
    const std::string connection_string = argc > 1 ? argv[1] : "Driver=SQLite3;Database=hold.db";
    lh::odbc_store store{connection_string};
    store.create_schema();
    lh::odbc_store store_elsewhere{connection_string};  // another host has its own

    std::atomic<int> changes = 0;
    lh::lease_observer watch{store_elsewhere, "import",
                             [&changes](const lh::lease_change& change) {
                                 const lh::lease_record& term = change.record;
                                 std::cout << change.kind << ": " << (term.is_hold() ? term.hold_reason() : term.owner) << '\n';
                                 ++changes;
                             },
                             {.every = 10ms}};
    const auto told = [&changes](int count) {
        for (int i = 0; i < 1000 && changes < count; ++i) std::this_thread::sleep_for(10ms);
        return changes >= count;
    };

    // The holder ends its work when it is asked.
    std::atomic<bool> imports = false;
    std::thread holder{[&] {
        lh::basic_lease lease{store_elsewhere, "import", 2s};
        auto guard = lease.acquire();
        imports = true;
        while (guard.held() && !guard.handover_requested()) std::this_thread::sleep_for(10ms);
    }};
    while (!imports) std::this_thread::sleep_for(1ms);
    bool all = told(1);

    store.hold("import", 1h, "new tables");
    holder.join();
    all = told(3) && all;

    lh::basic_lease lease{store, "import", 2s};
    const auto busy = lease.try_acquire();
    all = busy.empty() && store.unhold("import") && all;
    const auto guard = lease.try_acquire();
    return guard.held() && told(5) && all ? 0 : 1;
}
