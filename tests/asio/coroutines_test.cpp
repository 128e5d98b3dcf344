// SPDX-License-Identifier: BSL-1.0
// The cancellation of single operations in coroutines, by slots of their own and by the operators || and &&.
#include <asio/kinds.hpp>
#include <contract/asked_once.hpp>

#if LEASEHOLD_ASIO_HAS_COROUTINES

#ifdef LEASEHOLD_STANDALONE_ASIO
#include <asio/experimental/awaitable_operators.hpp>
#else
#include <boost/asio/experimental/awaitable_operators.hpp>
#endif

#include <exception>
#include <functional>
#include <stdexcept>
#include <utility>

BOOST_AUTO_TEST_SUITE(asio_coroutines_test)

using namespace leasehold_test;
using namespace net::experimental::awaitable_operators;

namespace {

// A right that somebody holds, and the coroutines of this thread that want it.
template <class Kind>
struct scene : two_rights<Kind> {
    // Starts a coroutine, and returns when it waits.
    template <class Coroutine>
    void start(Coroutine coroutine)
    {
        ended = false;
        net::co_spawn(context, std::move(coroutine), net::bind_cancellation_slot(whole.slot(), [this](std::exception_ptr e) {
            thrown = e;
            ended = true;
        }));
        context.restart();
        context.poll();
    }
    // Runs it to its end. Its exceptions reach the caller.
    void finish()
    {
        context.restart();
        context.run_for(20s);
        if (!ended) throw std::runtime_error{"the coroutine has not ended"};
        if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
    }
    template <class Coroutine>
    void run(Coroutine coroutine)
    {
        start(std::move(coroutine));
        finish();
    }

