// SPDX-License-Identifier: BSL-1.0
#include <asio/kinds.hpp>
#include <contract/asked_once.hpp>

#include <functional>
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

BOOST_AUTO_TEST_CASE_TEMPLATE(an_attempt_gets_what_is_free_and_an_empty_guard_where_it_is_busy, Kind, kinds)
{
    two_rights<Kind> f;
    recorder<typename two_rights<Kind>::guard> first, second;
    Kind::async_try_acquire(f.one, first.on(f.io.context));
    const auto got = first.get();
    BOOST_TEST(!got.ec);
    BOOST_TEST(got.result.held());
    BOOST_TEST(f.taken() == Kind::own_rows);
    Kind::async_try_acquire(f.other, second.on(f.io.context));
    const auto busy = second.get();
    BOOST_TEST(!busy.ec);
    BOOST_TEST(busy.result.empty());
    BOOST_TEST(f.taken() == Kind::own_rows);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_release_of_either_form_wakes_waiters_of_this_object_and_of_others, Kind, kinds)
{
    two_rights<Kind> f;
    for (auto* waits : {&f.one, &f.other})
        for (const bool blocks : {true, false}) {
            auto held = Kind::hold(f.one);
            recorder<typename two_rights<Kind>::guard> waiter;
            recorder<lh::release_outcome> released;
            Kind::async_acquire(*waits, waiter.on(f.io.context));
            BOOST_TEST(!waiter.called(20ms));
            if (blocks) {
                BOOST_TEST((held.release() == lh::release_outcome::released));
            }
            else {
                lh::async_release(std::move(held), released.on(f.io.context));
                BOOST_TEST(held.empty());
                BOOST_TEST((released.get().result == lh::release_outcome::released));
            }
            BOOST_TEST(is_held(waiter.get().result));
        }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_asynchronous_release_wakes_a_blocking_waiter, Kind, kinds)
{
    two_rights<Kind> f;
    auto held = Kind::hold(f.one);
    bool got = false;
    std::thread waiter{[&] { got = is_held(Kind::acquire(f.other)); }};
    BOOST_TEST(f.one_waits());
    recorder<lh::release_outcome> released;
    lh::async_release(std::move(held), released.on(f.io.context));
    BOOST_TEST(held.empty());
    BOOST_TEST((released.get().result == lh::release_outcome::released));
    waiter.join();
    BOOST_TEST(got);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(waiters_of_both_forms_are_served_in_the_order_of_arrival, Kind, kinds)
{
    two_rights<Kind> f;
    auto third = Kind::on(f.store, "a"), fourth = Kind::on(f.store, "a");
    auto held = Kind::hold(f.one);
    std::mutex mutex;
    std::string order;
    const auto note = [&](char which) {
        const std::lock_guard lock{mutex};
        order += which;
    };
    Kind::async_acquire(f.other, net::bind_executor(f.io.context, [&](error_code, typename two_rights<Kind>::guard guard) {
        note('a');
        guard.release();
    }));
    BOOST_TEST(f.one_waits());
    std::thread blocking{[&] {
        auto guard = Kind::acquire(third);
        note('b');
        guard.release();
    }};
    BOOST_TEST(eventually([&] { return f.waiting() == 2; }));
    recorder<typename two_rights<Kind>::guard> last;
    Kind::async_acquire(fourth, last.on(f.io.context));
    BOOST_TEST(eventually([&] { return f.waiting() == 3; }));
    held.release();
    blocking.join();
    BOOST_TEST(is_held(last.get().result));
    BOOST_TEST(order == "ab");
}

BOOST_FIXTURE_TEST_CASE(a_waiter_gets_the_lease_when_the_holders_term_ends, fixture)
{
    std::error_code ec;
    BOOST_TEST(store.try_acquire("a", "dead", 100ms, ec).granted());
    recorder<memory_guard> waiter;
    lh::async_acquire(other, waiter.on(io.context));
    BOOST_TEST(is_held(waiter.get().result));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(waits_that_run_out_of_time_end_with_an_empty_guard_and_no_error, Kind, kinds)
{
    two_rights<Kind> f;
    const auto held = Kind::hold(f.one);
    recorder<typename two_rights<Kind>::guard> for_a_while, behind_it, until_wall_time, until_then, no_time, no_time_behind_own;
    Kind::async_try_acquire_for(f.other, 20ms, for_a_while.on(f.io.context));
    Kind::async_try_acquire_for(f.other, 10ms, behind_it.on(f.io.context));
    Kind::async_try_acquire_until(f.one, std::chrono::system_clock::now() + 20ms, until_wall_time.on(f.io.context));
    Kind::async_try_acquire_until(f.other, std::chrono::steady_clock::now() + 20ms, until_then.on(f.io.context));
    Kind::async_try_acquire_for(f.other, 0s, no_time.on(f.io.context));
    Kind::async_try_acquire_for(f.one, 0s, no_time_behind_own.on(f.io.context));
    for (auto* each : {&for_a_while, &behind_it, &until_wall_time, &until_then, &no_time, &no_time_behind_own}) {
        const auto end = each->get();
        BOOST_TEST(!end.ec);
        BOOST_TEST(end.result.empty());
    }
    BOOST_TEST(f.waiting() == 0u);
    BOOST_TEST(f.taken() == Kind::held_rows);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_right_need_not_outlive_the_operation, Kind, kinds)
{
    two_rights<Kind> f;
    auto held = Kind::hold(f.one);
    recorder<typename two_rights<Kind>::guard> waiter;
    {
        auto short_lived = Kind::on(f.store, "a");
        Kind::async_acquire(short_lived, waiter.on(f.io.context));
        BOOST_TEST(f.one_waits());
    }
    held.release();
    BOOST_TEST(is_held(waiter.get().result));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_right_is_renewed_and_its_loss_is_told, Kind, kinds)
{
    two_rights<Kind> f;
    using guard_type = typename two_rights<Kind>::guard;
    auto held = Kind::acquire(f.one);
    recorder<bool> extended, longer, lost, none;
    lh::async_renew(held, extended.on(f.io.context));
    BOOST_TEST(extended.get().result);
    if constexpr (Kind::own_rows == 1) {
        lh::async_renew(held, 10min, longer.on(f.io.context));
        BOOST_TEST(longer.get().result);
        BOOST_TEST((held.remaining() > 5min));
    }
    f.store.force_release(Kind::asked_rows("a").back());
    lh::async_renew(held, lost.on(f.io.context));
    const auto after_loss = lost.get();
    BOOST_TEST(!after_loss.ec);
    BOOST_TEST(!after_loss.result);
    BOOST_TEST(!held.held());
    const guard_type empty;
    lh::async_renew(empty, none.on(f.io.context));
    BOOST_TEST(none.get().ec == lh::errc::not_held);
    recorder<lh::release_outcome> released, released_none;
    lh::async_release(std::move(held), released.on(f.io.context));
    BOOST_TEST((released.get().result == lh::release_outcome::lost));
    BOOST_TEST(f.taken() == 0u);
    lh::async_release(guard_type{}, released_none.on(f.io.context));
    const auto end = released_none.get();
    BOOST_TEST(end.ec == lh::errc::not_held);
    BOOST_TEST((end.result == lh::release_outcome::unknown));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_outage_ends_a_wait_with_the_stores_error, Kind, kinds)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    auto right = Kind::on(store, "a", clock);
    running_context io;
    store.always(operation::try_acquire, fate::fails);
    recorder<guard_of<Kind, decltype(right)>> attempt, wait;
    Kind::async_try_acquire(right, attempt.on(io.context));
    BOOST_TEST(attempt.get().ec == lh::errc::store_unavailable);
    Kind::async_acquire(right, wait.on(io.context));
    BOOST_TEST(wait.get().ec == lh::errc::store_unavailable);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_follows_the_clock_of_its_right, Kind, kinds)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    const lh::lease_terms terms{.ttl = 10h};
    auto holder = Kind::on(store, "a", clock, terms), right = Kind::on(store, "a", clock, terms);
    const auto held = Kind::hold(holder);
    // A reader sees by a look that somebody has the gate.
    const auto answered = [&store] { return store.answered(operation::try_acquire) + store.answered(operation::inspect); };
    const int before = answered();
    running_context io;
    recorder<guard_of<Kind, decltype(right)>> waiter;
    Kind::async_try_acquire_for(right, 2h, waiter.on(io.context));
    BOOST_TEST(eventually([&] { return answered() > before && clock.sleepers() == 1; }));
    clock.advance(2h - 1ns);
    BOOST_TEST(!waiter.called(5ms));
    clock.advance(1ns);
    const auto end = waiter.get();
    BOOST_TEST(!end.ec);
    BOOST_TEST(end.result.empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_observer_is_told_how_long_a_waiter_has_waited, Kind, kinds)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    longest_wait told;
    lh::hooked_store observed{store, std::ref(told)};
    const lh::lease_terms terms{.ttl = 10h};
    auto holder = Kind::on(observed, "a", clock, terms), right = Kind::on(observed, "a", clock, terms);
    auto held = Kind::hold(holder);
    running_context io;
    recorder<guard_of<Kind, decltype(right)>> waiter;
    Kind::async_acquire(right, waiter.on(io.context));
    BOOST_TEST_REQUIRE(eventually([&] {
        return lh::waiting::process_queue().waiting() == Kind::queues_of_first &&
               rows_taken<Kind>(store.leases, "a") == Kind::rows_while_waiting;
    }));
    clock.advance(5s);
    held.release();
    const auto end = waiter.get();
    BOOST_TEST(end.result.held());
    const std::lock_guard lock{told.mutex};
    BOOST_TEST((told.waited == 5s));
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
    BOOST_TEST(is_empty(waiter.get().result));
}

BOOST_AUTO_TEST_SUITE_END()
