// SPDX-License-Identifier: BSL-1.0
#include <asio/support.hpp>

#include <mutex>

BOOST_AUTO_TEST_SUITE(asio_acquire_test)

using namespace leasehold_test;

namespace {

struct fixture {
    lh::memory_store store;
    memory_lease lease{store, "a"};
    memory_lease other{store, "a"};
    running_context io;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(an_attempt_gets_a_free_lease_and_an_empty_guard_where_it_is_busy, fixture)
{
    recorder<memory_guard> first, second;
    lh::async_try_acquire(lease, first.on(io.context));
    const auto got = first.get();
    BOOST_TEST(!got.ec);
    BOOST_TEST(got.result.held());
    lh::async_try_acquire(other, second.on(io.context));
    const auto busy = second.get();
    BOOST_TEST(!busy.ec);
    BOOST_TEST(busy.result.empty());
}

BOOST_FIXTURE_TEST_CASE(a_release_by_a_blocking_holder_wakes_an_asynchronous_waiter, fixture)
{
    auto held = lease.acquire();
    recorder<memory_guard> waiter;
    lh::async_acquire(other, waiter.on(io.context));
    BOOST_TEST(!waiter.called(20ms));
    held.release();
    BOOST_TEST(waiter.get().result.held());
}

BOOST_FIXTURE_TEST_CASE(an_asynchronous_release_wakes_a_blocking_waiter, fixture)
{
    auto held = lease.acquire();
    bool got = false;
    std::thread waiter{[&] { got = other.acquire().held(); }};
    BOOST_TEST(eventually([&] { return store.local_waiters().waiting() == 1; }));
    recorder<lh::release_outcome> released;
    lh::async_release(held, released.on(io.context));
    BOOST_TEST(held.empty());
    BOOST_TEST((released.get().result == lh::release_outcome::released));
    waiter.join();
    BOOST_TEST(got);
}

BOOST_FIXTURE_TEST_CASE(waiters_of_both_kinds_are_served_in_the_order_of_arrival, fixture)
{
    auto held = lease.acquire();
    memory_lease third{store, "a"};
    std::mutex mutex;
    std::string order;
    const auto note = [&](char who) {
        const std::lock_guard lock{mutex};
        order += who;
    };
    lh::async_acquire(other, net::bind_executor(io.context, [&](error_code, memory_guard guard) {
        note('a');
        guard.release();
    }));
    BOOST_TEST(eventually([&] { return store.local_waiters().waiting() == 1; }));
    std::thread blocking{[&] {
        auto guard = third.acquire();
        note('b');
        guard.release();
    }};
    BOOST_TEST(eventually([&] { return store.local_waiters().waiting() == 2; }));
    memory_lease fourth{store, "a"};
    recorder<memory_guard> last;
    lh::async_acquire(fourth, last.on(io.context));
    BOOST_TEST(eventually([&] { return store.local_waiters().waiting() == 3; }));
    held.release();
    blocking.join();
    BOOST_TEST(last.get().result.held());
    BOOST_TEST(order == "ab");
}

BOOST_FIXTURE_TEST_CASE(a_waiter_gets_the_lease_when_the_holders_term_ends, fixture)
{
    memory_lease dying{store, "a", lh::lease_terms{.ttl = 100ms}};
    std::error_code ec;
    BOOST_TEST(store.try_acquire("a", "dead", 100ms, ec).granted());
    recorder<memory_guard> waiter;
    lh::async_acquire(other, waiter.on(io.context));
    BOOST_TEST(waiter.get().result.held());
}

BOOST_FIXTURE_TEST_CASE(a_wait_that_runs_out_of_time_ends_with_an_empty_guard_and_no_error, fixture)
{
    const auto held = lease.acquire();
    recorder<memory_guard> for_a_while, until_then, no_time;
    lh::async_try_acquire_for(other, 20ms, for_a_while.on(io.context));
    lh::async_try_acquire_until(other, std::chrono::system_clock::now() + 20ms, until_then.on(io.context));
    lh::async_try_acquire_for(other, 0s, no_time.on(io.context));
    for (auto* each : {&for_a_while, &until_then, &no_time}) {
        const auto end = each->get();
        BOOST_TEST(!end.ec);
        BOOST_TEST(end.result.empty());
    }
    BOOST_TEST(store.local_waiters().waiting() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_waiter_waits_for_the_guard_of_its_own_lease_object, fixture)
{
    auto held = lease.acquire();
    recorder<memory_guard> waiter;
    lh::async_acquire(lease, waiter.on(io.context));
    BOOST_TEST(!waiter.called(20ms));
    held.release();
    BOOST_TEST(waiter.get().result.held());
}

BOOST_FIXTURE_TEST_CASE(the_lease_need_not_outlive_the_operation, fixture)
{
    auto held = lease.acquire();
    recorder<memory_guard> waiter;
    {
        memory_lease short_lived{store, "a"};
        lh::async_acquire(short_lived, waiter.on(io.context));
    }
    held.release();
    BOOST_TEST(waiter.get().result.held());
}

BOOST_FIXTURE_TEST_CASE(a_renewal_extends_the_term_and_says_whether_it_is_lost, fixture)
{
    auto held = lease.acquire();
    recorder<bool> extended, longer, lost, none;
    lh::async_renew(held, extended.on(io.context));
    BOOST_TEST(extended.get().result);
    lh::async_renew(held, 10min, longer.on(io.context));
    BOOST_TEST(longer.get().result);
    BOOST_TEST((held.remaining() > 5min));
    store.force_release("a");
    lh::async_renew(held, lost.on(io.context));
    const auto after_loss = lost.get();
    BOOST_TEST(!after_loss.ec);
    BOOST_TEST(!after_loss.result);
    lh::async_renew(memory_guard{}, none.on(io.context));
    BOOST_TEST(none.get().ec == lh::errc::not_held);
}

BOOST_FIXTURE_TEST_CASE(the_release_of_an_empty_guard_is_an_error, fixture)
{
    recorder<lh::release_outcome> released;
    lh::async_release(memory_guard{}, released.on(io.context));
    const auto end = released.get();
    BOOST_TEST(end.ec == lh::errc::not_held);
    BOOST_TEST((end.result == lh::release_outcome::lost));
}

BOOST_AUTO_TEST_CASE(an_outage_ends_a_wait_with_the_stores_error)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    scripted_lease lease{store, "a", clock};
    running_context io;
    store.always(operation::try_acquire, fate::fails);
    recorder<scripted_lease::guard_type> attempt, wait;
    lh::async_try_acquire(lease, attempt.on(io.context));
    BOOST_TEST(attempt.get().ec == lh::errc::store_unavailable);
    lh::async_acquire(lease, wait.on(io.context));
    BOOST_TEST(wait.get().ec == lh::errc::store_unavailable);
}

BOOST_AUTO_TEST_CASE(a_wait_follows_the_clock_of_its_lease)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    scripted_lease lease{store, "a", clock, lh::lease_terms{.ttl = 1h}};
    std::error_code ec;
    BOOST_TEST(store.leases.try_acquire("a", "somebody", 10h, ec).granted());
    running_context io;
    recorder<scripted_lease::guard_type> waiter;
    lh::async_try_acquire_for(lease, 2h, waiter.on(io.context));
    BOOST_TEST(eventually([&] { return clock.sleepers() == 1; }));
    clock.advance(2h - 1ns);
    BOOST_TEST(!waiter.called(5ms));
    clock.advance(1ns);
    const auto end = waiter.get();
    BOOST_TEST(!end.ec);
    BOOST_TEST(end.result.empty());
}

BOOST_AUTO_TEST_CASE(a_wait_of_a_microsecond_ends_with_it)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    scripted_lease lease{store, "a", clock, lh::lease_terms{.ttl = 1h}};
    std::error_code ec;
    BOOST_TEST(store.leases.try_acquire("a", "somebody", 10h, ec).granted());
    running_context io;
    recorder<scripted_lease::guard_type> waiter;
    lh::async_try_acquire_for(lease, 1us, waiter.on(io.context));
    BOOST_TEST(eventually([&] { return store.answered(operation::try_acquire) == 1; }));
    clock.advance(1us);
    BOOST_TEST(waiter.get().result.empty());
}

BOOST_AUTO_TEST_SUITE_END()
