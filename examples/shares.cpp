// SPDX-License-Identifier: BSL-1.0
// ctest:

// Work divided among replicas: each consumes its share of 16 partitions, and continues where its last owner stopped.
//
// What is consumed and how far that is are written in one transaction. So each entry is consumed exactly once, although partitions move
// from one replica to another, and a replica is killed at work. `shares` starts three replicas, kills one, and counts in the table.
#include "thread_service/connection.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <stop_token>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace lh = leasehold;
using namespace std::chrono_literals;

constexpr const char* database = "Driver=SQLite3;Database=shares.db;Timeout=5000";
constexpr std::size_t partitions = 16;
constexpr int entries_of_each = 60;

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
    }
}

using shards_of_orders = lh::shard_group<lh::odbc_store>;

// What each host runs: until SIGTERM.
int replica()
{
    sigset_t terminate;
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &terminate, nullptr);  // for all threads; this one takes the signal
    lh::odbc_store store{database};
    store.create_schema();
    {
        connection application{database};
        application.run("create table if not exists consumed (part integer, entry integer)");
        application.commit();
    }
    shards_of_orders shards{store, "orders", partitions, lh::shard_options{.ttl = 900ms}};
    const std::jthread runs{[&shards](const std::stop_token& stop) { shards.run(stop, [](auto& shard) { consume(shard); }); }};
    int signal = 0;
    sigwait(&terminate, &signal);
    return 0;
}

// Three processes instead of three hosts.
class three_replicas {
public:
    three_replicas()
    {
        for (pid_t& each : processes_) {
            each = fork();  // before this process has a store or a thread
            if (each == 0) std::_Exit(replica());
        }
    }
    three_replicas(const three_replicas&) = delete;
    three_replicas& operator=(const three_replicas&) = delete;
    ~three_replicas()
    {
        for (const pid_t each : processes_) kill(each, SIGTERM);
        for (const pid_t each : processes_) waitpid(each, nullptr, 0);
    }
    void kill_one() const { kill(processes_[0], SIGKILL); }

private:
    pid_t processes_[3]{};
};

// Whether `so` comes true within a minute.
template <class Condition>
bool comes(Condition so)
{
    for (int i = 0; i < 6000 && !so(); ++i) std::this_thread::sleep_for(10ms);
    return so();
}

int main()
{
    for (const char* each : {"shares.db", "shares.db-wal", "shares.db-shm"}) std::filesystem::remove(each);
    const three_replicas replicas;
    lh::odbc_store store{database};
    store.create_schema();
    const shards_of_orders shards{store, "orders", partitions};
    const auto owners = [&shards] {
        std::set<std::string> all;
        for (const lh::shard_view& each : shards.view()) all.insert(each.owner);
        return all.size();
    };
    if (!comes([&] { return owners() == 3; })) return 1;
    std::cout << "three replicas consume 16 partitions\n";
    replicas.kill_one();
    std::cout << "one of them is killed\n";

    connection application{database};
    const auto count = [&application](const std::string& what) {
        const long found = application.number("select count(" + what + ") from consumed");
        application.commit();  // the next look begins a transaction of its own
        return found;
    };
    if (!comes([&] { return count("*") >= static_cast<long>(partitions) * entries_of_each; })) return 1;
    const long all = count("*"), different = count("distinct part * 1000 + entry");
    std::cout << all << " entries are consumed, " << different << " different ones\n";
    return all == different ? 0 : 1;
}
