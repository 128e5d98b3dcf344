// SPDX-License-Identifier: BSL-1.0
// The suite on a store that is no part of the library: examples/redis_store.
#include <contract/contract.hpp>
#include <redis_store/redis_store.hpp>

#include <support/child_process.hpp>
#include <support/environment.hpp>
#include <support/redis_address.hpp>
#include <support/redis_outage.hpp>
#include <support/redis_server.hpp>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::redis_options_of;
using leasehold_test::redis_outage;
using leasehold_test::redis_server;
using redis_leases::redis_store;

class redis_peer {
public:
    redis_peer(const std::string& address, const std::vector<std::string>& orders, lh::duration clock_off_by)
        : process_{command(orders), {.environment = environment(address, clock_off_by)}}
    {
    }

    void kill() { process_.kill(); }
    int wait()
    {
        const leasehold_test::exit_status status = process_.wait();
        return status.signal ? 128 + status.signal : status.code;
    }

private:
    static std::vector<std::string> command(const std::vector<std::string>& orders)
    {
        std::vector<std::string> words{CONTRACT_PEER_REDIS};
        words.insert(words.end(), orders.begin(), orders.end());
        return words;
    }

    static std::map<std::string, std::string> environment(const std::string& address, lh::duration clock_off_by)
    {
        std::map<std::string, std::string> variables;
        if (clock_off_by != lh::duration::zero())
            variables =
                leasehold_test::faketime_environment((clock_off_by > 0s ? "+" : "") + std::to_string(clock_off_by / 1s));
        variables["LEASEHOLD_CONTRACT_STORE"] = address;
        return variables;
    }

    leasehold_test::child_process process_;
};

struct redis_database {
    redis_server server;
    redis_store store{redis_options_of(server.connection_string())};
    redis_store another{redis_options_of(server.connection_string())};
};

struct redis_fixture {
    static redis_database& database()
    {
        static redis_database the_database;
        return the_database;
    }

    redis_store& store() { return database().store; }
    redis_store& another_store() { return database().another; }
    void let_pass(lh::duration d) { std::this_thread::sleep_for(d); }
    lh::duration short_ttl() const { return 250ms; }

    void delete_row(std::string_view name)
    {
        const std::string both = "leasehold:{lease:" + std::string{name} + "}:";
        database().server.command({"del", both + "term", both + "token"});
    }
    redis_outage begin_outage() { return redis_outage{database().server}; }
    redis_peer start_peer(const std::vector<std::string>& orders, lh::duration clock_off_by)
    {
        return {database().server.connection_string(), orders, clock_off_by};
    }
    std::vector<lh::duration> wrong_clocks() const { return {0h, 5h, -3h, 0h}; }
};

const lh::contract::suite<redis_fixture> contract{"redis"};

}  // namespace
