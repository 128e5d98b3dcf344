// SPDX-License-Identifier: BSL-1.0
#include <asio/support.hpp>
#include <contract/asked_once.hpp>

#include <support/thread_count.hpp>

#include <atomic>
#include <functional>
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
    lh::acquire_result try_acquire(ticket& t, std::string_view o, lh::duration d, std::error_code& ec)
    {
        return inner.try_acquire(t.inner, o, d, ec);
    }
    lh::acquire_result try_acquire(std::string_view n, std::string_view o, lh::duration d, std::error_code& ec)
    {
        return only_with_ticket ? lh::acquire_result{.remaining = 1h} : inner.try_acquire(n, o, d, ec);
    }
    bool renew(std::string_view n, std::string_view o, lh::fencing_token t, lh::duration d, std::error_code& ec)
    {
        return inner.renew(n, o, t, d, ec);
    }
    bool release(std::string_view n, std::string_view o, lh::fencing_token t, lh::duration d, std::error_code& ec)
    {
        return inner.release(n, o, t, d, ec);
    }
    std::optional<lh::lease_record> inspect(std::string_view n, std::error_code& ec) { return inner.inspect(n, ec); }

    lh::memory_store inner;
    std::atomic<int> tickets = 0;
    std::atomic<bool> only_with_ticket = false;  // other attempts find everything busy
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

BOOST_FIXTURE_TEST_CASE(several_permits_are_taken_all_or_none, fixture)
{
    using several = lh::permits_guard<permits>;
    recorder<several> both, busy, waits, too_many, none;
    recorder<permit> single;
    lh::async_try_acquire(two, 2, both.on(io.context));
    auto taken = both.get();
    BOOST_TEST((!taken.ec && taken.result.held()));
    BOOST_TEST(taken.result.size() == 2U);
    lh::async_try_acquire(same, 2, busy.on(io.context));
    const auto refused = busy.get();
    BOOST_TEST((!refused.ec && refused.result.empty()));
    lh::async_try_acquire_for(same, 10s, 2, waits.on(io.context));
    taken.result.release();
    BOOST_TEST(is_held(waits.get().result));
    lh::async_acquire(same, 3, too_many.on(io.context));
    BOOST_TEST(too_many.get().ec == lh::errc::invalid_terms);
    lh::async_try_acquire_until(same, std::chrono::steady_clock::now() + 10s, 0, none.on(io.context));
    BOOST_TEST(none.get().ec == lh::errc::invalid_terms);
}

