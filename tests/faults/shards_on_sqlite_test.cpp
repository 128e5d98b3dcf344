// SPDX-License-Identifier: BSL-1.0
// Members that divide shards in an SQLite file, each with a store of its own.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <contract/odbc_connection.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <list>
#include <stop_token>
#include <string>
#include <thread>

BOOST_AUTO_TEST_SUITE(shards_on_sqlite)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t shards = 12;

struct member {
    lh::odbc_store store;
    lh::shard_group<lh::odbc_store> group{store, "orders", shards, lh::shard_options{.ttl = 1500ms}};
    std::jthread runs{};

    member(const std::string& connection_string, std::array<std::atomic<int>, shards>& owners, std::atomic<int>& doubles)
        : store{connection_string}
    {
        runs = std::jthread{[this, &owners, &doubles](const std::stop_token& stop) {
            group.run(stop, [&](auto& shard) {
                if (++owners[shard.index()] > 1) ++doubles;
                while (shard.held() && !shard.draining()) std::this_thread::sleep_for(2ms);
                --owners[shard.index()];
            });
        }};
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(have_one_owner_each_and_go_to_those_that_join_and_stay)
{
    const temporary_directory folder;
    const std::string connection_string = sqlite_connection_string(folder.path() / "leases.db");
    lh::odbc_store{connection_string}.create_schema();
    std::array<std::atomic<int>, shards> owners{};
    std::atomic<int> doubles{0};
    std::list<member> members;
    const auto shares_are = [&](std::size_t each) {
        return eventually(
            [&] {
                for (const member& m : members)
                    if (m.group.owned().size() != each) return false;
                return true;
            },
            20s);
    };
    members.emplace_back(connection_string, owners, doubles);
    members.emplace_back(connection_string, owners, doubles);
    BOOST_TEST(shares_are(6));
    members.emplace_back(connection_string, owners, doubles);
    BOOST_TEST(shares_are(4));
    members.pop_front();
    BOOST_TEST(shares_are(6));
    BOOST_TEST(members.front().group.view().size() == shards);
    BOOST_TEST(members.front().group.members().size() == 2U);
    BOOST_TEST(doubles == 0);
}

BOOST_AUTO_TEST_SUITE_END()
