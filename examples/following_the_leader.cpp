// SPDX-License-Identifier: BSL-1.0
// ctest:

// Followers that know who leads, and where: the owner of the lease is the leader's address.
//
// on_leader_observed is called once for each new leader. A candidate learns of a leader by its own attempts: when it is
// woken or polls, and at the latest when the known leader's time would be over. So no program needs a polling loop of its
// own. A follower's knowledge may be out of date. So it sends the token with each request that it forwards, and a leader
// with another token refuses the request.
//
// It runs on an SQLite file, or on the database of a connection string that is given as an argument.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;

const std::vector<std::string> addresses{"10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080"};

// What every node knows. It is shared only because the nodes of this example are threads.
class knowledge {
public:
    void learn(const std::string& node, const std::string& leader, lh::fencing_token token)
    {
        const std::lock_guard lock{mutex_};
        leader_of_[node] = leader;
        std::cout << node << (node == leader ? " leads" : " follows " + leader) << ", token " << token << std::endl;
    }
    bool everybody_follows(const std::string& leader)
    {
        const std::lock_guard lock{mutex_};
        return std::ranges::all_of(addresses, [&](const std::string& node) { return leader_of_[node] == leader; });
    }

private:
    std::mutex mutex_;
    std::map<std::string, std::string> leader_of_;
};

int main(int argc, char** argv)
{
    const std::string connection_string = argc > 1 ? argv[1] : "Driver=SQLite3;Database=following_the_leader.db";
    lh::odbc_store{connection_string}.create_schema();

    knowledge known;
    std::stop_source enough;
    std::atomic<int> followed = 0;  // leaders that all others knew
    const auto node = [&](const std::string& address) {
        lh::odbc_store store{connection_string};  // as every node has its own
        lh::basic_lease lease{store, "shard-7", lh::lease_terms{.ttl = 10s}, lh::steady_clock{},
                              lh::fixed_owner_id{address}};
        lh::leader_election election{
            lease,
            {
                .on_elected = [&](lh::fencing_token token) { known.learn(address, address, token); },
                .on_leader_observed =
                    [&](const lh::lease_record& leader) { known.learn(address, leader.owner, leader.token); },
            }};
        election.run(enough.get_token(), [&](auto& term) {
            while (term.held() && !known.everybody_follows(address)) std::this_thread::sleep_for(10ms);
            if (term.held() && ++followed == 3) enough.request_stop();
        });  // returning hands the leadership over to the next node
    };
    {
        std::vector<std::jthread> nodes;
        for (const std::string& address : addresses) nodes.emplace_back(node, address);
        for (auto until = std::chrono::steady_clock::now() + 30s;
             !enough.stop_requested() && std::chrono::steady_clock::now() < until;)
            std::this_thread::sleep_for(10ms);
        enough.request_stop();
    }
    return followed >= 3 ? 0 : 1;
}
