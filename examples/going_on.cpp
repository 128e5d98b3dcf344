// SPDX-License-Identifier: BSL-1.0
// ctest:

// A checkpoint: the next holder continues exactly where the last one stopped.
//
// The checkpoint is saved in the transaction that writes. So a worker that dies between two batches leaves nothing half done: what
// it has committed is in the checkpoint, and what it has not is done again. This example uses SQLite.
#include "thread_service/connection.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <iostream>
#include <string>

namespace lh = leasehold;
using namespace std::chrono_literals;

constexpr const char* database = "Driver=SQLite3;Database=going_on.db;Timeout=2000";

// Imports these orders, from where the last holder has stopped, two at a time. False: it is no longer the holder.
template <class Guard>
bool import_orders(connection& to, const Guard& guard, int up_to)
{
    const int done = std::stoi(guard.load_checkpoint().value_or("0"));
    std::cout << guard.owner() << " goes on after order " << done << '\n';
    for (int next = done + 1; next <= up_to; next += 2) {
        to.run("insert into imported values (" + std::to_string(next) + ")");
        to.run("insert into imported values (" + std::to_string(next + 1) + ")");
        if (!lh::odbc::save_checkpoint(to.handle(), guard, std::to_string(next + 1))) {
            to.roll_back();
            return false;
        }
        to.commit();
    }
    return true;
}

int main()
{
    lh::odbc_store store{database};
    store.create_schema();
    connection application{database};  // the application's own, with transactions
    application.run("create table if not exists imported (number integer primary key)");
    application.commit();

    const lh::lease_terms terms{.ttl = 500ms};
    lh::basic_lease first{store, "import", terms, lh::fixed_owner_id{"worker-1"}, lh::manual_clock{}, lh::no_renewal{}};
    lh::basic_lease second{store, "import", terms, lh::fixed_owner_id{"worker-2"}};

    // Its clock stands still: it still believes that it holds the lease, as a process does that was stopped.
    const auto stopped = first.try_acquire();
    if (!stopped || !import_orders(application, stopped, 4)) return 1;
    application.run("insert into imported values (5)");  // and it stops here
    application.roll_back();

    const auto guard = second.try_acquire_for(10s);
    if (!guard || !import_orders(application, guard, 8)) return 1;
    const bool late = import_orders(application, stopped, 10);
    std::cout << "worker-1 wakes up; its next orders are " << (late ? "imported" : "refused") << '\n';
    std::cout << "the checkpoint is " << store.checkpoint("import")->text << '\n';
    return !late && store.checkpoint("import")->text == "8" ? 0 : 1;
}
