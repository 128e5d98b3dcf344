// SPDX-License-Identifier: BSL-1.0
// ctest:

// Many readers or one writer, on all hosts: a std::shared_timed_mutex that ends when its holder dies.
//
// It runs on an SQLite file, or on the database of a connection string that is given as an argument.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

namespace lh = leasehold;
using namespace std::chrono_literals;

int main(int argc, char** argv)
{
    const std::string connection_string = argc > 1 ? argv[1] : "Driver=SQLite3;Database=readers_and_writers.db";
    lh::odbc_store store{connection_string};
    store.create_schema();
    lh::odbc_store stores_elsewhere{connection_string};  // another host has its own

    lh::shared_lease catalog{store, "catalog", 30s, lh::reader_limit{8}};
    lh::shared_lease theirs{stores_elsewhere, "catalog", 30s, lh::reader_limit{8}};

    auto reader = catalog.try_acquire_shared(), another = theirs.try_acquire_shared();
    const bool both = reader.held() && another.held();
    const auto writer_beside = catalog.try_acquire();
    std::cout << "two read" << (writer_beside ? ", and one writes\n" : ", so nobody writes\n");

    // A writer that waits goes before new readers.
    bool written = false;
    std::jthread writing{[&theirs, &written] {
        const auto writer = theirs.acquire();
        written = writer.held();
        std::cout << "one writes, token " << writer.token() << '\n';
    }};
    while (const auto one_more = catalog.try_acquire_shared()) std::this_thread::sleep_for(1ms);
    std::cout << "a writer waits, so nobody begins to read\n";
    reader.release();
    another.release();
    writing.join();

    // The standard library's locks work, too.
    bool read = false;
    {
        const std::shared_lock reading{catalog};
        read = catalog.shared_guard().held();
    }
    const std::unique_lock writes{catalog, 5s};
    return both && written && read && writes.owns_lock() && catalog.guard().held() ? 0 : 1;
}
