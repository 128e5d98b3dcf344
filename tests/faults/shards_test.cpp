// SPDX-License-Identifier: BSL-1.0
// needs: server
// Processes that divide shards on real servers, and are killed, stopped and started meanwhile. On a cluster each is at another node.
#include <faults/fenced_cluster.hpp>
#include <faults/fenced_databases.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/child_process.hpp>
#include <support/eventually.hpp>
#include <support/galera_cluster.hpp>
#include <support/printing.hpp>
#include <support/temporary_directory.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(shards)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr const char* connection_variable = "LEASEHOLD_TEST_SHARDS_ON";
constexpr const char* folder_variable = "LEASEHOLD_TEST_SHARDS_IN";
constexpr const char* id_variable = "LEASEHOLD_TEST_SHARDS_AS";
constexpr std::size_t shard_count = 24;
constexpr auto ttl = 3s;

std::atomic<bool> terminated{false};

void tell(const std::filesystem::path& folder, const char* what, std::size_t shard) { std::ofstream{folder / what} << shard << '\n'; }

// Of two nodes that change a row in the same instant, one has to ask again.
template <class Shard>
bool save(Shard& shard, const std::string& text)
{
    for (;;) {
        std::error_code ec;
        const bool saved = shard.save_checkpoint(text, ec);
        if (ec != lh::errc::store_conflict || !shard.held()) return saved;
    }
}

// Works on a shard as only its owner may: it has a lock on the shard's file, which the kernel ends with the process, and counts from what
// the last owner has saved, which is at least what that owner has written into the file.
template <class Shard>
void count_on(Shard& shard, const std::filesystem::path& folder)
{
    const std::filesystem::path file = folder / std::to_string(shard.index());
    const int opened = ::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (::flock(opened, LOCK_EX | LOCK_NB) != 0) tell(folder, "two_owners", shard.index());
    long saved_before = 0;
    std::ifstream{file} >> saved_before;
    long count = std::stol(shard.load_checkpoint().value_or("0"));
    if (count < saved_before) tell(folder, "forgotten", shard.index());
    while (shard.held() && !shard.draining()) {
        ++count;
        std::this_thread::sleep_for(10ms);  // there are 24 of these threads, and perhaps two processors
    }
    if (shard.held()) {
        if (save(shard, std::to_string(count)))
            std::ofstream{file} << count;
        else
            tell(folder, "not_saved", shard.index());
    }
    ::close(opened);
}

// Where members find the leases, in turn: all in one place, or each at another node.
template <class Database>
std::vector<std::string> places_of(const Database& database)
{
    lh::odbc_store{database.connection_string()}.create_schema();
    return {database.connection_string()};
}

struct nodes_of_galera {
    galera_cluster& cluster = fenced_cluster();
};

std::vector<std::string> places_of(const nodes_of_galera& of)
{
    std::vector<std::string> all;
    for (std::size_t i = 0; i < galera_cluster::size; ++i) all.push_back(of.cluster.node(i).connection_string());
    return all;
}

using all_databases = boost::mpl::list<postgresql_database, mariadb_database, sqlite_database, nodes_of_galera>;

class members {
public:
    members(std::vector<std::string> places, const std::filesystem::path& folder)
        : places_{std::move(places)}, folder_{folder}, store_{places_.front()}
    {
    }

    void start()
    {
        const std::string& place = places_[started_ % places_.size()];
        const std::string id = "member " + std::to_string(started_++);
        processes_.emplace_back(std::vector<std::string>{"/proc/self/exe", "--run_test=shards/as_a_process_that_is_a_member"},
                                process_options{.environment = {{connection_variable, place},
                                                                {folder_variable, folder_.string()},
                                                                {id_variable, id}}});
    }
    child_process& oldest() { return processes_.front(); }
    void forget_oldest() { processes_.pop_front(); }

    // All shards are owned by as many members as there are, and the shares differ by at most one.
    [[nodiscard]] bool fair()
    {
        std::error_code ec;
        std::map<std::string, std::size_t> shares;
        for (const lh::shard_view& each : look_.view(ec)) ++shares[each.owner];
        if (ec || shares.size() != processes_.size()) return false;
        std::size_t all = 0, least = shard_count, most = 0;
        for (const auto& each : shares) {
            all += each.second;
            least = std::min(least, each.second);
            most = std::max(most, each.second);
        }
        return all == shard_count && most - least <= 1;
    }

private:
    std::vector<std::string> places_;
    std::filesystem::path folder_;
    lh::odbc_store store_;
    lh::shard_group<lh::odbc_store> look_{store_, "orders", shard_count};
    std::list<child_process> processes_;
    std::size_t started_ = 0;
};

}  // namespace

// Not a test by itself: one of the processes of the next one.
BOOST_AUTO_TEST_CASE(as_a_process_that_is_a_member)
{
    const char* connection_string = std::getenv(connection_variable);
    if (!connection_string) return;
    const std::filesystem::path folder = std::getenv(folder_variable);
    std::signal(SIGTERM, [](int) { terminated = true; });
    lh::odbc_store store{connection_string, lh::odbc_options{.call_timeout = 2s}};
    lh::shard_group group{store, "orders", shard_count, lh::shard_options{.ttl = ttl, .id = std::getenv(id_variable)}};
    std::stop_source stop;
    std::thread runs{[&] { group.run(stop.get_token(), [&](auto& shard) { count_on(shard, folder); }); }};
    while (!terminated) std::this_thread::sleep_for(10ms);
    stop.request_stop();
    runs.join();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(of_processes_that_are_killed_stopped_and_started_have_one_owner_each_and_fair_shares, Database, all_databases)
{
    Database database;
    const std::vector<std::string> places = places_of(database);
    const temporary_directory folder;
    members all{places, folder.path()};
    for (int i = 0; i < 3; ++i) all.start();
    BOOST_TEST(eventually([&] { return all.fair(); }, 90s, 20ms));
    for (int round = 0; round < 4; ++round) {
        all.start();
        BOOST_TEST(eventually([&] { return all.fair(); }, 90s, 20ms));
        if (round % 2 == 0) {
            all.oldest().kill();
        } else {
            all.oldest().signal(SIGTERM);
            BOOST_TEST(all.oldest().wait().success());
        }
        all.forget_oldest();
        BOOST_TEST(eventually([&] { return all.fair(); }, 90s, 20ms));
    }
    for (const char* const fault : {"two_owners", "forgotten", "not_saved"})
        BOOST_TEST(!std::filesystem::exists(folder.path() / fault), fault);
    lh::odbc_store store{places.front()};
    std::size_t saved = 0;
    for (std::size_t i = 0; i < shard_count; ++i) saved += store.checkpoint("orders/" + std::to_string(i)).has_value() ? 1 : 0;
    BOOST_TEST(saved > 0U);
}

BOOST_AUTO_TEST_SUITE_END()
