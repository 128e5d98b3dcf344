// SPDX-License-Identifier: BSL-1.0
#include <asio/support.hpp>

#include <support/thread_count.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <set>

BOOST_AUTO_TEST_SUITE(asio_permits_test)

using namespace leasehold_test;

namespace {

using permits = lh::lease_semaphore<lh::memory_store>;
using permit = permits::guard_type;
using scripted_permits = lh::lease_semaphore<scripted_store, lh::manual_clock>;
using scripted_permit = scripted_permits::guard_type;

template <class Right>
concept acquires = requires(Right&& right) { lh::async_acquire(std::forward<Right>(right), net::use_future); };
static_assert(acquires<permits&> && !acquires<permits> && !acquires<const permits&>, "not on a temporary semaphore");

struct fixture {
    lh::memory_store store;
    permits two{store, "p", 2};
    permits same{store, "p", 2};
    permits one{store, "single", 1};
    permits same_one{store, "single", 1};
    running_context io;
};

// Its attempts hang at a gate. The first attempt has written the record of the count.
struct hanging {
    hanging()
    {
        static_cast<void>(semaphore.try_acquire());
        store.before(operation::try_acquire, [this](std::string_view name) {
            if (name.starts_with("hangs")) calls.pass();
        });
    }
    ~hanging() { calls.open(); }

    lh::manual_clock clock;
    scripted_store store{clock};
    gate calls{clock};
    scripted_permits semaphore{store, "hangs", 1, clock};
};

// Where the end of a ticket waits.
struct ticket_end {
    std::atomic<std::thread::id> on;
    gate may_end;
};

// A store whose tickets take a thread each, as those of a database's session locks do; here they only say so.
class ticketed_store {
public:
    struct ticket {
        static constexpr bool takes_thread = true;

        lh::memory_store::queue_ticket inner;
        std::atomic<int>& count;
        ticket_end& end;

        ~ticket()
        {
            end.on = std::this_thread::get_id();
            end.may_end.pass();
            --count;
        }
        [[nodiscard]] std::string_view name() const { return inner.name(); }
    };

    ticket enqueue(std::string_view name, lh::waker& to_wake)
    {
        ++tickets;
        return {inner.enqueue(name, to_wake), tickets, end};
    }
    lh::acquire_result try_acquire(ticket& t, std::string_view o, lh::duration d, std::error_code& ec) { return inner.try_acquire(t.inner, o, d, ec); }
    lh::acquire_result try_acquire(std::string_view n, std::string_view o, lh::duration d, std::error_code& ec) { return inner.try_acquire(n, o, d, ec); }
    bool renew(std::string_view n, std::string_view o, lh::fencing_token t, lh::duration d, std::error_code& ec) { return inner.renew(n, o, t, d, ec); }
    bool release(std::string_view n, std::string_view o, lh::fencing_token t, lh::duration d, std::error_code& ec) { return inner.release(n, o, t, d, ec); }
    std::optional<lh::lease_record> inspect(std::string_view n, std::error_code& ec) { return inner.inspect(n, ec); }

    lh::memory_store inner;
    std::atomic<int> tickets = 0;
    ticket_end end;
};
static_assert(lh::notifying_store<ticketed_store>);

}  // namespace

BOOST_FIXTURE_TEST_CASE(attempts_get_permits_until_all_are_taken, fixture)
{
    recorder<permit> first, second, third;
    lh::async_try_acquire(two, first.on(io.context));
    lh::async_try_acquire(two, second.on(io.context));
    const auto a = first.get(), b = second.get();
    BOOST_TEST((!a.ec && !b.ec && a.result.held() && b.result.held()));
    BOOST_TEST(a.result.index() != b.result.index());
    lh::async_try_acquire(same, third.on(io.context));
    const auto busy = third.get();
    BOOST_TEST(!busy.ec);
    BOOST_TEST(busy.result.empty());
}

BOOST_FIXTURE_TEST_CASE(a_release_wakes_waiters_of_this_object_and_of_others, fixture)
{
    for (permits* waits : {&one, &same_one}) {
        auto held = one.acquire();
        recorder<permit> waiter;
        lh::async_acquire(*waits, waiter.on(io.context));
        BOOST_TEST(!waiter.called(20ms));
        recorder<lh::release_outcome> released;
        lh::async_release(held, released.on(io.context));
        BOOST_TEST(held.empty());
        BOOST_TEST((released.get().result == lh::release_outcome::released));
        BOOST_TEST(waiter.get().result.held());
    }
}

