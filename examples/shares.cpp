// SPDX-License-Identifier: BSL-1.0
// ctest:

// Work divided among replicas: each consumes its share of the partitions, and goes on where the last owner of a partition has stopped.
//
// What is consumed and how far that is are written in one transaction. So each entry is consumed exactly once, although partitions move
// from one replica to another meanwhile. Here the replicas are threads; in your service each is a process. This example uses SQLite.
#include "thread_service/connection.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <stop_token>
#include <string>
#include <thread>

namespace lh = leasehold;
using namespace std::chrono_literals;

constexpr const char* database = "Driver=SQLite3;Database=shares.db;Timeout=5000";
constexpr std::size_t partitions = 6;
constexpr int entries_of_each = 10;

std::atomic<int> consumed{0};

// Consumes a partition for as long as this replica owns it.
template <class Shard>
void consume(Shard& shard)
{
    connection application{database};  // the application's own, with transactions
    int done = std::stoi(shard.load_checkpoint().value_or("0"));
    while (shard.held() && !shard.draining()) {
        std::this_thread::sleep_for(20ms);
        if (done == entries_of_each) continue;
        const std::string entry = std::to_string(done + 1);
        application.run("insert into consumed values (" + std::to_string(shard.index()) + ", " + entry + ")");
        if (!lh::odbc::save_checkpoint(application.handle(), shard.guard(), entry)) {
            application.roll_back();  // somebody else owns it now, and has begun after the last commit
            return;
        }
        application.commit();
        ++done;
        ++consumed;
    }
}

struct replica {
    lh::odbc_store store{database};
    lh::shard_group<lh::odbc_store> shards{store, "orders", partitions, lh::shard_options{.ttl = 900ms}};
    std::jthread runs{[this](const std::stop_token& stop) { shards.run(stop, [](auto& shard) { consume(shard); }); }};
};

// Whether `so` comes true within 20 seconds.
template <class Condition>
bool comes(Condition so)
{
    for (int i = 0; i < 2000 && !so(); ++i) std::this_thread::sleep_for(10ms);
    return so();
}

int main()
{
    lh::odbc_store{database}.create_schema();
    connection application{database};
    application.run("create table if not exists consumed (part integer, entry integer, primary key (part, entry))");
    application.commit();

    replica first;
    if (!comes([&] { return first.shards.owned().size() == 6; })) return 1;
    std::cout << "one replica has all partitions\n";
    {
        replica second;
        if (!comes([&] { return first.shards.owned().size() == 3 && second.shards.owned().size() == 3; })) return 1;
        std::cout << "two replicas have three each\n";
    }
    if (!comes([&] { return first.shards.owned().size() == 6; })) return 1;
    std::cout << "the second has left, and handed its share back\n";
    if (!comes([] { return consumed == partitions * entries_of_each; })) return 1;
    std::cout << consumed << " entries, each once\n";
    return 0;
}
