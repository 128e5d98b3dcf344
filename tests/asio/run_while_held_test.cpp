// SPDX-License-Identifier: BSL-1.0
#include <asio/support.hpp>

#include <exception>
#include <functional>
#include <stdexcept>

#if LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_AUTO_TEST_SUITE(asio_run_while_held_test)

using namespace leasehold_test;

namespace {

struct fixture {
    // Until its lease is lost, or it is cancelled otherwise.
    net::awaitable<void> wait_for_stop(std::stop_token stop)
    {
        // Where coroutines can be cancelled, the timer's wait ends with an exception.
        struct at_end {
            bool& ended;
            ~at_end() { ended = true; }
        } const sets{ended};
        net::steady_timer pause{co_await net::this_coro::executor};
        begun.set_value();
        while (!stop.stop_requested()) {
            pause.expires_after(1ms);
            co_await pause.async_wait(net::use_awaitable);
        }
    }

    lh::memory_store store;
    memory_lease lease{store, "a", lh::lease_terms{.ttl = 1500ms}};
    running_context io;
    std::promise<void> begun;
    bool ended = false;
    bool held_at_end = false;
    std::error_code ignored;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_lease_is_released_when_the_work_has_ended, fixture)
{
    std::promise<std::exception_ptr> done;
    auto work = [this](std::stop_token) -> net::awaitable<void> {
        held_at_end = store.inspect("a", ignored).has_value();
        co_return;
    };
    lh::async_run_while_held(lease.acquire(), work, net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); }));
    BOOST_TEST((done.get_future().get() == nullptr));
    BOOST_TEST(held_at_end);
    BOOST_TEST(!store.inspect("a", ignored));
}

BOOST_FIXTURE_TEST_CASE(an_exception_leaves_the_names_open_whatever_min_hold_is, fixture)
{
    const lh::lease_terms once{.ttl = 1h, .min_hold = 20h};
    memory_lease b{store, "b", once}, c{store, "c", once}, d{store, "d", once};
    const auto throws = [&](auto guard) {
        std::promise<std::exception_ptr> done;
        auto work = [](std::stop_token) -> net::awaitable<void> {
            throw std::runtime_error{"work"};
            co_return;
        };
        lh::async_run_while_held(std::move(guard), work,
                                 net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); }));
        return done.get_future().get() != nullptr;
    };
    BOOST_TEST(throws(b.acquire()));
    BOOST_TEST(throws(lh::try_acquire_all(c, d)));
    for (const char* name : {"b", "c", "d"}) BOOST_TEST(!store.inspect(name, ignored), name);
}

BOOST_FIXTURE_TEST_CASE(work_that_is_broken_off_leaves_the_name_open_whatever_min_hold_is, fixture)
{
    memory_lease b{store, "b", lh::lease_terms{.ttl = 1h, .min_hold = 20h}};
    {
        running_context short_lived;
        lh::async_run_while_held(b.acquire(), [this](std::stop_token stop) { return wait_for_stop(std::move(stop)); },
                                 net::bind_executor(short_lived.context, [](std::exception_ptr) {}));
        begun.get_future().wait();
    }
    BOOST_TEST(ended);
    BOOST_TEST(!store.inspect("b", ignored));
}

BOOST_FIXTURE_TEST_CASE(a_result_and_an_exception_reach_the_caller_after_the_release, fixture)
{
    auto result = net::co_spawn(
        io.context,
        [this]() -> net::awaitable<int> {
            auto work = [](std::stop_token) -> net::awaitable<int> { co_return 42; };
            const int got = co_await lh::async_run_while_held(lease.acquire(), work, net::use_awaitable);
            auto fails = [](std::stop_token) -> net::awaitable<int> {
                throw std::runtime_error{"the work's own"};
                co_return 1;
            };
            try {
                co_await lh::async_run_while_held(lease.acquire(), fails, net::use_awaitable);
            } catch (const std::runtime_error& e) {
                if (std::string{e.what()} == "the work's own" && !store.inspect("a", ignored)) co_return got;
            }
            co_return -1;
        },
        net::use_future);
    BOOST_TEST(result.get() == 42);
}

BOOST_FIXTURE_TEST_CASE(a_loss_stops_the_work_and_is_reported_when_the_work_has_ended, fixture)
{
    std::promise<std::exception_ptr> done;
    lh::async_run_while_held(lease.acquire(), [this](std::stop_token stop) { return wait_for_stop(std::move(stop)); },
                             net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); }));
    begun.get_future().get();
    store.force_release("a");
    const auto thrown = done.get_future().get();
    BOOST_TEST(ended);
    BOOST_CHECK_THROW(std::rethrow_exception(thrown), lh::lease_lost);
}

