// SPDX-License-Identifier: BSL-1.0
#include <asio/counting_allocator.hpp>
#include <asio/kinds.hpp>
#include <contract/asked_once.hpp>

#if LEASEHOLD_ASIO_VERSION >= 102400
#define LEASEHOLD_TESTS_TOKENS net
#elif LEASEHOLD_ASIO_VERSION >= 102200 && defined(LEASEHOLD_STANDALONE_ASIO)
#define LEASEHOLD_TESTS_TOKENS net::experimental
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/deferred.hpp>
#endif

#include <array>
#include <atomic>
#include <stdexcept>

BOOST_AUTO_TEST_SUITE(asio_tokens_test)

using namespace leasehold_test;

namespace {

struct fixture {
    lh::memory_store store;
    memory_lease lease{store, "a"};
    memory_lease other{store, "a"};
};

#if LEASEHOLD_ASIO_HAS_COROUTINES
// Runs a coroutine to its end; its exceptions reach the caller.
template <class Coroutine>
void run(net::io_context& io, Coroutine coroutine)
{
    std::exception_ptr thrown;
    net::co_spawn(io, std::move(coroutine), [&](std::exception_ptr e) { thrown = e; });
    io.run();
    if (thrown) std::rethrow_exception(thrown);
}

#endif

struct handler_with_allocator {
    using allocator_type = counting_allocator<char>;
    using executor_type = net::io_context::executor_type;
    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type{*account}; }
    [[nodiscard]] executor_type get_executor() const noexcept { return executor; }
    void operator()(error_code, memory_guard guard)
    {
        *held = guard.held();
        *blocks_left = account->blocks;
    }
    memory_account* account;
    executor_type executor;
    bool* held;
    int* blocks_left;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_function_without_an_executor_is_called_on_the_system_executor, fixture)
{
    std::promise<bool> held;
    lh::async_acquire(lease, [&](std::error_code ec, auto guard) {
        const bool got = !ec && guard.held();
        guard.release();  // before the test, and with it the store, may end
        held.set_value(got);
    });
    BOOST_TEST(held.get_future().get());
}

#if LEASEHOLD_TESTS_ANY_COMPLETION_HANDLER
BOOST_FIXTURE_TEST_CASE(a_handler_of_any_type_is_called_by_its_executor_and_not_within_the_initiating_function, fixture)
{
    using any_handler = net::any_completion_handler<void(lh::detail::net_error_code, memory_guard)>;
    net::io_context io;
    const auto strand = net::make_strand(io);
    const auto of_strand = net::make_strand(net::any_io_executor{io.get_executor()});
    int called = 0, within = 0, elsewhere = 0;
    bool initiating = true;
    const auto note = [&](const auto& executor) {
        return net::bind_executor(executor, [&, executor](error_code, memory_guard) {
            ++called;
            if (initiating) ++within;
            if (!executor.running_in_this_thread()) ++elsewhere;
        });
    };
    net::post(io, [&] {
        lh::async_try_acquire(lease, any_handler{note(io.get_executor())});
        lh::async_try_acquire(lease, any_handler{note(strand)});
        lh::async_try_acquire(lease, any_handler{note(of_strand)});
        initiating = false;
    });
    io.run();
    BOOST_TEST(called == 3);
    BOOST_TEST(within == 0);
    BOOST_TEST(elsewhere == 0);
}

BOOST_FIXTURE_TEST_CASE(a_handler_of_any_type_without_an_executor_is_called_on_the_system_executor, fixture)
{
    std::promise<bool> held;
    net::any_completion_handler<void(lh::detail::net_error_code, memory_guard)> handler{[&](error_code ec, memory_guard guard) {
        const bool got = !ec && guard.held();
        guard.release();
        held.set_value(got);
    }};
    lh::async_acquire(lease, std::move(handler));
    BOOST_TEST(held.get_future().get());
}