BOOST_FIXTURE_TEST_CASE(waiters_of_both_kinds_are_served_in_the_order_of_arrival, fixture)
{
    auto held = one.acquire();
    std::mutex mutex;
    std::string order;
    const auto note = [&](char who) {
        const std::lock_guard lock{mutex};
        order += who;
    };
    lh::async_acquire(same_one, net::bind_executor(io.context, [&](error_code, permit guard) {
        note('a');
        guard.release();
    }));
    BOOST_TEST(eventually([&] { return store.local_waiters().waiting() == 1; }));
    std::thread blocking{[&] {
        permits third{store, "single", 1};
        auto guard = third.acquire();
        note('b');
        guard.release();
    }};
    BOOST_TEST(eventually([&] { return store.local_waiters().waiting() == 2; }));
    permits fourth{store, "single", 1};
    recorder<permit> last;
    lh::async_acquire(fourth, last.on(io.context));
    BOOST_TEST(eventually([&] { return store.local_waiters().waiting() == 3; }));
    held.release();
    blocking.join();
    BOOST_TEST(last.get().result.held());
    BOOST_TEST(order == "ab");
}

BOOST_FIXTURE_TEST_CASE(a_wait_that_runs_out_of_time_ends_with_an_empty_guard_and_no_error, fixture)
{
    const auto held = one.acquire();
    recorder<permit> for_a_while, until_then, no_time, behind;
    lh::async_try_acquire_for(same_one, 20ms, for_a_while.on(io.context));
    lh::async_try_acquire_for(same_one, 10ms, behind.on(io.context));
    lh::async_try_acquire_until(one, std::chrono::system_clock::now() + 20ms, until_then.on(io.context));
    lh::async_try_acquire_for(one, 0s, no_time.on(io.context));
    for (auto* each : {&for_a_while, &until_then, &no_time, &behind}) {
        const auto end = each->get();
        BOOST_TEST(!end.ec);
        BOOST_TEST(end.result.empty());
    }
    BOOST_TEST(store.local_waiters().waiting() == 0u);
}

BOOST_FIXTURE_TEST_CASE(those_behind_others_end_with_their_time_or_when_they_are_cancelled, fixture)
{
    auto held = one.acquire();
    std::stop_source stop;
    recorder<permit> waits, in_time, cancelled, in_time_elsewhere, cancelled_elsewhere;
    lh::async_acquire(one, waits.on(io.context));
    BOOST_TEST(eventually([&] { return store.local_waiters().waiting() == 1; }));
    lh::async_try_acquire_for(one, 10ms, in_time.on(io.context));
    lh::async_acquire(one, stop.get_token(), cancelled.on(io.context));
    lh::async_try_acquire_for(same_one, 10ms, in_time_elsewhere.on(io.context));
    lh::async_acquire(same_one, stop.get_token(), cancelled_elsewhere.on(io.context));
    stop.request_stop();
    for (auto* each : {&cancelled, &cancelled_elsewhere}) BOOST_TEST(each->get().ec == aborted);
    for (auto* each : {&in_time, &in_time_elsewhere}) {
        const auto end = each->get();
        BOOST_TEST((!end.ec && end.result.empty()));
    }
    held.release();
    BOOST_TEST(waits.get().result.held());
}

BOOST_AUTO_TEST_CASE(a_release_is_enough_for_a_waiter_and_no_time_has_to_pass)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    scripted_permits holder{store, "p", 1, clock}, semaphore{store, "p", 1, clock};
    auto held = holder.acquire();
    running_context io;
    recorder<scripted_permit> waiter;
    lh::async_acquire(semaphore, waiter.on(io.context));
    BOOST_TEST(eventually([&] { return store.answered(operation::try_acquire) >= 4 && clock.sleepers() == 1; }));
    held.release();
    BOOST_TEST(waiter.get().result.held());
}

BOOST_FIXTURE_TEST_CASE(processes_that_disagree_on_the_count_get_an_error, fixture)
{
    const auto held = two.acquire();
    permits three{store, "p", 3};
    recorder<permit> attempt, wait;
    lh::async_try_acquire(three, attempt.on(io.context));
    lh::async_acquire(three, wait.on(io.context));
    BOOST_TEST(attempt.get().ec == lh::errc::invalid_terms);
    BOOST_TEST(wait.get().ec == lh::errc::invalid_terms);
}

BOOST_FIXTURE_TEST_CASE(the_semaphore_need_not_outlive_the_operation, fixture)
{
    auto held = one.acquire();
    recorder<permit> waiter;
    {
        permits short_lived{store, "single", 1};
        lh::async_acquire(short_lived, waiter.on(io.context));
    }
    held.release();
    BOOST_TEST(waiter.get().result.held());
}