BOOST_FIXTURE_TEST_CASE(an_impossible_number_of_permits_is_refused_at_once_behind_another_waiter_too, fixture)
{
    const auto held = one.acquire();
    recorder<permit> waits;
    lh::async_acquire(one, waits.on(io.context));
    BOOST_TEST_REQUIRE(eventually([&] { return store.local_waiters().waiting() == 1; }));
    for (const int impossible : {0, -1, static_cast<int>(lh::max_permits) + 1}) {
        recorder<lh::permits_guard<permits>> within_time, without_limit;
        lh::async_try_acquire_for(one, 1h, impossible, within_time.on(io.context));
        lh::async_acquire(one, impossible, without_limit.on(io.context));
        for (auto* refused : {&within_time, &without_limit}) {
            BOOST_TEST_REQUIRE(refused->called());
            BOOST_TEST(refused->get().ec == lh::errc::invalid_terms);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(those_behind_others_end_with_their_time_or_when_they_are_cancelled, fixture)
{
    auto held = one.acquire();
    cancellation slots;
    recorder<permit> waits, in_time, cancelled, in_time_elsewhere, cancelled_elsewhere;
    lh::async_acquire(one, waits.on(io.context));
    BOOST_TEST(eventually([&] { return store.local_waiters().waiting() == 1; }));
    lh::async_try_acquire_for(one, 10ms, in_time.on(io.context));
    lh::async_acquire(one, slots.on(cancelled.on(io.context)));
    lh::async_try_acquire_for(same_one, 10ms, in_time_elsewhere.on(io.context));
    lh::async_acquire(same_one, slots.on(cancelled_elsewhere.on(io.context)));
    slots.cancel(io.context);
    for (auto* each : {&cancelled, &cancelled_elsewhere}) BOOST_TEST(each->get().ec == aborted);
    for (auto* each : {&in_time, &in_time_elsewhere}) {
        const auto end = each->get();
        BOOST_TEST((!end.ec && end.result.empty()));
    }
    held.release();
    BOOST_TEST(is_held(waits.get().result));
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
    BOOST_TEST(eventually([&] { return store.answered(operation::try_acquire) >= 3 && clock.sleepers() == 1; }));
    held.release();
    BOOST_TEST(is_held(waiter.get().result));
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

BOOST_FIXTURE_TEST_CASE(a_cancellation_ends_a_wait_at_once_and_the_next_has_its_turn, fixture)
{
    auto held = one.acquire();
    cancellation slots;
    recorder<permit> waiter, behind_it;
    lh::async_acquire(same_one, slots.on(waiter.on(io.context)));
    lh::async_acquire(same_one, behind_it.on(io.context));
    BOOST_TEST(!waiter.called(5ms));
    BOOST_TEST(store.local_waiters().waiting() == 1u, "the second waits behind the first, in the object");
    slots.cancel(io.context);
    const auto end = waiter.get();
    BOOST_TEST(end.ec == aborted);
    BOOST_TEST(end.result.empty());
    held.release();
    BOOST_TEST(is_held(behind_it.get().result));
    BOOST_TEST(store.local_waiters().waiting() == 0u);
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
    cancellation slots, slots_too;
    recorder<guard_type> first, second;
    lh::async_acquire(a, slots.on(first.on(io.context)));
    BOOST_TEST(eventually([&] { return store.tickets == 1; }));
    lh::async_acquire(b, slots_too.on(second.on(io.context)));
    BOOST_TEST(!second.called(50ms));
    BOOST_TEST(store.tickets == 1, "the other asks");
    BOOST_TEST(lh::waiting::process_queue().waiting() == 2u);
    slots.cancel(io.context);
    // Not at once: an attempt may be under way. The ticket can't end before may_end is open.
    BOOST_TEST(eventually([&] { return lh::waiting::process_queue().waiting() == 1u; }), "it does not wait for the end of its ticket");
    BOOST_TEST(!first.called(5ms));
    store.end.may_end.open();
    BOOST_TEST(first.get().ec == aborted);
    BOOST_TEST((store.end.on.load() != std::this_thread::get_id()));
    BOOST_TEST(eventually([&] { return store.tickets == 1; }), "the other has it now");
    BOOST_TEST(throughout([&] { return store.tickets <= 1; }, 20ms));
    slots_too.cancel(io.context);
    BOOST_TEST(second.get().ec == aborted);
    BOOST_TEST(store.tickets == 0, "given back before the handler is called");
}

BOOST_AUTO_TEST_CASE(an_observer_is_told_how_long_a_waiter_with_a_ticket_has_waited)
{
    ticketed_store store;
    store.end.may_end.open();
    longest_wait told;
    lh::hooked_store observed{store, std::ref(told)};
    lh::lease_semaphore one{observed, "a", 1}, other{observed, "a", 1};
    auto held = one.acquire();
    BOOST_TEST(is_empty(other.try_acquire()), "it knows the count");
    store.only_with_ticket = true;
    running_context io;
    recorder<decltype(other)::guard_type> waiter;
    lh::async_acquire(other, waiter.on(io.context));
    BOOST_TEST(eventually([&] { return store.tickets == 1; }));
    BOOST_TEST(!waiter.called(20ms));
    held.release();
    BOOST_TEST(is_held(waiter.get().result));
    const std::lock_guard lock{told.mutex};
    BOOST_TEST((told.waited >= 20ms));
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
    permits quick{store, "quick", 2, lh::lease_terms{.ttl = 1500ms}};
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
