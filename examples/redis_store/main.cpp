// SPDX-License-Identifier: BSL-1.0

// A complete store of your own: leases in Redis, over hiredis. docs/redis.md says how to use it and what it can't do.
//
//     redis_store [host [port]]     or     redis_store /path/of/a/socket
//
// One holds the lease and one waits; the release wakes the waiter through a Redis message, and the token grows.
#include "redis_store.hpp"

#include <leasehold/leasehold.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <system_error>
#include <thread>

namespace lh = leasehold;
using namespace std::chrono_literals;

int main(int argc, char** argv)
try {
    redis_leases::redis_options options;
    if (argc > 1 && *argv[1] == '/')
        options.unix_socket = argv[1];
    else if (argc > 1)
        options.host = argv[1];
    if (argc > 2) options.port = std::stoi(argv[2]);

    redis_leases::redis_store store{options};
    redis_leases::redis_store stores_elsewhere{options};  // as another host has its own
    lh::basic_lease theirs{stores_elsewhere, "nightly-report", lh::lease_terms{.ttl = 30s}};
    lh::basic_lease ours{store, "nightly-report", lh::lease_terms{.ttl = 30s}};

    auto guard = theirs.acquire();
    std::cout << "they hold it, token " << guard.token() << "; we: " << (ours.try_run([] {}) ? "granted" : "busy") << '\n';
    const auto record = ours.inspect();
    if (record) std::cout << "Redis says: " << record->owner << '\n';

    std::chrono::steady_clock::time_point released;
    const std::jthread done_soon{[&] {
        std::this_thread::sleep_for(300ms);
        released = std::chrono::steady_clock::now();
        std::error_code not_told;  // then the wait below ends with the term
        guard.release(not_told);
    }};
    const auto turn = ours.try_acquire_for(20s);
    const std::chrono::duration<double, std::milli> waited = std::chrono::steady_clock::now() - released;
    std::cout << "released; we hold it " << waited.count() << " ms later, token " << turn.token() << '\n';
    return record && turn.held() && turn.token() > lh::fencing_token{record->token} ? 0 : 1;
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