BOOST_FIXTURE_TEST_CASE(a_permit_is_renewed_and_its_loss_is_told, fixture)
{
    auto held = two.acquire();
    recorder<bool> extended, longer, lost, none;
    lh::async_renew(held, extended.on(io.context));
    BOOST_TEST(extended.get().result);
    lh::async_renew(held, 10min, longer.on(io.context));
    BOOST_TEST(longer.get().result);
    BOOST_TEST((held.remaining() > 5min));
    store.force_release(held.name());
    lh::async_renew(held, lost.on(io.context));
    const auto after_loss = lost.get();
    BOOST_TEST(!after_loss.ec);
    BOOST_TEST(!after_loss.result);
    lh::async_renew(permit{}, none.on(io.context));
    BOOST_TEST(none.get().ec == lh::errc::not_held);
    recorder<lh::release_outcome> released;
    lh::async_release(permit{}, released.on(io.context));
    BOOST_TEST(released.get().ec == lh::errc::not_held);
}

BOOST_AUTO_TEST_CASE(an_outage_ends_a_wait_with_the_stores_error)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    scripted_permits semaphore{store, "p", 2, clock};
    running_context io;
    store.always(operation::try_acquire, fate::fails);
    recorder<scripted_permit> wait;
    lh::async_acquire(semaphore, wait.on(io.context));
    BOOST_TEST(wait.get().ec == lh::errc::store_unavailable);
}

BOOST_AUTO_TEST_CASE(a_wait_follows_the_clock_of_its_semaphore)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    scripted_permits holder{store, "p", 1, clock, lh::lease_terms{.ttl = 10h}}, semaphore{store, "p", 1, clock, lh::lease_terms{.ttl = 10h}};
    const auto held = holder.acquire();
    running_context io;
    recorder<scripted_permit> waiter;
    lh::async_try_acquire_for(semaphore, 2h, waiter.on(io.context));
    BOOST_TEST(eventually([&] { return store.answered(operation::try_acquire) >= 4 && clock.sleepers() == 1; }));
    clock.advance(2h - 1ns);
    BOOST_TEST(!waiter.called(5ms));
    clock.advance(1ns);
    const auto end = waiter.get();
    BOOST_TEST(!end.ec);
    BOOST_TEST(end.result.empty());
}

BOOST_FIXTURE_TEST_CASE(a_stop_ends_a_wait_at_once_and_the_next_has_its_turn, fixture)
{
    auto held = one.acquire();
    std::stop_source stop;
    recorder<permit> waiter, behind_it;
    lh::async_acquire(same_one, stop.get_token(), waiter.on(io.context));
    lh::async_acquire(same_one, behind_it.on(io.context));
    BOOST_TEST(!waiter.called(5ms));
    BOOST_TEST(store.local_waiters().waiting() == 1u, "the second waits behind the first, in the object");
    stop.request_stop();
    const auto end = waiter.get();
    BOOST_TEST(end.ec == aborted);
    BOOST_TEST(end.result.empty());
    held.release();
    BOOST_TEST(behind_it.get().result.held());
    BOOST_TEST(store.local_waiters().waiting() == 0u);
}

#if LEASEHOLD_ASIO_HAS_CANCELLATION
BOOST_FIXTURE_TEST_CASE(a_cancellation_slot_ends_a_wait, fixture)
{
    const auto held = one.acquire();
    net::cancellation_signal signal;
    recorder<permit> waiter;
    lh::async_acquire(same_one, net::bind_cancellation_slot(signal.slot(), waiter.on(io.context)));
    net::post(io.context, [&] { signal.emit(net::cancellation_type::total); });
    BOOST_TEST(waiter.get().ec == aborted);
    BOOST_TEST(store.local_waiters().waiting() == 0u);
}
#endif

BOOST_AUTO_TEST_CASE(a_grant_that_comes_after_the_cancellation_is_released)
{
    for (const bool waits : {true, false}) {
        hanging with;
        running_context io;
        std::stop_source stop;
        recorder<scripted_permit> waiter;
        const int released = with.store.sent(operation::release);
        if (waits)
            lh::async_acquire(with.semaphore, stop.get_token(), waiter.on(io.context));
        else
            lh::async_try_acquire_until(with.semaphore, with.clock.now() + 1s, stop.get_token(), waiter.on(io.context));
        BOOST_TEST(with.calls.reached_by(1));
        stop.request_stop();
        BOOST_TEST(!waiter.called(5ms));
        with.calls.open();
        const auto end = waiter.get();
        BOOST_TEST(end.ec == aborted);
        BOOST_TEST(end.result.empty());
        std::error_code ec;
        BOOST_TEST(!with.store.leases.inspect("hangs/0", ec));
        BOOST_TEST(with.store.sent(operation::release) == released + 1);
    }
}

