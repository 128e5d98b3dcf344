// SPDX-License-Identifier: BSL-1.0
#include <asio/kinds.hpp>

#include <memory>

BOOST_AUTO_TEST_SUITE(asio_contexts_test)

using namespace leasehold_test;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_context_that_is_destroyed_ends_its_waits_and_destroys_their_handlers, Kind, kinds)
{
    lh::memory_store store;
    auto one = Kind::on(store, "a"), other = Kind::on(store, "a");
    using guard_type = guard_of<Kind, decltype(one)>;
    auto held = Kind::hold(one);
    const auto alive = std::make_shared<int>(1);
    {
        net::io_context io;
        const auto never_called = [alive](error_code, const guard_type&) { BOOST_ERROR("called"); };
        Kind::async_acquire(other, net::bind_executor(io, never_called));
        Kind::async_acquire(other, net::bind_executor(net::make_strand(io), never_called));
        Kind::async_acquire(one, net::bind_executor(io, never_called));
        BOOST_TEST(alive.use_count() == 5);
        BOOST_TEST(eventually([&] { return rows_taken<Kind>(store, "a") == Kind::rows_while_waiting; }));
    }
    BOOST_TEST(alive.use_count() == 1);
    BOOST_TEST(store.local_waiters().waiting() == 0u);
    BOOST_TEST(rows_taken<Kind>(store, "a") == Kind::held_rows);
    held.release();
    BOOST_TEST(Kind::try_acquire(one).held());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_guard_that_nobody_took_is_released_with_its_context, Kind, kinds)
{
    lh::memory_store store;
    auto right = Kind::on(store, "a");
    {
        net::io_context io;
        Kind::async_acquire(right, net::bind_executor(io, [](error_code, const guard_of<Kind, decltype(right)>&) { BOOST_ERROR("called"); }));
        BOOST_TEST(eventually([&] { return rows_taken<Kind>(store, "a") == Kind::own_rows; }));
    }
    BOOST_TEST(rows_taken<Kind>(store, "a") == 0u);
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

BOOST_AUTO_TEST_CASE_TEMPLATE(contexts_are_destroyed_while_grants_arrive, Kind, kinds)
{
    lh::memory_store store;
    auto one = Kind::on(store, "a");
    using right = decltype(one);
    for (int i = 0; i < 50; ++i) {
        std::vector<right> others;
        for (int n = 0; n < 5; ++n) others.push_back(Kind::on(store, "a"));
        {
            net::thread_pool pool{2};
            for (auto& other : others)
                for (right* each : {&one, &other})
                    Kind::async_acquire(*each, net::bind_executor(pool, [](error_code, const guard_of<Kind, right>&) {}));
            pool.stop();
        }
        BOOST_TEST_REQUIRE(Kind::try_acquire(one).held());
    }
}

BOOST_AUTO_TEST_SUITE_END()