#if LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_FIXTURE_TEST_CASE(a_handler_of_any_type_is_told_of_the_end_of_coroutines_by_its_executor, fixture)
{
    using any_handler = net::any_completion_handler<void(std::exception_ptr)>;
    net::io_context io;
    lh::leader_election election{other};
    cancellation slots;
    int worked = 0, called = 0;
    const auto note = net::bind_executor(io, [&](const std::exception_ptr& thrown) {
        if (!thrown && io.get_executor().running_in_this_thread()) ++called;
    });
    const auto work = [&](std::stop_token) -> net::awaitable<void> {
        if (io.get_executor().running_in_this_thread()) ++worked;
        co_return;
    };
    const auto lead = [&](lh::leader_term<memory_lease>&) -> net::awaitable<void> {
        if (io.get_executor().running_in_this_thread()) ++worked;
        slots.emit();
        co_return;
    };
    lh::async_run_while_held(lease.acquire(), work, any_handler{note});
    lh::async_lead(election, lead, any_handler{slots.on(note)});
    io.run();
    BOOST_TEST(worked == 2);
    BOOST_TEST(called == 2);
}
#endif
#endif

BOOST_AUTO_TEST_CASE_TEMPLATE(a_future_has_the_guard_or_throws_the_error, Kind, kinds)
{
    two_rights<Kind> f;
    auto guard = Kind::async_acquire(f.one, net::use_future).get();
    BOOST_TEST(guard.held());
    BOOST_TEST(is_empty(Kind::async_try_acquire(f.other, net::use_future).get()));
    BOOST_TEST(lh::async_renew(guard, net::use_future).get());
    BOOST_TEST((lh::async_release(std::move(guard), net::use_future).get() == lh::release_outcome::released));
    try {
        static_cast<void>(lh::async_release(typename two_rights<Kind>::guard{}, net::use_future).get());
        BOOST_ERROR("an empty guard was released");
    } catch (const net_system_error& e) {
        BOOST_TEST((e.code() == lh::errc::not_held));
    }
}

#if LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_FIXTURE_TEST_CASE(a_coroutine_awaits_every_operation, fixture)
{
    net::io_context io;
    run(io, [&]() -> net::awaitable<void> {
        auto guard = co_await lh::async_acquire(lease, net::use_awaitable);
        BOOST_TEST(guard.held());
        BOOST_TEST(is_empty(co_await lh::async_try_acquire(other, net::use_awaitable)));
        BOOST_TEST(is_empty(co_await lh::async_try_acquire_for(other, 5ms, net::use_awaitable)));
        BOOST_TEST(co_await lh::async_renew(guard, net::use_awaitable));
        BOOST_TEST((co_await lh::async_release(std::move(guard), net::use_awaitable) == lh::release_outcome::released));
        BOOST_TEST(is_held(co_await lh::async_try_acquire_until(other, std::chrono::steady_clock::now() + 5s, net::use_awaitable)));
    });
}

BOOST_FIXTURE_TEST_CASE(a_coroutine_gets_an_error_as_an_exception_that_can_be_compared, fixture)
{
    net::io_context io;
    run(io, [&]() -> net::awaitable<void> {
        try {
            static_cast<void>(co_await lh::async_release(memory_guard{}, net::use_awaitable));
            BOOST_ERROR("an empty guard was released");
        } catch (const net_system_error& e) {
            BOOST_TEST((e.code() == lh::errc::not_held));
            BOOST_TEST((e.code() != lh::errc::lost));
            BOOST_TEST(e.code().message() == make_error_code(lh::errc::not_held).message());
        }
    });
}

#endif