BOOST_FIXTURE_TEST_CASE(no_permit_is_lost_between_a_cancellation_and_a_grant, fixture)
{
    for (int i = 0; i < 100; ++i) {
        auto held = one.acquire();
        std::stop_source stop;
        recorder<permit> waiter;
        lh::async_acquire(same_one, stop.get_token(), waiter.on(io.context));
        std::thread cancels{[&] { stop.request_stop(); }};
        held.release();
        cancels.join();
        auto end = waiter.get();
        BOOST_TEST_REQUIRE((end.ec == aborted) == end.result.empty());
        end.result = {};
        BOOST_TEST_REQUIRE(one.try_acquire().held());
    }
}

BOOST_AUTO_TEST_CASE(a_store_that_hangs_blocks_neither_the_executor_nor_a_cancellation)
{
    hanging with;
    running_context io;
    scripted_lease other{with.store, "hangs too", with.clock};
    scripted_permits third{with.store, "not asked for yet", 2, with.clock};
    recorder<scripted_permit> hangs, waits;
    recorder<scripted_lease::guard_type> hangs_too;
    std::stop_source stop;
    lh::async_try_acquire(with.semaphore, hangs.on(io.context));
    lh::async_try_acquire(other, hangs_too.on(io.context));
    BOOST_TEST(with.calls.reached_by(2));
    lh::async_acquire(third, stop.get_token(), waits.on(io.context));
    std::promise<void> ran;
    net::post(io.context, [&] { ran.set_value(); });
    BOOST_TEST((ran.get_future().wait_for(20s) == std::future_status::ready));
    stop.request_stop();
    BOOST_TEST(waits.get().ec == aborted);
    with.calls.open();
    static_cast<void>(hangs.get());
    static_cast<void>(hangs_too.get());
}

BOOST_AUTO_TEST_CASE(a_context_that_is_destroyed_ends_its_waits_and_destroys_their_handlers)
{
    lh::memory_store store;
    permits one{store, "p", 1};
    auto held = one.acquire();
    const auto alive = std::make_shared<int>(1);
    {
        net::io_context io;
        for (int i = 0; i < 3; ++i)
            lh::async_acquire(one, net::bind_executor(io, [alive](error_code, const permit&) { BOOST_ERROR("called"); }));
        BOOST_TEST(alive.use_count() == 4);
    }
    BOOST_TEST(alive.use_count() == 1);
    BOOST_TEST(store.local_waiters().waiting() == 0u);
    held.release();
    BOOST_TEST(one.try_acquire().held());
}

BOOST_AUTO_TEST_CASE(contexts_are_destroyed_while_grants_arrive)
{
    lh::memory_store store;
    permits two{store, "p", 2};
    for (int i = 0; i < 50; ++i) {
        {
            net::thread_pool pool{2};
            for (int n = 0; n < 10; ++n) lh::async_acquire(two, net::bind_executor(pool, [](error_code, const permit&) {}));
            pool.stop();
        }
        const auto a = two.try_acquire(), b = two.try_acquire();
        BOOST_TEST_REQUIRE((a.held() && b.held()));
    }
}

BOOST_AUTO_TEST_CASE(ten_thousand_waiters_take_few_threads_and_all_get_a_permit)
{
    constexpr int many = 10'000;
    lh::memory_store store;
    net::io_context io;
    const auto before = thread_count();
    permits three{store, "p", 3}, others{store, "p", 3};
    std::vector<permit> held;
    for (int i = 0; i < 3; ++i) held.push_back(three.acquire());
    std::atomic<int> served = 0, at_once = 0, most = 0;
    for (int i = 0; i < many; ++i)
        lh::async_acquire(i % 2 == 0 ? three : others, net::bind_executor(io, [&](error_code, permit guard) {
            most = std::max(most.load(), ++at_once);
            if (guard.held()) ++served;
            --at_once;
            guard.release();
        }));
    BOOST_TEST(thread_count() - before <= 8);
    held.clear();
    io.run();
    BOOST_TEST(served == many);
    BOOST_TEST(most <= 3);
    BOOST_TEST(thread_count() - before <= 8);
}

