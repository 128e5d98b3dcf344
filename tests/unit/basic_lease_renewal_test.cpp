// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace basic_lease_renewal_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::fate;
using leasehold_test::gate;
using leasehold_test::operation;
using leasehold_test::scripted_store;
using leasehold_test::throughout;

namespace {

using lease_type = lh::basic_lease<scripted_store, lh::manual_clock>;

struct fixture {
    ~fixture() { hang.open(); }  // whatever failed, nobody is left hanging

    bool renewed(int times)
    {
        return eventually([&] { return store.answered(operation::renew) >= times; });
    }

    void let_renewals_of_n_hang()
    {
        store.before(operation::renew, [this](std::string_view name) {
            if (name == "n") hang.pass();
        });
    }

    lh::manual_clock clock;
    gate hang{clock};
    scripted_store store{clock};
    std::optional<lease_type> lease{std::in_place, store, "n", lh::lease_terms{.ttl = 30s}, clock};
    std::error_code ec;
};

}  // namespace
}  // namespace basic_lease_renewal_test

BOOST_FIXTURE_TEST_SUITE(basic_lease_renewal_test, fixture)

BOOST_AUTO_TEST_CASE(held_lease_is_renewed_again_and_again)
{
    const auto guard = lease->try_acquire();
    for (int i = 1; i <= 10; ++i) {
        clock.advance(10s);
        BOOST_TEST_REQUIRE(renewed(i));
        BOOST_TEST(eventually([&] { return guard.remaining() == 27s; }));
    }
    BOOST_TEST(guard.token().value() == 1);
    BOOST_TEST(!guard.stop_token().stop_requested());
}

BOOST_AUTO_TEST_CASE(released_lease_is_not_renewed)
{
    {
        const auto guard = lease->try_acquire();
    }
    clock.advance(1h);
    BOOST_TEST(store.sent(operation::renew) == 0);
}

BOOST_AUTO_TEST_CASE(ttl_that_the_policy_would_never_renew_is_refused)
{
    auto guard = lease->try_acquire();
    BOOST_TEST(!guard.renew(4500ms, ec));  // a third of it is its deadline
    BOOST_TEST((ec == lh::errc::invalid_terms));
    BOOST_CHECK_EXCEPTION(guard.renew(4500ms), std::system_error, [](const std::system_error& e) {
        return std::string_view{e.what()}.find("renew earlier") != std::string_view::npos;
    });
    BOOST_TEST(guard.renew(4600ms));
    BOOST_TEST(guard.remaining() == 1600ms);
}

BOOST_AUTO_TEST_CASE(no_renewal_runs_out)
{
    lh::basic_lease once{store, "m", {.ttl = 30s}, clock, lh::random_owner_id{}, lh::no_renewal{}};
    const auto guard = once.try_acquire();
    clock.advance(27s);
    BOOST_TEST(!guard.held());
    BOOST_TEST(store.sent(operation::renew) == 0);
}

BOOST_AUTO_TEST_CASE(renew_for_stops_renewing)
{
    lh::basic_lease capped{store, "m", {.ttl = 30s}, clock, lh::random_owner_id{}, lh::renew_for{15s}};
    const auto guard = capped.try_acquire();
    const auto stop = guard.stop_token();
    clock.advance(10s);
    BOOST_TEST(renewed(1));
    BOOST_TEST(eventually([&] { return guard.remaining() == 27s; }));
    clock.advance(27s - 1ns);
    BOOST_TEST(guard.held());
    clock.advance(1ns);
    BOOST_TEST(stop.stop_requested());
    BOOST_TEST(store.sent(operation::renew) == 1);
}

BOOST_AUTO_TEST_CASE(loss_is_signalled_at_the_deadline_while_the_renewal_hangs)
{
    let_renewals_of_n_hang();
    auto guard = lease->try_acquire();
    const auto stop = guard.stop_token();
    clock.advance(10s);
    BOOST_TEST_REQUIRE(hang.reached_by());
    clock.advance(17s - 1ns);
    BOOST_TEST(guard.held());
    BOOST_TEST(!stop.stop_requested());
    clock.advance(1ns);
    BOOST_TEST(stop.stop_requested());
    BOOST_TEST(!guard.held());

    hang.open();  // carried out: the store's ttl goes on for 3 s yet
    BOOST_TEST(renewed(1));
    BOOST_TEST(leasehold_test::throughout([&] { return !guard.held() && guard.remaining() == 0s; }, 20ms));
    BOOST_TEST(guard.release() == lh::release_outcome::released, "the store held it all along");
}