#if defined(LEASEHOLD_TESTS_TOKENS) && LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_FIXTURE_TEST_CASE(a_deferred_operation_starts_when_it_is_awaited, fixture)
{
    net::io_context io;
    auto later = lh::async_acquire(lease, LEASEHOLD_TESTS_TOKENS::deferred);
    BOOST_TEST(is_held(lease.try_acquire()));
    run(io, [&]() -> net::awaitable<void> {
        auto guard = co_await std::move(later)(net::use_awaitable);
        BOOST_TEST(guard.held());
        auto [ec, busy] = co_await lh::async_try_acquire(other, LEASEHOLD_TESTS_TOKENS::as_tuple(net::use_awaitable));
        BOOST_TEST(!ec);
        BOOST_TEST(busy.empty());
    });
}
#endif

#if LEASEHOLD_ASIO_VERSION >= 102802 && LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_FIXTURE_TEST_CASE(a_coroutine_awaits_deferred_operations, fixture)
{
    net::io_context io;
    run(io, [&]() -> net::awaitable<void> {
        auto guard = co_await lh::async_acquire(lease, net::deferred);
        BOOST_TEST(guard.held());
        const auto work = [this]() -> net::awaitable<int> { co_return lease.inspect() ? 42 : 0; };
        const int result = co_await lh::async_run_while_held(std::move(guard), work(), net::deferred);
        BOOST_TEST(result == 42);
        BOOST_TEST(!lease.inspect().has_value());
    });
}
#endif