BOOST_AUTO_TEST_CASE(one_waiter_of_a_store_has_a_ticket_that_takes_a_thread)
{
    ticketed_store store;
    lh::lease_semaphore a{store, "a", 1}, b{store, "b", 1}, holds_a{store, "a", 1}, holds_b{store, "b", 1};
    using guard_type = decltype(a)::guard_type;
    const auto held = holds_a.acquire(), held_too = holds_b.acquire();
    running_context io;
    std::stop_source stop, stop_too;
    recorder<guard_type> first, second;
    lh::async_acquire(a, stop.get_token(), first.on(io.context));
    BOOST_TEST(eventually([&] { return store.tickets == 1; }));
    lh::async_acquire(b, stop_too.get_token(), second.on(io.context));
    BOOST_TEST(!second.called(50ms));
    BOOST_TEST(store.tickets == 1, "the other asks");
    BOOST_TEST(lh::waiting::process_queue().waiting() == 2u);
    stop.request_stop();
    BOOST_TEST(lh::waiting::process_queue().waiting() == 1u, "it does not wait for the end of its ticket");
    BOOST_TEST(!first.called(5ms));
    store.end.may_end.open();
    BOOST_TEST(first.get().ec == aborted);
    BOOST_TEST((store.end.on.load() != std::this_thread::get_id()));
    BOOST_TEST(eventually([&] { return store.tickets == 1; }), "the other has it now");
    BOOST_TEST(throughout([&] { return store.tickets <= 1; }, 20ms));
    stop_too.request_stop();
    BOOST_TEST(second.get().ec == aborted);
    BOOST_TEST(store.tickets == 0, "given back before the handler is called");
}

BOOST_FIXTURE_TEST_CASE(a_future_has_the_permit_or_throws_the_error, fixture)
{
    auto guard = lh::async_acquire(one, net::use_future).get();
    BOOST_TEST(guard.held());
    BOOST_TEST(lh::async_try_acquire(same_one, net::use_future).get().empty());
    BOOST_TEST(lh::async_renew(guard, net::use_future).get());
    BOOST_TEST((lh::async_release(std::move(guard), net::use_future).get() == lh::release_outcome::released));
    BOOST_CHECK_THROW(static_cast<void>(lh::async_release(permit{}, net::use_future).get()), net_system_error);
}

BOOST_FIXTURE_TEST_CASE(the_handler_is_never_called_within_the_initiating_function, fixture)
{
    net::io_context context;
    bool called = false;
    std::stop_source stopped;
    stopped.request_stop();
    lh::async_acquire(one, stopped.get_token(), net::bind_executor(context, [&](error_code ec, const permit&) { called = ec == aborted; }));
    BOOST_TEST(!called);
    context.run();
    BOOST_TEST(called);
}

#if LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_FIXTURE_TEST_CASE(coroutines_take_turns_and_work_while_they_hold_a_permit, fixture)
{
    net::io_context context{1};
    int turns = 0, lost = 0;
    std::set<std::size_t> indices;
    for (int i = 0; i < 10; ++i)
        net::co_spawn(
            context,
            [&]() -> net::awaitable<void> {
                for (int n = 0; n < 5; ++n) {
                    auto guard = co_await lh::async_acquire(two, net::use_awaitable);
                    indices.insert(guard.index());
                    auto work = [&](std::stop_token) -> net::awaitable<int> { co_return 1; };
                    turns += co_await lh::async_run_while_held(std::move(guard), work, net::use_awaitable);
                }
            },
            net::detached);
    context.run();
    BOOST_TEST(turns == 50);
    BOOST_TEST(*indices.rbegin() <= 1u);
    permits quick{store, "quick", 2, lh::lease_terms{.ttl = 300ms}};
    net::co_spawn(
        context,
        [&]() -> net::awaitable<void> {
            auto guard = co_await lh::async_acquire(quick, net::use_awaitable);
            auto until_lost = [&store = store, name = std::string{guard.name()}](std::stop_token stop) -> net::awaitable<void> {
                net::steady_timer pause{co_await net::this_coro::executor};
                store.force_release(name);
                while (!stop.stop_requested()) {
                    pause.expires_after(1ms);
                    co_await pause.async_wait(net::use_awaitable);
                }
            };
            try {
                co_await lh::async_run_while_held(std::move(guard), until_lost, net::use_awaitable);
            } catch (const lh::lease_lost&) {
                ++lost;
            }
        },
        net::detached);
    context.restart();
    context.run();
    BOOST_TEST(lost == 1);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
