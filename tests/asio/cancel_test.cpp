// SPDX-License-Identifier: BSL-1.0
#include <asio/kinds.hpp>
#include <contract/asked_once.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(asio_cancel_test)

using namespace leasehold_test;

namespace {

struct counted_policy : lh::renew_at_fraction {
    std::shared_ptr<int> copies = std::make_shared<int>();
};

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_cancellation_of_any_type_ends_a_wait_with_operation_aborted_and_frees_its_place, Kind, kinds)
{
    two_rights<Kind> f;
    const auto held = Kind::hold(f.one);
    for (const auto type : {net::cancellation_type::terminal, net::cancellation_type::partial, net::cancellation_type::total}) {
        cancellation slots;
        recorder<typename two_rights<Kind>::guard> waiter;
        Kind::async_acquire(f.other, slots.on(waiter.on(f.io.context)));
        BOOST_TEST(f.one_waits());
        BOOST_TEST(!waiter.called(5ms));
        slots.cancel(f.io.context, type);
        BOOST_TEST(eventually([&] { return f.waiting() == 0u; }), "at once, or after the call that is under way");
        const auto end = waiter.get();
        BOOST_TEST(end.ec == aborted);
        BOOST_TEST(end.result.empty());
        BOOST_TEST(f.taken() == Kind::held_rows);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_cancelled_waiter_leaves_its_turn_to_the_next, Kind, kinds)
{
    two_rights<Kind> f;
    auto held = Kind::hold(f.one);
    auto third = Kind::on(f.store, "a");
    cancellation slots;
    recorder<typename two_rights<Kind>::guard> first, second;
    Kind::async_acquire(f.other, slots.on(first.on(f.io.context)));
    Kind::async_acquire(third, second.on(f.io.context));
    held.release();
    slots.cancel(f.io.context);
    // Whichever came first: the first has it, and gives it back, or never had it.
    { const auto end = first.get(); }
    BOOST_TEST(is_held(second.get().result));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_grant_that_comes_after_the_cancellation_is_released, Kind, kinds)
{
    for (const bool waits : {true, false})
        for (const std::string& hangs : Kind::asked_rows("a")) {
            lh::manual_clock clock;
            scripted_store store{clock};
            gate calls{clock};
            auto right = Kind::on(store, "a", clock);
            { const auto first = Kind::try_acquire(right); }  // writes the record of the count, if there is one
            store.before(operation::try_acquire, [&](std::string_view name) {
                if (name == hangs) calls.pass();
            });
            const int released = store.sent(operation::release);
            running_context io;
            cancellation slots;
            recorder<guard_of<Kind, decltype(right)>> waiter;
            if (waits)
                Kind::async_acquire(right, slots.on(waiter.on(io.context)));
            else
                Kind::async_try_acquire_until(right, clock.now() + 1s, slots.on(waiter.on(io.context)));
            BOOST_TEST(calls.reached_by(1));
            slots.cancel(io.context);
            BOOST_TEST(!waiter.called(5ms));
            calls.open();
            const auto end = waiter.get();
            BOOST_TEST(end.ec == aborted);
            BOOST_TEST(end.result.empty());
            BOOST_TEST(rows_taken<Kind>(store.leases, "a") == 0u);
            if (Kind::own_rows == 1) BOOST_TEST(store.sent(operation::release) == released + 1);
        }
}

BOOST_AUTO_TEST_CASE(a_grant_that_comes_after_the_cancellation_does_not_keep_the_name_closed)
{
    for (const bool waits : {true, false}) {
        lh::manual_clock clock;
        scripted_store store{clock};
        gate calls{clock};
        store.before(operation::try_acquire, [&](std::string_view) { calls.pass(); });
        scripted_lease lease{store, "a", clock, lh::lease_terms{.ttl = 30s, .min_hold = 1h}};
        running_context io;
        cancellation slots;
        recorder<scripted_lease::guard_type> waiter;
        if (waits)
            lh::async_acquire(lease, slots.on(waiter.on(io.context)));
        else
            lh::async_try_acquire(lease, slots.on(waiter.on(io.context)));
        BOOST_TEST(calls.reached_by(1));
        slots.cancel(io.context);
        calls.open();
        BOOST_TEST(waiter.get().ec == aborted);
        error_code ec;
        BOOST_TEST(!store.leases.inspect("a", ec).has_value(), "nobody has worked");
    }
}

BOOST_AUTO_TEST_CASE(grants_of_several_that_come_after_the_cancellation_do_not_keep_names_closed)
{
    for (const bool all : {true, false}) {
        lh::manual_clock clock;
        scripted_store store{clock};
        gate calls{clock};
        store.before(operation::try_acquire, [&](std::string_view) { calls.pass(); });
        const lh::lease_terms terms{.ttl = 30s, .min_hold = 1h};
        std::deque<scripted_lease> leases;
        leases.emplace_back(store, "a", terms, clock);
        leases.emplace_back(store, "b", terms, clock);
        running_context io;
        cancellation slots;
        recorder<lh::lease_set_guard<scripted_lease>> of_all;
        recorder<std::vector<scripted_lease::guard_type>> of_each;
        if (all)
            lh::async_try_acquire_all(leases, slots.on(of_all.on(io.context)));
        else
            lh::async_try_acquire_each(leases, slots.on(of_each.on(io.context)));
        BOOST_TEST(calls.reached_by(1));
        slots.cancel(io.context);
        calls.open();
        BOOST_TEST((all ? of_all.get().ec : of_each.get().ec) == aborted);
        BOOST_TEST(store.leases.list().empty());
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nothing_is_lost_between_a_cancellation_and_a_grant, Kind, kinds)
{
    two_rights<Kind> f;
    for (int i = 0; i < 100; ++i) {
        auto held = Kind::hold(f.one);
        cancellation slots;
        recorder<typename two_rights<Kind>::guard> waiter;
        Kind::async_acquire(f.other, slots.on(waiter.on(f.io.context)));
        if (i % 2 == 0) BOOST_TEST_REQUIRE(f.one_waits());
        std::thread cancels{[&] { slots.cancel(f.io.context); }};
        held.release();
        cancels.join();
        auto end = waiter.get();
        BOOST_TEST_REQUIRE((end.ec == aborted) == end.result.empty());
        end.result = {};
        BOOST_TEST_REQUIRE(f.taken() == 0u);
        BOOST_TEST_REQUIRE(is_held(Kind::try_acquire(f.one)));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_store_that_hangs_blocks_neither_the_executor_nor_a_cancellation, Kind, kinds)
{
    hanging_right<Kind> with;
    using guard_type = typename hanging_right<Kind>::guard;
    running_context io;
    auto third = Kind::on(with.store, "not asked for yet", with.clock);
    scripted_lease second{with.store, "hangs too", with.clock};
    recorder<guard_type> hangs, waits;
    recorder<scripted_lease::guard_type> hangs_too;
    cancellation slots;
    Kind::async_try_acquire(with.right, hangs.on(io.context));
    lh::async_try_acquire(second, hangs_too.on(io.context));
    BOOST_TEST(with.calls.reached_by(2));
    // All callers hang: the third can't even ask, but be cancelled, and an executor's thread is free.
    Kind::async_acquire(third, slots.on(waits.on(io.context)));
    std::promise<void> ran;
    net::post(io.context, [&] { ran.set_value(); });
    BOOST_TEST((ran.get_future().wait_for(20s) == std::future_status::ready));
    slots.cancel(io.context);
    BOOST_TEST(waits.get().ec == aborted);
    // Rights of other stores don't notice.
    lh::memory_store healthy;
    auto elsewhere = Kind::on(healthy, "a");
    recorder<guard_of<Kind, decltype(elsewhere)>> got;
    Kind::async_acquire(elsewhere, got.on(io.context));
    BOOST_TEST(is_held(got.get().result));
    with.calls.open();
    static_cast<void>(hangs.get());
    static_cast<void>(hangs_too.get());
}

BOOST_AUTO_TEST_CASE(a_wait_that_is_over_while_all_callers_hang_keeps_nobody_from_learning_of_a_loss)
{
    hanging_right<a_lease> with;
    running_context io;
    scripted_lease second{with.store, "hangs", with.clock};
    scripted_lease third{with.store, "not asked for yet", with.clock};
    scripted_lease mine{with.store, "mine", with.clock, lh::lease_terms{.ttl = 30s}};
    const auto held = mine.acquire();
    const std::stop_token lost = held.stop_token();
    with.store.always(operation::renew, fate::fails);
    recorder<scripted_lease::guard_type> hangs, hangs_too, waits;
    lh::async_try_acquire(with.right, hangs.on(io.context));
    lh::async_try_acquire(second, hangs_too.on(io.context));
    BOOST_TEST(with.calls.reached_by(2));
    lh::async_try_acquire_for(third, 1s, waits.on(io.context));
    for (int i = 0; i < 31; ++i) with.clock.advance(1s);
    BOOST_TEST(eventually([&] { return lost.stop_requested(); }));
    with.calls.open();
    static_cast<void>(hangs.get());
    static_cast<void>(hangs_too.get());
    BOOST_TEST(is_held(waits.get().result), "it asks once, however late");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_cancellation_also_ends_an_attempt_for_no_time, Kind, kinds)
{
    hanging_right<Kind> with;
    using guard_type = typename hanging_right<Kind>::guard;
    running_context io;
    auto third = Kind::on(with.store, "not asked for yet", with.clock);
    scripted_lease second{with.store, "hangs too", with.clock};
    cancellation slots;
    recorder<guard_type> hangs, waits;
    recorder<scripted_lease::guard_type> hangs_too;
    Kind::async_try_acquire_for(with.right, 0s, slots.on(hangs.on(io.context)));
    lh::async_try_acquire(second, hangs_too.on(io.context));
    BOOST_TEST(with.calls.reached_by(2));
    Kind::async_try_acquire_until(third, with.clock.now(), slots.on(waits.on(io.context)));
    slots.cancel(io.context);
    const bool ended = waits.called(), begun_ended = hangs.called(5ms);
    with.calls.open();
    BOOST_TEST(ended, "it waited for a thread");
    BOOST_TEST(!begun_ended, "its call had begun");
    BOOST_TEST(waits.get().ec == aborted);
    const auto end = hangs.get();
    BOOST_TEST(end.ec == aborted);
    BOOST_TEST(end.result.empty());
    BOOST_TEST(rows_taken<Kind>(with.store.leases, "hangs") == 0u);
    static_cast<void>(hangs_too.get());
}

BOOST_AUTO_TEST_CASE(an_attempt_that_is_cancelled_before_it_began_keeps_no_lease)
{
    BOOST_TEST_PASSPOINT();
    hanging_right<a_lease> with;
    running_context io;
    scripted_lease second{with.store, "hangs", with.clock};
    recorder<scripted_lease::guard_type> hangs, hangs_too;
    lh::async_try_acquire(with.right, hangs.on(io.context));
    lh::async_try_acquire(second, hangs_too.on(io.context));
    BOOST_TEST(with.calls.reached_by(2));
    counted_policy policy;
    {
        net::io_context gone;
        lh::basic_lease third{with.store, "third", with.clock, policy};
        using guard_type = decltype(third)::guard_type;
        lh::async_try_acquire(third, net::bind_executor(gone, [](error_code, const guard_type&) { BOOST_ERROR("called"); }));
    }
    BOOST_TEST(policy.copies.use_count() == 1);
    with.calls.open();
    static_cast<void>(hangs.get());
    static_cast<void>(hangs_too.get());
}

BOOST_AUTO_TEST_CASE(a_release_goes_before_attempts_that_wait_for_a_thread)
{
    hanging_right<a_lease> with;
    const int attempts_before = with.store.sent(operation::try_acquire);
    gate still_hangs{with.clock};
    with.store.before(operation::try_acquire, [&](std::string_view name) {
        if (name == "hangs") with.calls.pass();
        if (name == "still hangs") still_hangs.pass();
    });
    running_context io;
    scripted_lease mine{with.store, "mine", with.clock};
    scripted_lease busy{with.store, "still hangs", with.clock};
    scripted_lease later{with.store, "later", with.clock};
    auto held = mine.acquire();
    recorder<scripted_lease::guard_type> a, b, c;
    lh::async_try_acquire(with.right, a.on(io.context));
    lh::async_try_acquire(busy, b.on(io.context));
    BOOST_TEST(with.calls.reached_by(1));
    BOOST_TEST(still_hangs.reached_by(1));
    lh::async_try_acquire(later, c.on(io.context));
    std::atomic<int> attempts_before_release = 0;
    with.store.before(operation::release, [&](std::string_view) { attempts_before_release = with.store.sent(operation::try_acquire); });
    recorder<lh::release_outcome> released;
    lh::async_release(std::move(held), released.on(io.context));
    with.calls.open();  // one thread is free, and takes the release first
    static_cast<void>(released.get());
    BOOST_TEST(attempts_before_release == attempts_before + 3);
    const auto last = c.get();
    still_hangs.open();
    const auto second = b.get();
    const auto first = a.get();
}

BOOST_AUTO_TEST_SUITE_END()