    net::io_context context{1};
    net::cancellation_signal whole;
    std::exception_ptr thrown;
    bool ended = false;
};

const auto is_aborted = [](const net_system_error& e) { return e.code() == net::error::operation_aborted; };

// Whether the call ends as an aborted operation. Of two that were started together, both may be.
bool is_aborted_by(const std::function<void()>& call)
{
    try {
        call();
        return false;
    } catch (const net_system_error& e) {
        return is_aborted(e);
    } catch (const net::multiple_exceptions& both) {
        return is_aborted_by([&] { std::rethrow_exception(both.first_exception()); });
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_slot_ends_one_wait_and_its_coroutine_goes_on, Kind, kinds)
{
    scene<Kind> s;
    auto held = Kind::hold(s.one);
    net::cancellation_signal only_this;
    bool ended = false, got = false;
    std::size_t taken_then = 0;
    s.start([&]() -> net::awaitable<void> {
        try {
            static_cast<void>(co_await Kind::async_acquire(s.other, net::bind_cancellation_slot(only_this.slot(), net::use_awaitable)));
        } catch (const net_system_error& e) {
            ended = is_aborted(e);
        }
        taken_then = s.taken();
        held.release();
        auto guard = co_await Kind::async_acquire(s.other, net::use_awaitable);
        got = guard.held();
    });
    BOOST_TEST(s.one_waits());
    only_this.emit(net::cancellation_type::partial);
    // Before the coroutine goes on: nothing runs it. An attempt that is under way ends first.
    BOOST_TEST(eventually([&] { return s.waiting() == 0u; }));
    s.finish();
    BOOST_TEST(ended);
    BOOST_TEST(taken_then == Kind::held_rows);
    BOOST_TEST(got);
    BOOST_TEST(s.taken() == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_coroutines_own_cancellation_ends_its_wait_if_it_allows_that_type, Kind, kinds)
{
    scene<Kind> s;
    const auto held = Kind::hold(s.one);
    const auto waits = [&]() -> net::awaitable<void> { static_cast<void>(co_await Kind::async_acquire(s.other, net::use_awaitable)); };
    s.start(waits);
    BOOST_TEST(s.one_waits());
    s.whole.emit(net::cancellation_type::total);
    BOOST_TEST(s.waiting() == 1u, "by default a coroutine passes on only terminal");
    s.whole.emit(net::cancellation_type::terminal);
    BOOST_CHECK_EXCEPTION(s.finish(), net_system_error, is_aborted);
    s.start([&]() -> net::awaitable<void> {
        co_await net::this_coro::reset_cancellation_state(net::enable_total_cancellation());
        co_await waits();
    });
    BOOST_TEST(s.one_waits());
    s.whole.emit(net::cancellation_type::total);
    BOOST_CHECK_EXCEPTION(s.finish(), net_system_error, is_aborted);
    BOOST_TEST(s.waiting() == 0u);
    BOOST_TEST(s.taken() == Kind::held_rows);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(of_two_waits_the_first_that_is_granted_cancels_the_other, Kind, kinds)
{
    scene<Kind> s;
    const auto held = Kind::hold(s.one);
    auto other_name = Kind::on(s.store, "b"), holder_of_that = Kind::on(s.store, "b");
    auto held_first = Kind::hold(holder_of_that);
    std::size_t first = 0, taken_then = 0;
    bool got = false;
    s.start([&]() -> net::awaitable<void> {
        auto granted = co_await (Kind::async_acquire(s.other, net::use_awaitable) || Kind::async_acquire(other_name, net::use_awaitable));
        first = granted.index();
        got = std::get<1>(granted).held();
        taken_then = s.taken();
    });
    const auto both_wait = [&] { return s.store.local_waiters().waiting() == 2 * Kind::queues_of_first; };
    BOOST_TEST(eventually([&] { return both_wait() && s.taken() == Kind::rows_while_waiting; }));
    held_first.release();
    s.finish();
    BOOST_TEST(first == 1u);
    BOOST_TEST(got);
    BOOST_TEST(s.waiting() == 0u);
    BOOST_TEST(taken_then == Kind::held_rows, "the other wait has given back what it had");
    BOOST_TEST(rows_taken<Kind>(s.store, "b") == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(of_two_rights_that_are_granted_at_once_one_is_kept_and_the_other_released, Kind, kinds)
{
    scene<Kind> s;
    auto other_name = Kind::on(s.store, "b");
    const auto taken = [&] { return s.taken() + rows_taken<Kind>(s.store, "b"); };
    int kept = 0;
    for (int i = 0; i < 50; ++i) {
        s.run([&]() -> net::awaitable<void> {
            auto granted = co_await (Kind::async_acquire(s.one, net::use_awaitable) || Kind::async_acquire(other_name, net::use_awaitable));
            if (std::visit([](const auto& guard) { return guard.held(); }, granted) && taken() == Kind::own_rows) ++kept;
        });
        BOOST_TEST_REQUIRE(taken() == 0u);
    }
    BOOST_TEST(kept == 50);
    BOOST_TEST(s.waiting() == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_timer_ends_a_wait, Kind, kinds)
{
    scene<Kind> s;
    auto held = Kind::hold(s.one);
    std::size_t first = 0, taken_then = 0;
    auto waiting_then = s.waiting() + 1;
    s.run([&]() -> net::awaitable<void> {
        net::steady_timer time{co_await net::this_coro::executor, 5ms};
        auto ended = co_await (Kind::async_acquire(s.other, net::use_awaitable) || time.async_wait(net::use_awaitable));
        first = ended.index();
        taken_then = s.taken();
        waiting_then = s.waiting();
    });
    BOOST_TEST(first == 1u);
    BOOST_TEST(taken_then == Kind::held_rows);
    BOOST_TEST(waiting_then == 0u);
    held.release();
    BOOST_TEST(is_held(Kind::try_acquire(s.other)));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(of_two_rights_that_are_wanted_together_none_is_kept_after_a_cancellation, Kind, kinds)
{
    scene<Kind> s;
    auto held = Kind::hold(s.one);
    auto other_name = Kind::on(s.store, "b");
    bool both = false;
    const auto wants_both = [&]() -> net::awaitable<void> {
        auto [a, b] = co_await (Kind::async_acquire(s.other, net::use_awaitable) && Kind::async_acquire(other_name, net::use_awaitable));
        both = a.held() && b.held();
    };
    s.start(wants_both);
    BOOST_TEST(s.one_waits());
    BOOST_TEST(eventually([&] { return rows_taken<Kind>(s.store, "b") == Kind::own_rows; }));
    s.whole.emit(net::cancellation_type::terminal);
    BOOST_TEST(is_aborted_by([&] { s.finish(); }));
    BOOST_TEST(rows_taken<Kind>(s.store, "b") == 0u);
    BOOST_TEST(s.taken() == Kind::held_rows);
    BOOST_TEST(s.waiting() == 0u);
    held.release();
    s.run(wants_both);
    BOOST_TEST(both);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(guard_held_while_work_runs_is_released_when_a_timer_cancels_the_work, Kind, kinds)
{
    scene<Kind> s;
    bool stopped = false, held_then = false;
    std::size_t first = 0, taken_then = 1;
    s.run([&]() -> net::awaitable<void> {
        const auto executor = co_await net::this_coro::executor;
        auto guard = co_await Kind::async_acquire(s.one, net::use_awaitable);
        auto work = [&](std::stop_token stop) -> net::awaitable<void> {
            net::steady_timer never{co_await net::this_coro::executor, 1h};
            try {
                co_await never.async_wait(net::use_awaitable);
            } catch (const net_system_error& e) {
                stopped = is_aborted(e) && stop.stop_requested();
                held_then = s.taken() == Kind::own_rows;
            }
        };
        net::steady_timer time{executor, 5ms};
        auto ended = co_await (lh::async_run_while_held(std::move(guard), work, net::use_awaitable) || time.async_wait(net::use_awaitable));
        first = ended.index();
        taken_then = s.taken();
    });
    BOOST_TEST(first == 1u);
    BOOST_TEST(stopped);
    BOOST_TEST(held_then, "until the work has ended");
    BOOST_TEST(taken_then == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

#endif
