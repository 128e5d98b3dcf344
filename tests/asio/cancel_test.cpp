// SPDX-License-Identifier: BSL-1.0
#include <asio/support.hpp>

#include <atomic>
#include <functional>

BOOST_AUTO_TEST_SUITE(asio_cancel_test)

using namespace leasehold_test;

namespace {

struct fixture {
    lh::memory_store store;
    memory_lease lease{store, "a"};
    memory_lease other{store, "a"};
    running_context io;
};

struct counted_policy : lh::renew_at_fraction {
    std::shared_ptr<int> copies = std::make_shared<int>();
};

// Its calls hang at a gate.
struct hanging {
    hanging()
    {
        store.before(operation::try_acquire, [this](std::string_view name) {
            if (name == "hangs") calls.pass();
        });
    }
    ~hanging() { calls.open(); }

    lh::manual_clock clock;
    scripted_store store{clock};
    gate calls{clock};
    scripted_lease lease{store, "hangs", clock};
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_stop_ends_a_wait_with_operation_aborted_and_frees_its_place, fixture)
{
    const auto held = lease.acquire();
    std::stop_source stop;
    recorder<memory_guard> waiter;
    lh::async_acquire(other, stop.get_token(), waiter.on(io.context));
    BOOST_TEST(!waiter.called(5ms));
    stop.request_stop();
    BOOST_TEST(store.local_waiters().waiting() == 0u);
    const auto end = waiter.get();
    BOOST_TEST(end.ec == aborted);
    BOOST_TEST(end.result.empty());
}

BOOST_FIXTURE_TEST_CASE(a_cancelled_waiter_leaves_its_turn_to_the_next, fixture)
{
    auto held = lease.acquire();
    memory_lease third{store, "a"};
    std::stop_source stop;
    recorder<memory_guard> first, second;
    lh::async_acquire(other, stop.get_token(), first.on(io.context));
    lh::async_acquire(third, second.on(io.context));
    held.release();
    stop.request_stop();
    // Whichever came first: the first has it, and gives it back, or never had it.
    { const auto end = first.get(); }
    BOOST_TEST(second.get().result.held());
}

#if LEASEHOLD_ASIO_HAS_CANCELLATION
BOOST_FIXTURE_TEST_CASE(a_cancellation_slot_ends_a_wait, fixture)
{
    const auto held = lease.acquire();
    for (const auto type : {net::cancellation_type::terminal, net::cancellation_type::partial, net::cancellation_type::total}) {
        net::cancellation_signal signal;
        recorder<memory_guard> waiter;
        lh::async_acquire(other, net::bind_cancellation_slot(signal.slot(), waiter.on(io.context)));
        net::post(io.context, [&] { signal.emit(type); });
        BOOST_TEST(waiter.get().ec == aborted);
        BOOST_TEST(store.local_waiters().waiting() == 0u);
    }
}
#endif

BOOST_AUTO_TEST_CASE(a_grant_that_comes_after_the_cancellation_is_released)
{
    hanging with;
    running_context io;
    std::stop_source stop;
    recorder<scripted_lease::guard_type> waiter;
    lh::async_acquire(with.lease, stop.get_token(), waiter.on(io.context));
    BOOST_TEST(with.calls.reached_by(1));
    stop.request_stop();
    BOOST_TEST(!waiter.called(5ms));
    with.calls.open();
    const auto end = waiter.get();
    BOOST_TEST(end.ec == aborted);
    BOOST_TEST(end.result.empty());
    std::error_code ec;
    BOOST_TEST(!with.store.leases.inspect("hangs", ec));
    BOOST_TEST(with.store.sent(operation::release) == 1);
}

BOOST_FIXTURE_TEST_CASE(no_guard_is_lost_between_a_cancellation_and_a_grant, fixture)
{
    for (int i = 0; i < 100; ++i) {
        auto held = lease.acquire();
        std::stop_source stop;
        recorder<memory_guard> waiter;
        lh::async_acquire(other, stop.get_token(), waiter.on(io.context));
        std::thread cancels{[&] { stop.request_stop(); }};
        held.release();
        cancels.join();
        auto end = waiter.get();
        BOOST_TEST_REQUIRE((end.ec == aborted) == end.result.empty());
        end.result = {};
        BOOST_TEST_REQUIRE(other.try_acquire().held());
    }
}

BOOST_AUTO_TEST_CASE(a_store_that_hangs_blocks_neither_the_executor_nor_a_cancellation)
{
    hanging with;
    running_context io;
    recorder<scripted_lease::guard_type> hangs, hangs_too, waits;
    scripted_lease second{with.store, "hangs", with.clock};
    scripted_lease third{with.store, "not asked for yet", with.clock};
    std::stop_source stop;
    lh::async_try_acquire(with.lease, hangs.on(io.context));
    lh::async_try_acquire(second, hangs_too.on(io.context));
    BOOST_TEST(with.calls.reached_by(2));
    // All callers hang: the third can't even ask, but be cancelled, and an executor's thread is free.
    lh::async_acquire(third, stop.get_token(), waits.on(io.context));
    std::promise<void> ran;
    net::post(io.context, [&] { ran.set_value(); });
    BOOST_TEST((ran.get_future().wait_for(20s) == std::future_status::ready));
    stop.request_stop();
    BOOST_TEST(waits.get().ec == aborted);
    // Leases of other stores don't notice.
    lh::memory_store healthy;
    memory_lease lease{healthy, "a"};
    recorder<memory_guard> got;
    lh::async_acquire(lease, got.on(io.context));
    BOOST_TEST(got.get().result.held());
    with.calls.open();
    static_cast<void>(hangs.get());
    static_cast<void>(hangs_too.get());
}

BOOST_AUTO_TEST_CASE(a_wait_that_is_over_while_all_callers_hang_keeps_nobody_from_learning_of_a_loss)
{
    hanging with;
    running_context io;
    scripted_lease second{with.store, "hangs", with.clock};
    scripted_lease third{with.store, "not asked for yet", with.clock};
    scripted_lease mine{with.store, "mine", with.clock, lh::lease_terms{.ttl = 30s}};
    const auto held = mine.acquire();
    const std::stop_token lost = held.stop_token();
    with.store.always(operation::renew, fate::fails);
    recorder<scripted_lease::guard_type> hangs, hangs_too, waits;
    lh::async_try_acquire(with.lease, hangs.on(io.context));
    lh::async_try_acquire(second, hangs_too.on(io.context));
    BOOST_TEST(with.calls.reached_by(2));
    lh::async_try_acquire_for(third, 1s, waits.on(io.context));
    for (int i = 0; i < 31; ++i) with.clock.advance(1s);
    BOOST_TEST(eventually([&] { return lost.stop_requested(); }));
    with.calls.open();
    static_cast<void>(hangs.get());
    static_cast<void>(hangs_too.get());
    static_cast<void>(waits.get());
}

BOOST_AUTO_TEST_CASE(an_attempt_that_is_cancelled_before_it_began_keeps_no_lease)
{
    hanging with;
    running_context io;
    scripted_lease second{with.store, "hangs", with.clock};
    recorder<scripted_lease::guard_type> hangs, hangs_too;
    lh::async_try_acquire(with.lease, hangs.on(io.context));
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
    hanging with;
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
    lh::async_try_acquire(with.lease, a.on(io.context));
    lh::async_try_acquire(busy, b.on(io.context));
    BOOST_TEST(with.calls.reached_by(1));
    BOOST_TEST(still_hangs.reached_by(1));
    lh::async_try_acquire(later, c.on(io.context));
    std::atomic<int> attempts_before_release = 0;
    with.store.before(operation::release, [&](std::string_view) { attempts_before_release = with.store.sent(operation::try_acquire); });
    recorder<lh::release_outcome> released;
    lh::async_release(held, released.on(io.context));
    with.calls.open();  // one thread is free, and takes the release first
    static_cast<void>(released.get());
    BOOST_TEST(attempts_before_release == 3);
    const auto last = c.get();
    still_hangs.open();
    const auto second = b.get();
    const auto first = a.get();
}

BOOST_AUTO_TEST_CASE(a_context_that_is_destroyed_ends_its_waits_and_destroys_their_handlers)
{
    lh::memory_store store;
    memory_lease lease{store, "a"};
    memory_lease other{store, "a"};
    auto held = lease.acquire();
    const auto alive = std::make_shared<int>(1);
    {
        net::io_context io;
        lh::async_acquire(other, net::bind_executor(io, [alive](error_code, const memory_guard&) { BOOST_ERROR("called"); }));
        lh::async_acquire(other, net::bind_executor(net::make_strand(io), [alive](error_code, const memory_guard&) { BOOST_ERROR("called"); }));
        BOOST_TEST(alive.use_count() == 3);
    }
    BOOST_TEST(alive.use_count() == 1);
    BOOST_TEST(store.local_waiters().waiting() == 0u);
    held.release();
    BOOST_TEST(lease.try_acquire().held());
}

BOOST_AUTO_TEST_CASE(a_guard_that_nobody_took_is_released_with_its_context)
{
    lh::memory_store store;
    memory_lease lease{store, "a"};
    {
        net::io_context io;
        lh::async_acquire(lease, net::bind_executor(io, [](error_code, const memory_guard&) { BOOST_ERROR("called"); }));
        std::error_code ec;
        BOOST_TEST(eventually([&] { return store.inspect("a", ec).has_value(); }));
    }
    std::error_code ec;
    BOOST_TEST(!store.inspect("a", ec));
}

#if LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_AUTO_TEST_CASE(a_context_waits_for_a_call_before_it_destroys_a_coroutine_that_owns_the_store)
{
    lh::manual_clock clock;
    gate call;
    std::thread opens;
    {
        net::io_context io;
        net::co_spawn(
            io,
            [&]() -> net::awaitable<void> {
                scripted_store store{clock};
                store.before(operation::try_acquire, [&](std::string_view) { call.pass(); });
                scripted_lease lease{store, "a", clock};
                static_cast<void>(co_await lh::async_acquire(lease, net::use_awaitable));
                BOOST_ERROR("resumed");
            },
            net::detached);
        io.poll();
        BOOST_TEST(call.reached_by(1));
        opens = std::thread{[&] {
            std::this_thread::yield();
            call.open();
        }};
    }
    opens.join();
}

#endif

BOOST_AUTO_TEST_CASE(contexts_are_destroyed_while_grants_arrive)
{
    lh::memory_store store;
    for (int i = 0; i < 50; ++i) {
        std::vector<std::unique_ptr<memory_lease>> leases;
        {
            net::thread_pool pool{2};
            for (int n = 0; n < 10; ++n) {
                leases.push_back(std::make_unique<memory_lease>(store, "a"));
                lh::async_acquire(*leases.back(), net::bind_executor(pool, [](error_code, const memory_guard&) {}));
            }
            pool.stop();
        }
        BOOST_TEST_REQUIRE(leases.front()->try_acquire().held());
    }
}

BOOST_AUTO_TEST_SUITE_END()
