// SPDX-License-Identifier: BSL-1.0
// ctest:

// Runs something under a lock, if nobody else holds it.
//
// Such a lock is usually written like this: insert a row with the lock's name and a UUID, run, delete the row. A process
// that crashes in between leaves the row for ever. So somebody adds a job that deletes old rows. That job also deletes the
// row of work that takes longer than expected. Then a second process begins at the same time, and the first one's "delete
// where name = ..." ends the second's lock. Here a term runs out by itself unless it is renewed, which happens during the
// work. A release ends that very term (name, owner, token) or nothing. The owner is random, and there is nothing to clean
// up.
//
// It runs on an SQLite file, or on the database of a connection string that is given as an argument.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>

namespace lh = leasehold;
using namespace std::chrono_literals;

int main(int argc, char** argv)
{
    lh::odbc_store store{argc > 1 ? argv[1] : "Driver=SQLite3;Database=run_in_lock.db"};
    store.create_schema();
    lh::basic_lease import{store, "import", lh::lease_terms{.ttl = 30s}};
    lh::basic_lease elsewhere{store, "import", lh::lease_terms{.ttl = 30s}};

    // Runs the work and returns its result; empty: somebody else holds the lease. Exceptions of the work come through.
    const std::optional<int> rows = import.try_run([&] {
        const bool beside = elsewhere.try_run([] { std::cout << "never printed\n"; });
        std::cout << "we import; somebody else " << (beside ? "too\n" : "is told that it is busy\n");
        return 42;
    });
    std::cout << "imported " << rows.value_or(0) << " rows as " << import.owner() << '\n';

    // A process that died: nobody renews its term, and nobody ends it.
    std::error_code ec;
    const auto crashed = store.try_acquire("import", "crashed", 300ms, ec);
    const auto next = import.try_acquire_for(10s);
    std::cout << "the crashed one had token " << crashed.token << ", we have " << next.token() << " when its time is over\n";

    // The process was only suspended. It wakes up and releases its lock, which does not touch ours.
    const bool ended = store.release("import", "crashed", crashed.token, 0s, ec);
    std::cout << "its release " << (ended ? "ended something" : "changed nothing") << ", ours is "
              << (import.inspect() ? "still there" : "gone") << '\n';
    return rows == 42 && crashed.granted() && next.held() && next.token() > crashed.token && !ended && import.inspect() ? 0
                                                                                                                        : 1;
}