BOOST_AUTO_TEST_CASE(other_leases_go_on_while_a_renewal_hangs)
{
    let_renewals_of_n_hang();
    lease_type other{store, "m", {.ttl = 30s}, clock};
    const auto guard = lease->try_acquire();
    const auto other_guard = other.try_acquire();
    for (int i = 1; i <= 6; ++i) {
        clock.advance(10s);
        BOOST_TEST_REQUIRE(renewed(i));
        BOOST_TEST_REQUIRE(eventually([&] { return other_guard.remaining() == 27s; }));
    }
    BOOST_TEST(hang.waiting() == 1);
    BOOST_TEST(other_guard.held());
    BOOST_TEST(!guard.held());
    hang.open();
}

BOOST_AUTO_TEST_CASE(other_leases_go_on_while_a_renewal_of_an_ended_term_hangs)
{
    let_renewals_of_n_hang();
    lease_type other{store, "m", {.ttl = 30s}, clock};
    auto guard = lease->try_acquire();
    clock.advance(10s);
    BOOST_TEST_REQUIRE(hang.reached_by());
    guard = {};
    guard = lease->try_acquire();  // its renewal must not wait behind the one that hangs, on the second worker
    clock.advance(10s);
    const auto other_guard = other.try_acquire();
    clock.advance(10s);
    BOOST_TEST(renewed(1), "both workers are stuck in one lease");
    BOOST_TEST(eventually([&] { return other_guard.remaining() == 27s; }));
    hang.open();
}

BOOST_AUTO_TEST_CASE(guard_is_destroyed_while_its_renewal_hangs)
{
    let_renewals_of_n_hang();
    {
        const auto guard = lease->try_acquire();
        clock.advance(10s);
        BOOST_TEST_REQUIRE(hang.reached_by());
    }
    BOOST_TEST(hang.waiting() == 1, "the destructor waited for the renewal");
    BOOST_TEST(!store.leases.inspect("n", ec).has_value());
    hang.open();
    BOOST_TEST(renewed(1));
    BOOST_TEST(!store.leases.inspect("n", ec).has_value(), "a late renewal revived the lease");
}

BOOST_AUTO_TEST_CASE(failed_renewal_can_be_told_from_a_refused_one)
{
    auto guard = lease->try_acquire();
    BOOST_TEST(!guard.renewal_error());
    store.next(operation::renew, fate::fails);
    clock.advance(10s);
    BOOST_TEST(eventually([&] { return guard.renewal_error() == lh::errc::store_unavailable; }));
    BOOST_TEST(guard.held());
    store.leases.force_release("n");
    BOOST_TEST(!guard.renew(ec));
    BOOST_TEST(!guard.renewal_error());
    guard = {};
    guard = lease->try_acquire();
    BOOST_TEST(!guard.renewal_error());
}

BOOST_AUTO_TEST_CASE(store_that_throws_is_tried_again_and_then_renewed)
{
    store.next(operation::renew, fate::throws);
    store.next(operation::renew, fate::throws_no_code);
    const auto guard = lease->try_acquire();
    clock.advance(10s);
    BOOST_TEST_REQUIRE(renewed(1));
    for (int i = 2; i <= 3; ++i) {
        // The worker may note a failure only after the clock was turned, and then pauses from there: so turn it again.
        bool seen = false;
        for (int turn = 0; turn < 4 && !seen; ++turn) {
            clock.advance(2s);
            seen = eventually([&] { return store.answered(operation::renew) >= i; }, 2s);
        }
        BOOST_TEST_REQUIRE(seen);
    }
    BOOST_TEST(eventually([&] { return guard.remaining() == 27s; }));
}

