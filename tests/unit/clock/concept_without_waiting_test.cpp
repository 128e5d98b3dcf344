// SPDX-License-Identifier: BSL-1.0
// A clock that only tells the time: leases on it have no threads, and promise none.
#include <leasehold/leasehold.hpp>
#include <support/printing.hpp>
#include <support/thread_count.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

BOOST_AUTO_TEST_SUITE(concept_without_waiting_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

class tick_clock {
public:
    explicit tick_clock(const lh::time_point& shown) : shown_{&shown} {}
    [[nodiscard]] lh::time_point now() const noexcept { return *shown_; }

private:
    const lh::time_point* shown_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_guard_runs_out_and_is_renewed_by_hand_and_its_stop_token_says_that_it_can_not_be_stopped)
{
    lh::time_point now{1h};
    lh::memory_store store;
    const auto threads = leasehold_test::thread_count();
    lh::basic_lease lease{store, "n", lh::lease_terms{.ttl = 30s}, tick_clock{now}, lh::random_owner_id{}, lh::no_renewal{}};
    auto guard = lease.try_acquire();
    BOOST_TEST(leasehold_test::thread_count() <= threads);
    BOOST_TEST(guard.held());
    BOOST_TEST(!guard.stop_token().stop_possible());
    now += 26s;
    BOOST_TEST(guard.renew());
    now += 26s;
    BOOST_TEST(guard.held());
    now += 1s;
    BOOST_TEST(!guard.held());
}

// No thread comes to signal them. So many would overflow the stack when their chain is destroyed.
BOOST_AUTO_TEST_CASE(losses_of_a_set_leave_nothing_behind)
{
    lh::time_point now{1h};
    const tick_clock clock{now};
    lh::basic_memory_store store{clock};
    lh::basic_lease a{store, "a", lh::lease_terms{.ttl = 30s}, clock, lh::no_renewal{}};
    lh::basic_lease b{store, "b", lh::lease_terms{.ttl = 30s}, clock, lh::no_renewal{}};
    for (int i = 0; i < 100'000; ++i) {
        const auto all = lh::try_acquire_all(a, b);
        BOOST_TEST_REQUIRE(all.held());
        now += 1min;
    }
}

BOOST_AUTO_TEST_SUITE_END()
