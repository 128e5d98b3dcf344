// SPDX-License-Identifier: BSL-1.0
// ctest:

// Several leases at once: all or none, under one guard; or as many of them as are free.
//
// It runs on an SQLite file, or on the database of a connection string that is given as an argument.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;

int main(int argc, char** argv)
{
    const std::string connection_string = argc > 1 ? argv[1] : "Driver=SQLite3;Database=all_or_none.db";
    lh::odbc_store store{connection_string};
    store.create_schema();

    lh::basic_lease from{store, "account-1", 30s}, to{store, "account-2", 30s};
    bool transferred = false;
    if (auto both = lh::try_acquire_all(from, to)) {
        std::cout << "we hold " << both.size() << " accounts for another " << both.remaining() / 1s << " s\n";
        transferred = both.held();  // one question, one deadline, one stop token
    }

    // Somebody else has one of them: then we get none.
    lh::basic_lease theirs{store, "account-2", 30s};
    auto guard = theirs.try_acquire();
    const auto none = lh::try_acquire_all(to, from);
    const bool busy = none.empty() && !from.inspect();
    std::cout << "one is busy, so we hold " << (busy ? "none" : "some") << '\n';
    guard.release();

    // Rights that don't need each other: take what is free.
    std::vector<lh::lease<lh::odbc_store>> shards;
    for (int i = 0; i < 4; ++i) shards.emplace_back(store, "shard-" + std::to_string(i), 30s);
    lh::basic_lease shard_of_others{store, "shard-2", 30s};
    const auto other = shard_of_others.try_acquire();
    const auto ours = lh::try_acquire_each(shards);
    for (const auto& each : ours) std::cout << "we work on " << each.name() << '\n';
    return transferred && busy && ours.size() == 3 ? 0 : 1;
}