BOOST_FIXTURE_TEST_CASE(work_is_not_begun_under_a_guard_that_is_not_held, fixture)
{
    std::promise<std::exception_ptr> done;
    bool begun_anyway = false;
    auto work = [&](std::stop_token) -> net::awaitable<void> {
        begun_anyway = true;
        co_return;
    };
    lh::async_run_while_held(memory_guard{}, work, net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); }));
    BOOST_CHECK_THROW(std::rethrow_exception(done.get_future().get()), lh::lease_lost);
    BOOST_TEST(!begun_anyway);
}

BOOST_FIXTURE_TEST_CASE(work_is_not_begun_by_an_executor_that_comes_to_it_after_the_loss, fixture)
{
    lh::manual_clock clock;
    lh::basic_lease late{store, "late", 1min, clock, lh::no_renewal{}};
    net::io_context here;
    bool begun_anyway = false;
    std::exception_ptr thrown;
    auto work = [&](std::stop_token) -> net::awaitable<void> {
        begun_anyway = true;
        co_return;
    };
    lh::async_run_while_held(late.acquire(), work, net::bind_executor(here, [&](std::exception_ptr e) { thrown = e; }));
    clock.advance(1h);
    here.run();
    BOOST_TEST(!begun_anyway);
    BOOST_REQUIRE(thrown);
    BOOST_CHECK_THROW(std::rethrow_exception(thrown), lh::lease_lost);
}

BOOST_FIXTURE_TEST_CASE(the_handler_is_never_called_within_the_initiating_function, fixture)
{
    net::io_context here;
    bool initiating = false;
    int called = 0, called_within = 0;
    const auto note = [&](std::exception_ptr) { ++(initiating ? called_within : called); };
    const auto work = [](std::stop_token) -> net::awaitable<void> { co_return; };
    net::post(here, [&] {
        initiating = true;
        lh::async_run_while_held(memory_guard{}, work, net::bind_executor(here, note));
        lh::async_run_while_held(lease.acquire(), work, net::bind_executor(here, note));
        initiating = false;
    });
    here.run();
    BOOST_TEST(called_within == 0);
    BOOST_TEST(called == 2);
}

BOOST_FIXTURE_TEST_CASE(a_coroutine_is_cancelled_when_its_lease_is_lost, fixture)
{
    std::promise<std::exception_ptr> done;
    auto work = [this]() -> net::awaitable<void> {
        net::steady_timer never{co_await net::this_coro::executor, 1h};
        begun.set_value();
        co_await never.async_wait(net::use_awaitable);
    };
    lh::async_run_while_held(lease.acquire(), work(), net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); }));
    begun.get_future().get();
    store.force_release("a");
    BOOST_CHECK_THROW(std::rethrow_exception(done.get_future().get()), lh::lease_lost);
}

namespace {

// Calls a function each time that it is moved; as work, it waits until it is cancelled.
struct work_that_moves {
    explicit work_that_moves(std::function<void()> f) : at_move{std::move(f)} {}
    work_that_moves(work_that_moves&& other) : at_move{std::move(other.at_move)} { at_move(); }
    work_that_moves& operator=(work_that_moves&&) = delete;
    ~work_that_moves() = default;

    net::awaitable<void> operator()() const
    {
        net::steady_timer never{co_await net::this_coro::executor, 1h};
        co_await never.async_wait(net::use_awaitable);
    }

    std::function<void()> at_move;
};

}  // namespace

// The start moves the work from one place to the next, and the loss comes at each of these moves in turn.
BOOST_AUTO_TEST_CASE(a_loss_at_any_instant_of_the_start_cancels_the_work)
{
    bool while_it_starts = true;
    for (int when = 1; while_it_starts; ++when) {
        lh::manual_clock clock;
        lh::basic_memory_store store{clock};
        lh::basic_lease lease{store, "a", clock, lh::no_renewal{}};
        std::promise<std::exception_ptr> done;
        running_context io;
        // Returns when the context has seen the loss.
        const auto lose = [&] {
            clock.advance(1h);
            std::promise<void> passed;
            net::post(io.context, [&passed] { passed.set_value(); });
            passed.get_future().get();
        };
        int moves = 0;
        const auto count = [&, starts_on = std::this_thread::get_id()] {
            if (std::this_thread::get_id() == starts_on && ++moves == when) lose();
        };
        lh::async_run_while_held(lease.acquire(), work_that_moves{count},
                                 net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); }));
        while_it_starts = moves >= when;
        if (!while_it_starts) lose();
        auto thrown = done.get_future();
        BOOST_REQUIRE_MESSAGE(thrown.wait_for(20s) == std::future_status::ready, "a loss at move " << when);
        BOOST_CHECK_THROW(std::rethrow_exception(thrown.get()), lh::lease_lost);
    }
}

BOOST_AUTO_TEST_SUITE_END()
#endif
