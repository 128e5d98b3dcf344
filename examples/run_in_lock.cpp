// SPDX-License-Identifier: BSL-1.0
// ctest:

// Run something under a lock, if nobody else does.
//
// As it is usually written: insert a row with the lock's name and a UUID, run, delete the row. A process that crashes in
// between leaves the row for ever. So somebody adds a job that deletes old rows; then work that takes longer than expected
// has its row deleted, a second process begins beside it, and the first one's "delete where name = ..." ends the second's lock.
// Here a term runs out by itself unless it is renewed, as it is while the work goes on; and a release ends that very term
// (name, owner, token) or nothing. The owner is random, and there is nothing to be cleaned up.
//
// On an SQLite file, or the database of the connection string given.
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

    // Runs, and hands back what the work returns; empty: somebody else is at it. What the work throws comes through.
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

    // It has only been suspended, wakes up and ends its lock, as it thinks: that is none of ours.
    const bool ended = store.release("import", "crashed", crashed.token, 0s, ec);
    std::cout << "its release " << (ended ? "ended something" : "changed nothing") << ", ours is "
              << (import.inspect() ? "still there" : "gone") << '\n';
    return rows == 42 && crashed.granted() && next.held() && next.token() > crashed.token && !ended && import.inspect() ? 0
                                                                                                                        : 1;
}
