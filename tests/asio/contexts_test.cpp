// SPDX-License-Identifier: BSL-1.0
#include <asio/kinds.hpp>
#include <contract/asked_once.hpp>

#include <exception>
#include <memory>
#include <stop_token>

BOOST_AUTO_TEST_SUITE(asio_contexts_test)

using namespace leasehold_test;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_context_that_is_destroyed_ends_its_waits_and_destroys_their_handlers, Kind, kinds)
{
    BOOST_TEST_PASSPOINT();
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
    BOOST_TEST(is_held(Kind::try_acquire(one)));
}

#if LEASEHOLD_TESTS_ANY_COMPLETION_HANDLER
BOOST_AUTO_TEST_CASE(a_context_that_is_destroyed_ends_the_waits_of_handlers_of_any_type)
{
    BOOST_TEST_PASSPOINT();
    lh::memory_store store;
    memory_lease one{store, "a"}, other{store, "a"};
    using any_handler = net::any_completion_handler<void(lh::detail::net_error_code, memory_guard)>;
    const auto held = one.acquire();
    const auto alive = std::make_shared<int>(1);
    const auto wait_on = [&](const auto& executor) {
        const auto never_called = [alive](error_code, const memory_guard&) { BOOST_ERROR("called"); };
        lh::async_acquire(other, any_handler{net::bind_executor(executor, never_called)});
    };
    {
        net::io_context io;
        net::thread_pool pool{1};
        wait_on(io.get_executor());
        wait_on(net::any_io_executor{io.get_executor()});
        wait_on(net::make_strand(io));
        wait_on(net::make_strand(net::any_io_executor{io.get_executor()}));
        wait_on(pool.get_executor());
        BOOST_TEST(alive.use_count() == 6);
        pool.stop();
    }
    BOOST_TEST(alive.use_count() == 1);
    BOOST_TEST(store.local_waiters().waiting() == 0u);
}
#endif

BOOST_AUTO_TEST_CASE_TEMPLATE(a_guard_that_nobody_took_is_released_with_its_context, Kind, kinds)
{
    lh::memory_store store;
    auto right = Kind::on(store, "a");
    {
        net::io_context io;
        Kind::async_acquire(right,
                            net::bind_executor(io, [](error_code, const guard_of<Kind, decltype(right)>&) { BOOST_ERROR("called"); }));
        BOOST_TEST(eventually([&] { return rows_taken<Kind>(store, "a") == Kind::own_rows; }));
    }
    BOOST_TEST(rows_taken<Kind>(store, "a") == 0u);
}

#if LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_AUTO_TEST_CASE(a_context_waits_for_a_call_before_it_destroys_a_coroutine_that_owns_the_store)
{
    BOOST_TEST_PASSPOINT();
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

BOOST_AUTO_TEST_CASE(guard_held_while_work_runs_is_released_before_a_handler_that_owns_the_store_is_destroyed)
{
    BOOST_TEST_PASSPOINT();
    struct world {
        explicit world(bool& held) : held_at_end{held} {}
        ~world() { held_at_end = !store.list("").empty(); }

        bool& held_at_end;
        lh::memory_store store;
        memory_lease lease{store, "a"};
    };
    constexpr int steps_until_the_work_waits = 10;  // and some more
    bool worked = false;
    for (int steps = 0; steps < steps_until_the_work_waits; ++steps) {
        bool held_at_end = true;
        {
            net::io_context io;
            auto owned = std::make_unique<world>(held_at_end);
            auto guard = owned->lease.acquire();
            auto work = [&worked](std::stop_token) -> net::awaitable<void> {
                worked = true;
                net::steady_timer never{co_await net::this_coro::executor, 1h};
                co_await never.async_wait(net::use_awaitable);
            };
            auto never_called = [owns = std::move(owned)](const std::exception_ptr&) { BOOST_ERROR("called"); };
            lh::async_run_while_held(std::move(guard), work, net::bind_executor(io, std::move(never_called)));
            for (int i = 0; i < steps; ++i) io.poll_one();
        }
        BOOST_TEST(!held_at_end, "after " << steps << " steps");
    }
    BOOST_TEST(worked);
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
        BOOST_TEST_REQUIRE(is_held(Kind::try_acquire(one)));
    }
}

BOOST_AUTO_TEST_SUITE_END()
