// SPDX-License-Identifier: BSL-1.0
// A user's unit test: a lease as it is by default, on a clock that is turned, without a wait of its own.
#include <leasehold/leasehold.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <list>
#include <stop_token>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(manual_clock_settled_advance_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

constexpr lh::lease_terms terms{.ttl = 30s};

struct counting_hook {
    std::atomic<int>& renewals;
    void operator()(const lh::store_call& call, const lh::store_call_report&) const
    {
        if (call.operation == lh::store_operation::renew) ++renewals;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(terms_that_became_due_have_been_renewed_when_advance_returns)
{
    for (int round = 0; round < 300; ++round) {
        lh::manual_clock clock;
        lh::basic_memory_store memory{clock};
        std::atomic<int> renewals = 0;
        lh::hooked_store store{memory, counting_hook{renewals}};
        lh::basic_lease lease{store, "job", terms, clock};
        const auto guard = lease.try_acquire();
        for (int step = 1; step <= 12; ++step) {
            clock.advance(5s);
            BOOST_TEST_REQUIRE(renewals == step / 2, "round " << round << ", step " << step);
        }
        BOOST_TEST_REQUIRE(guard.held());
    }
}

BOOST_AUTO_TEST_CASE(the_same_for_many_leases_and_both_workers)
{
    for (int round = 0; round < 20; ++round) {
        lh::manual_clock clock;
        lh::basic_memory_store memory{clock};
        std::atomic<int> renewals = 0;
        lh::hooked_store store{memory, counting_hook{renewals}};
        std::list<lh::basic_lease<decltype(store), lh::manual_clock>> leases;
        std::vector<decltype(leases)::value_type::guard_type> guards;
        for (int i = 0; i < 20; ++i)
            guards.push_back(leases.emplace_back(store, "job " + std::to_string(i), terms, clock).try_acquire());
        for (int step = 1; step <= 6; ++step) {
            clock.advance(10s);
            BOOST_TEST_REQUIRE(renewals == step * 20, "round " << round << ", step " << step);
        }
    }
}

// A leap over the deadline is a process that was paused.
BOOST_AUTO_TEST_CASE(a_leap_over_the_deadline_is_a_loss_that_has_been_told)
{
    lh::manual_clock clock;
    lh::basic_memory_store store{clock};
    lh::basic_lease lease{store, "job", terms, clock};
    const auto guard = lease.try_acquire();
    const std::stop_token lost = guard.stop_token();
    clock.advance(31s);
    BOOST_TEST(lost.stop_requested());
    BOOST_TEST(!guard.held());
}

BOOST_AUTO_TEST_SUITE_END()
