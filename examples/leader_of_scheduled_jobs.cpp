// SPDX-License-Identifier: BSL-1.0
// ctest:

// The leader lock of a scheduled service: one of three containers runs the jobs.
//
// Such a lock is usually a row with a name, a container's id and a timestamp, which a heart-beat job sets to the container's
// own time. A container that finds the timestamp older than 30 s by its own clock takes over. So a container whose clock is
// a minute ahead takes over from a healthy leader. If the heart-beat waits behind a slow job, the leader loses the
// leadership. A leader that was suspended works at the same time as its successor when it wakes up. Here the database's
// clock decides, renewals have threads of their own, held() turns false before anybody else is let in, and each write of a
// job carries the token, which grows with each leader. So a job that is late in spite of all this can be refused.
//
// It runs on an SQLite file, or on the database of a connection string that is given as an argument.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

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

// Stores the results of jobs. It refuses results from a leader earlier than the last one that it has seen.
class results {
public:
    bool write(const std::string& container, lh::fencing_token token)
    {
        const std::lock_guard lock{mutex_};
        if (token < last_) return false;
        if (token > last_) std::cout << container << " leads, token " << token << std::endl;
        last_ = token;
        ++jobs_of_[container];
        return true;
    }
    std::size_t leaders() const { return jobs_of_.size(); }

private:
    std::mutex mutex_;
    lh::fencing_token last_;
    std::map<std::string, int> jobs_of_;
};

int main(int argc, char** argv)
{
    const std::string connection_string = argc > 1 ? argv[1] : "Driver=SQLite3;Database=leader_of_scheduled_jobs.db";
    lh::odbc_store{connection_string}.create_schema();

    // A leader that is suspended in the middle of a job: its clock stops, and so does everything else in it.
    lh::odbc_store store_of_suspended{connection_string};
    lh::basic_lease lease_of_suspended{store_of_suspended,
                                       "scheduler",
                                       lh::lease_terms{.ttl = 300ms},
                                       lh::manual_clock{},
                                       lh::fixed_owner_id{"container-s"},
                                       lh::no_renewal{}};
    const auto suspended = lease_of_suspended.try_acquire();

    results shared;
    const auto container = [&](const std::stop_token& shut_down, const std::string& id) {
        lh::odbc_store store{connection_string};  // every container has its own
        lh::basic_lease lease{store, "scheduler", lh::lease_terms{.ttl = 10s}, lh::steady_clock{}, lh::fixed_owner_id{id}};
        lh::leader_election election{lease};
        election.run(shut_down, [&](auto& term) {
            // Each leader runs three jobs and then leaves the turn to another, so that this example shows more than one
            // leader.
            for (int job = 1; job <= 3 && term.held(); ++job) {
                std::this_thread::sleep_for(100ms);
                static_cast<void>(shared.write(id, term.token()));
            }
        });
    };
    {
        std::vector<std::jthread> containers;
        for (const char* id : {"container-a", "container-b", "container-c"}) containers.emplace_back(container, id);
        std::this_thread::sleep_for(2s);
    }
    const bool late = shared.write("container-s", suspended.token());
    std::cout << "container-s wakes up and finishes its job, which is " << (late ? "taken" : "refused") << '\n';
    return shared.leaders() > 1 && !late ? 0 : 1;
}
