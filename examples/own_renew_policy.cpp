// SPDX-License-Identifier: BSL-1.0
// ctest:

// A renew policy of your own: a next() that says how long after the last renewal to renew again, or not to renew any more.
//
// The default renews at a third of the ttl, and makes eight attempts or more before the deadline. This policy renews late,
// for a service with many leases and a long ttl that prefers less traffic to surviving a long outage: half as many renewals,
// and two more attempts. It also ends work that takes too long. It only decides; threads and clocks belong to the lease. So
// the compiler can check it, below, and a hooked_store counts what it does in practice.
#include <leasehold/leasehold.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <optional>
#include <thread>

namespace lh = leasehold;
using namespace std::chrono_literals;

struct renew_late {
    lh::duration give_up_after = 1h;

    [[nodiscard]] constexpr std::optional<lh::duration> next(lh::renewal_state state) const noexcept
    {
        if (state.granted > give_up_after)
            return std::nullopt;  // the term then runs to its deadline, and its loss is signalled
        return state.ttl * 6 / 10 + state.ttl / 10 * static_cast<int>(state.attempt);
    }
};

static_assert(lh::renew_policy<renew_late>);
static_assert(renew_late{}.next({.granted = 0s, .ttl = 10s}) == 6s);
static_assert(renew_late{}.next({.granted = 0s, .ttl = 10s, .attempt = 2}) == 8s);  // the deadline is at 9 s
static_assert(!renew_late{}.next({.granted = 2h, .ttl = 10s}));

int main()
{
    lh::memory_store store;
    std::atomic<int> late_renewals = 0;
    std::atomic<int> usual_renewals = 0;
    lh::hooked_store counted{store, [&](const lh::store_call& call, const lh::store_call_report&) {
                                 if (call.operation != lh::store_operation::renew) return;
                                 if (call.name == "late") ++late_renewals;
                                 if (call.name == "as usual") ++usual_renewals;
                             }};
    constexpr lh::lease_terms terms{.ttl = 1s};
    lh::basic_lease late{counted, "late", terms, lh::steady_clock{}, lh::random_owner_id{}, renew_late{}};
    lh::basic_lease limited{
        counted, "limited", terms, lh::steady_clock{}, lh::random_owner_id{}, renew_late{.give_up_after = 500ms}};
    lh::basic_lease as_usual{counted, "as usual", terms};

    const auto one = late.acquire();
    const auto two = limited.acquire();
    const auto three = as_usual.acquire();
    std::this_thread::sleep_for(2500ms);
    const auto shown = [](const auto& guard) { return guard.held() ? " is held" : " is lost"; };
    std::cout << "late:" << shown(one) << ", with " << late_renewals << " renewals in 2.5 s\n"
              << "as usual:" << shown(three) << ", with " << usual_renewals << '\n'
              << "limited:" << shown(two) << ", for it was not to go on after 0.5 s\n";
    return one.held() && three.held() && !two.held() && late_renewals < usual_renewals ? 0 : 1;
}