BOOST_AUTO_TEST_CASE(taken_over_term_is_signalled_at_the_next_renewal)
{
    auto guard = lease->try_acquire();
    const auto stop = guard.stop_token();
    store.leases.force_release("n");
    BOOST_TEST(guard.held(), "nobody can know yet");
    clock.advance(10s);
    BOOST_TEST(eventually([&] { return stop.stop_requested(); }));
    BOOST_TEST(!guard.held());
    BOOST_TEST(guard.release() == lh::release_outcome::lost);
    BOOST_TEST(store.sent(operation::release) == 0);
}

BOOST_AUTO_TEST_CASE(callback_may_ask_the_guard_and_advance_the_clock)
{
    store.always(operation::renew, fate::fails);
    auto guard = lease->try_acquire();
    std::atomic<int> calls = 0;
    std::atomic<bool> right = false;
    const std::stop_callback on_loss{guard.stop_token(), [&] {
                                         clock.advance(1s);
                                         right = !guard.held() && guard.remaining() == 0s &&
                                                 guard.stop_token().stop_requested() && guard.token().value() == 1;
                                         ++calls;
                                     }};
    clock.advance(1min);
    BOOST_TEST(eventually([&] { return calls == 1; }));
    BOOST_TEST(right);
}

BOOST_AUTO_TEST_CASE(callback_may_destroy_another_lease_and_the_guard)
{
    store.always(operation::renew, fate::fails);
    std::optional<lease_type> other{std::in_place, store, "m", lh::lease_terms{.ttl = 1h}, clock};
    std::optional other_guard{other->try_acquire()};
    std::optional guard{lease->try_acquire()};
    std::atomic<bool> done = false;
    const std::stop_callback on_loss{guard->stop_token(), [&] {
                                         other_guard.reset();
                                         other.reset();
                                         guard.reset();
                                         done = true;
                                     }};
    clock.advance(1min);
    BOOST_TEST(eventually([&] { return done.load(); }));
}

BOOST_AUTO_TEST_CASE(callback_may_destroy_the_last_lease_of_its_store)
{
    // Once on the watchdog (the deadline), once on a worker (the store's refusal).
    for (const bool refused : {false, true}) {
        lease.emplace(store, "n", lh::lease_terms{.ttl = 30s}, clock);
        if (refused) store.always(operation::renew, fate::refused);
        else store.always(operation::renew, fate::fails);
        std::optional guard{lease->try_acquire()};
        std::atomic<bool> done = false;
        const std::stop_callback on_loss{guard->stop_token(), [&] {
                                             guard.reset();
                                             lease.reset();
                                             done = true;
                                         }};
        clock.advance(refused ? 10s : 27s);
        BOOST_TEST(eventually([&] { return done.load(); }), "refused: " << refused);
    }
}

BOOST_AUTO_TEST_CASE(lease_destroyed_while_its_renewal_is_under_way_is_safe)
{
    for (int i = 0; i < 100; ++i) {
        std::optional<lease_type> keeps_the_engine;
        if (i % 2 == 0) {
            keeps_the_engine.emplace(store, "m", lh::lease_terms{}, clock);
            BOOST_TEST(is_held(keeps_the_engine->try_acquire()));
        }
        lease.emplace(store, "n", lh::lease_terms{.ttl = 30s}, clock);
        {
            const auto guard = lease->try_acquire();
            clock.advance(10s);  // the renewal is being handed to a worker
        }
        lease.reset();
    }
    BOOST_TEST(eventually([&] { return store.sent(operation::renew) == store.answered(operation::renew); }));
}

BOOST_AUTO_TEST_CASE(lease_destroyed_while_its_renewal_hangs_waits_also_where_it_is_not_the_last)
{
    let_renewals_of_n_hang();
    lease_type other{store, "m", {.ttl = 30s}, clock};
    BOOST_TEST(is_held(other.try_acquire()));
    {
        const auto guard = lease->try_acquire();
        clock.advance(10s);
        BOOST_TEST_REQUIRE(hang.reached_by());
    }
    std::atomic<bool> destroyed = false;
    std::thread destroys{[&] {
        lease.reset();
        destroyed = true;
    }};
    BOOST_TEST(throughout([&] { return !destroyed; }, 20ms));
    hang.open();
    destroys.join();
    BOOST_TEST(hang.waiting() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