BOOST_FIXTURE_TEST_CASE(a_packaged_task_runs_with_the_guard, fixture)
{
    std::packaged_task<bool(std::error_code, memory_guard)> task{[](std::error_code, memory_guard guard) { return guard.held(); }};
    BOOST_TEST(lh::async_acquire(lease, std::move(task)).get());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_handler_is_never_called_within_the_initiating_function, Kind, kinds)
{
    two_rights<Kind> f;
    using guard_type = typename two_rights<Kind>::guard;
    net::io_context io;
    bool initiating = false;
    int called = 0, called_within = 0;
    const auto note = [&](error_code, const auto&) { ++(initiating ? called_within : called); };
    // What is known at once: a cancellation, and that an empty guard holds nothing.
    cancellation slots;
    // On the thread that runs the handlers, where an executor that dispatches would call them there and then.
    net::post(io, [&] {
        initiating = true;
        Kind::async_acquire(f.one, slots.on(net::bind_executor(io, note)));
        slots.emit();
        const guard_type none;
        lh::async_renew(none, net::bind_executor(io, note));
        lh::async_release(guard_type{}, net::bind_executor(io, note));
        initiating = false;
    });
    io.run();
    BOOST_TEST(called_within == 0);
    BOOST_TEST(called == 3);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(each_handler_is_called_on_its_own_executor, Kind, kinds)
{
    two_rights<Kind> f;
    running_context other;
    const auto thread_of = [](running_context& context) {
        std::promise<std::thread::id> runs;
        net::post(context.context, [&] { runs.set_value(std::this_thread::get_id()); });
        return runs.get_future().get();
    };
    const auto one_thread = thread_of(f.io), other_thread = thread_of(other);
    recorder<typename two_rights<Kind>::guard> attempt, wait;
    recorder<bool> renewed;
    recorder<lh::release_outcome> released;
    Kind::async_try_acquire(f.one, attempt.on(f.io.context));
    auto held = attempt.get();
    BOOST_TEST((held.on == one_thread));
    Kind::async_acquire(f.other, wait.on(other.context));
    lh::async_renew(held.result, renewed.on(other.context));
    BOOST_TEST((renewed.get().on == other_thread));
    lh::async_release(std::move(held.result), released.on(f.io.context));
    BOOST_TEST((released.get().on == one_thread));
    BOOST_TEST((wait.get().on == other_thread));
}

BOOST_FIXTURE_TEST_CASE(an_operation_is_outstanding_work, fixture)
{
    auto held = lease.acquire();
    net::io_context io;
    bool got = false;
    lh::async_acquire(other, net::bind_executor(io, [&](error_code, const memory_guard& guard) { got = guard.held(); }));
    bool waited = false;
    std::thread releases{[&] {
        waited = eventually([&] { return store.local_waiters().waiting() == 1; });
        held.release();
    }};
    io.run();
    releases.join();
    BOOST_TEST(waited);
    BOOST_TEST(got);
}

BOOST_FIXTURE_TEST_CASE(the_handlers_allocator_is_used_and_gets_its_memory_back_before_the_call, fixture)
{
    net::io_context io;
    memory_account account;
    bool held = false;
    int blocks_left = -1;
    lh::async_acquire(lease, handler_with_allocator{&account, io.get_executor(), &held, &blocks_left});
    BOOST_TEST(account.blocks > 0);
    io.run();
    BOOST_TEST(held);
    BOOST_TEST(blocks_left == 0);
    BOOST_TEST(account.blocks == 0);
    BOOST_TEST(account.ever > 0);
}

BOOST_FIXTURE_TEST_CASE(an_exception_of_a_handler_leaves_through_the_context_that_runs_it, fixture)
{
    net::io_context io;
    lh::async_acquire(lease,
                      net::bind_executor(io, [](error_code, const memory_guard&) { throw std::runtime_error{"the handler's own"}; }));
    BOOST_CHECK_EXCEPTION(io.run(), std::runtime_error, [](const auto& e) { return std::string{e.what()} == "the handler's own"; });
    BOOST_TEST(is_held(other.try_acquire()));
}

BOOST_FIXTURE_TEST_CASE(handlers_of_a_strand_do_not_overlap, fixture)
{
    net::thread_pool pool{4};
    const auto strand = net::make_strand(pool);
    std::atomic<int> inside = 0;
    std::atomic<int> overlaps = 0;
    std::atomic<int> called = 0;
    std::vector<std::unique_ptr<memory_lease>> leases;
    for (int i = 0; i < 50; ++i) {
        leases.push_back(std::make_unique<memory_lease>(store, "name " + std::to_string(i)));
        lh::async_acquire(*leases.back(), net::bind_executor(strand, [&](error_code, const memory_guard& guard) {
            if (++inside != 1) ++overlaps;
            if (guard.held()) ++called;
            std::this_thread::yield();
            --inside;
        }));
    }
    pool.join();
    BOOST_TEST(called == 50);
    BOOST_TEST(overlaps == 0);
}

BOOST_FIXTURE_TEST_CASE(a_thread_pool_runs_many_that_take_turns_with_one_lease, fixture)
{
    net::thread_pool pool{3};
    std::atomic<int> turns = 0;
    std::atomic<int> at_once = 0;
    std::atomic<int> overlaps = 0;
    std::vector<std::unique_ptr<memory_lease>> leases;
    for (int i = 0; i < 60; ++i) {
        leases.push_back(std::make_unique<memory_lease>(store, "a"));
        lh::async_acquire(*leases.back(), net::bind_executor(pool, [&](error_code, memory_guard guard) {
            if (++at_once != 1) ++overlaps;
            if (guard.held()) ++turns;
            --at_once;
            guard.release();
        }));
    }
    pool.join();
    BOOST_TEST(turns == 60);
    BOOST_TEST(overlaps == 0);
}

#if LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_FIXTURE_TEST_CASE(one_thread_runs_coroutines_that_take_turns, fixture)
{
    net::io_context io{1};
    int turns = 0;
    for (int i = 0; i < 20; ++i)
        net::co_spawn(
            io,
            [&]() -> net::awaitable<void> {
                memory_lease mine{store, "a"};
                for (int n = 0; n < 5; ++n) {
                    auto guard = co_await lh::async_acquire(mine, net::use_awaitable);
                    if (guard.held()) ++turns;
                    co_await lh::async_release(std::move(guard), net::use_awaitable);
                }
            },
            net::detached);
    io.run();
    BOOST_TEST(turns == 100);
}

#endif

BOOST_AUTO_TEST_SUITE_END()
