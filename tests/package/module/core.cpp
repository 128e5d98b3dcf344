// SPDX-License-Identifier: BSL-1.0
#include <chrono>
#include <functional>
#include <iostream>
#include <stop_token>
#include <system_error>
#include <unordered_set>

import leasehold;

namespace lh = leasehold;
using namespace std::chrono_literals;

const void* category_of_headers();
lh::fencing_token token_of(const lh::lease_record& record);

// What is reachable without being exported by its name: deduction guides, specialisations in std, friends, operators.
int main()
{
    lh::manual_clock clock;
    lh::basic_memory_store store{clock};
    lh::basic_lease lease{store, "nightly-report", lh::lease_terms{.ttl = 30s}, clock, lh::no_renewal{}};
    auto guard = lease.try_acquire();
    if (!guard || guard.token() < lh::fencing_token{}) return 1;

    const std::unordered_set tokens{guard.token()};
    if (!tokens.contains(guard.token())) return 2;

    const std::error_code code = lh::errc::store_timeout;
    if (code != std::errc::timed_out || code.category() != lh::lease_category()) return 3;
    try {
        lh::basic_lease wrong{store, ""};
        return 4;
    } catch (const std::system_error& error) {
        if (error.code() != lh::errc::invalid_name) return 5;
    }

    if (category_of_headers() != &lh::lease_category() || token_of(lease.inspect().value()) != guard.token()) return 6;

    std::cout << "held under token " << guard.token() << ", " << guard.release() << '\n';
    if (guard.held()) return 7;

    auto next = lease.try_acquire();
    clock.advance(31s);
    if (next.held() || next.release() != lh::release_outcome::lost) return 8;

    lh::leader_election election{lease};
    std::stop_source stop;
    stop.request_stop();
    election.run(stop.get_token(), [](auto&) {});
    return 0;
}
