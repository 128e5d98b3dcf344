// SPDX-License-Identifier: BSL-1.0
// Nothing but grants and releases, on one processor, for a profiler to look at: tests/benchmarks/profile/shares.
#include "../cost/one_processor.hpp"
#include "../usual_sizes.hpp"

#include <benchmarks/scale/processor_time.hpp>
#include <contract/asked_once.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/postgresql_server.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr auto warm_up = 1s;

/// How many in that time.
template <class Lease>
double pairs(Lease& lease, std::chrono::seconds length)
{
    const auto until = std::chrono::steady_clock::now() + length;
    double done = 0;
    for (; std::chrono::steady_clock::now() < until; ++done)
        if (!is_held(lease.try_acquire())) throw std::runtime_error{"a grant failed"};
    return done;
}

template <class Store>
void grant_and_release(Store& store, pid_t server, std::chrono::seconds length)
{
    lh::basic_lease lease{store, "measured"};
    pairs(lease, warm_up);
    std::printf("begin %d %d\n", static_cast<int>(getpid()), static_cast<int>(server));  // a profiler attaches now
    std::fflush(stdout);
    const auto server_time = [server] { return server ? scale::processor_time_of(server) : 0.0; };
    const double own = scale::own_processor_time(), of_server = server_time();
    const double done = pairs(lease, length);
    const auto each = [done](double seconds) { return seconds / done * 1e6; };
    std::printf("grant + release %.3f us: %.3f us of the processor in this process, %.3f in the server\n",
                each(static_cast<double>(length.count())), each(scale::own_processor_time() - own), each(server_time() - of_server));
}

}  // namespace

int main(int argc, char** argv)
try {
    const std::string store = argc == 3 ? argv[1] : "";
    const std::chrono::seconds length{argc == 3 ? std::atoi(argv[2]) : 0};
    if ((store != "memory" && store != "postgresql") || length < 1s) {
        std::fputs("Usage: profile memory|postgresql SECONDS\n", stderr);
        return 2;
    }
    cost::stay_on_one_processor();
    if (store == "memory") {
        lh::memory_store memory;
        grant_and_release(memory, 0, length);
        return EXIT_SUCCESS;
    }
    const postgresql_server server{postgresql_of_usual_size()};
    lh::odbc_store database{server.connection_string()};
    database.create_schema();
    grant_and_release(database, server.pid(), length);
    return EXIT_SUCCESS;
}
catch (const std::exception& e) {
    std::fprintf(stderr, "profile: %s\n", e.what());
    return EXIT_FAILURE;
}
