// SPDX-License-Identifier: BSL-1.0
// fires_host CONNECTION_STRING: one of several processes that run a job once per fire of 50 ms, until it is killed. The job writes its fire
// into a table of its own, in the transaction that completes the fire.
#include <contract/odbc_connection.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <stop_token>
#include <string>

namespace lh = leasehold;
using namespace std::chrono_literals;

int main(int, char** argv)
{
    try {
        lh::odbc_store store{argv[1]};
        leasehold_test::odbc_connection mine{argv[1]};
        mine.begin();
        lh::recurring job{store, "job", lh::every{.period = 50ms},
                          lh::recurring_options{.ttl = 500ms, .catch_up = lh::catch_up::all, .retry_min = 1ms, .retry_max = 10ms}};
        job.run(std::stop_token{}, [&mine](auto& run) {
            try {
                mine.execute("insert into fires (fire) values (" + std::to_string(run.fire().time_since_epoch() / 50ms) + ")");
                if (run.complete(mine.handle()))
                    mine.commit();
                else
                    mine.roll_back();
            }
            catch (...) {
                mine.roll_back();
                throw;
            }
        });
    }
    catch (const std::exception& failed) {
        std::cerr << "fires_host: " << failed.what() << std::endl;
    }
    return 1;  // it ends only by a signal
}
