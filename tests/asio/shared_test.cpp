// SPDX-License-Identifier: BSL-1.0
#include <asio/support.hpp>
#include <contract/asked_once.hpp>

#include <support/scripted_batching_store.hpp>
#include <support/thread_count.hpp>

#include <atomic>
#include <cstddef>

BOOST_AUTO_TEST_SUITE(asio_shared_test)

using namespace leasehold_test;

namespace {

using shared = lh::shared_lease<lh::memory_store>;
using writer_guard = shared::guard_type;
using reader_guard = shared::shared_guard_type;
using scripted_shared = lh::shared_lease<scripted_store, lh::manual_clock>;
using scripted_writer = scripted_shared::guard_type;
using scripted_reader = scripted_shared::shared_guard_type;

struct fixture {
    // The gate, and the shares.
    [[nodiscard]] std::size_t held() const { return store.list("c/").size(); }
    [[nodiscard]] bool gate_is_taken()
    {
        std::error_code ec;
        return store.inspect("c/writer", ec).has_value();
    }

    lh::memory_store store;
    shared one{store, "c", lh::reader_limit{4}};
    shared other{store, "c", lh::reader_limit{4}};
    running_context io;
};

// Its clock stands still unless a test turns it: what happens then needs no time to pass.
struct still {
    [[nodiscard]] scripted_shared lease() { return scripted_shared{store, "c", lh::reader_limit{4}, lh::lease_terms{.ttl = 30s}, clock}; }
    [[nodiscard]] std::size_t held() const { return store.leases.list("c/").size(); }
    [[nodiscard]] bool gate_is_taken()
    {
        std::error_code ec;
        return store.leases.inspect("c/writer", ec).has_value();
    }
    // Waits until the writer has the gate and all shares but one.
    [[nodiscard]] bool writer_waits_for_a_reader()
    {
        return eventually([&] { return held() == 5 && clock.sleepers() == 1; });
    }

    lh::manual_clock clock;
    scripted_store store{clock};
    scripted_shared one = lease(), other = lease();
    running_context io;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(many_read_or_one_writes, fixture)
{
    recorder<reader_guard> first, second, late;
    recorder<writer_guard> too_early, alone, second_writer;
    lh::async_try_acquire_shared(one, first.on(io.context));
    lh::async_try_acquire_shared(other, second.on(io.context));
    {
        const auto a = first.get(), b = second.get();
        BOOST_TEST((!a.ec && !b.ec && a.result.held() && b.result.held()));
        BOOST_TEST(a.result.index() != b.result.index());
        lh::async_try_acquire(other, too_early.on(io.context));
        const auto busy = too_early.get();
        BOOST_TEST((!busy.ec && busy.result.empty()));
        BOOST_TEST(held() == 2u, "what the writer took was given back");
    }
    lh::async_try_acquire(one, alone.on(io.context));
    auto writer = alone.get();
    BOOST_TEST_REQUIRE(writer.result.held());
    BOOST_TEST(held() == 5u);
    lh::async_try_acquire_shared(other, late.on(io.context));
    lh::async_try_acquire(other, second_writer.on(io.context));
    BOOST_TEST(is_empty(late.get().result));
    BOOST_TEST(is_empty(second_writer.get().result));
}

BOOST_FIXTURE_TEST_CASE(a_waiting_writer_goes_before_new_readers_and_after_those_that_read, fixture)
{
    auto reader = one.acquire_shared(), reader_of_other = other.acquire_shared();
    recorder<writer_guard> writes;
    recorder<reader_guard> reads;
    lh::async_acquire(one, writes.on(io.context));
    BOOST_TEST(eventually([&] { return held() == 5u; }));
    BOOST_TEST(is_empty(other.try_acquire_shared()));
    lh::async_acquire_shared(other, reads.on(io.context));
    reader.release();
    BOOST_TEST(!writes.called(10ms));
    reader_of_other.release();
    auto writer = writes.get();
    BOOST_TEST((!writer.ec && writer.result.held()));
    BOOST_TEST(!reads.called(10ms));
    recorder<lh::release_outcome> released;
    lh::async_release(std::move(writer.result), released.on(io.context));
    BOOST_TEST(writer.result.empty());
    BOOST_TEST((released.get().result == lh::release_outcome::released));
    BOOST_TEST(is_held(reads.get().result));
}

BOOST_FIXTURE_TEST_CASE(a_cancelled_writer_has_left_the_gate_when_it_is_told, still)
{
    const auto reader = other.acquire_shared();
    cancellation slots;
    recorder<scripted_writer> writes;
    lh::async_acquire(one, slots.on(writes.on(io.context)));
    BOOST_TEST(writer_waits_for_a_reader());
    BOOST_TEST(is_empty(other.try_acquire_shared()));
    slots.cancel(io.context);
    const auto end = writes.get();
    BOOST_TEST(end.ec == aborted);
    BOOST_TEST(end.result.empty());
    BOOST_TEST(held() == 1u, "no clock had to be turned for that");
    BOOST_TEST(is_held(other.try_acquire_shared()));
}

BOOST_FIXTURE_TEST_CASE(a_cancelled_writer_and_reader_leave_their_turns_to_the_next, fixture)
{
    auto reader = one.acquire_shared();
    cancellation slots;
    recorder<writer_guard> cancelled_writer, writes;
    recorder<reader_guard> cancelled_reader;
    lh::async_acquire(one, slots.on(cancelled_writer.on(io.context)));
    BOOST_TEST(eventually([&] { return held() == 5u; }));
    lh::async_acquire_shared(other, slots.on(cancelled_reader.on(io.context)));
    lh::async_acquire(other, writes.on(io.context));
    slots.cancel(io.context);
    BOOST_TEST(cancelled_writer.get().ec == aborted);
    BOOST_TEST(cancelled_reader.get().ec == aborted);
    reader.release();
    BOOST_TEST(is_held(writes.get().result));
    BOOST_TEST(store.local_waiters().waiting() == 0u);
}

BOOST_FIXTURE_TEST_CASE(the_gate_is_left_before_attempts_that_wait_for_a_thread, still)
{
    gate first{clock}, second{clock};
    const auto reader = other.acquire_shared();
    cancellation slots;
    recorder<scripted_writer> writes;
    lh::async_acquire(one, slots.on(writes.on(io.context)));
    BOOST_TEST(writer_waits_for_a_reader());
    std::atomic<bool> left_first = false, asked_later = false;
    store.before(operation::try_acquire, [&](std::string_view name) {
        if (name == "hangs") first.pass();
        if (name == "still hangs") second.pass();
        if (name == "later") asked_later = true;
    });
    store.before(operation::release, [&](std::string_view name) {
        if (name == "c/writer") left_first = !asked_later;
    });
    scripted_lease hangs{store, "hangs", clock}, still_hangs{store, "still hangs", clock}, later{store, "later", clock};
    recorder<scripted_lease::guard_type> a, b, c;
    lh::async_try_acquire(hangs, a.on(io.context));
    lh::async_try_acquire(still_hangs, b.on(io.context));
    BOOST_TEST(first.reached_by(1));
    BOOST_TEST(second.reached_by(1));
    lh::async_try_acquire(later, c.on(io.context));
    BOOST_TEST(lh::waiting::process_queue().waiting() == 1u);
    slots.cancel(io.context);
    BOOST_TEST(lh::waiting::process_queue().waiting() == 0u, "it left the queue at once");
    BOOST_TEST(!writes.called(5ms), "both threads hang");
    first.open();
    BOOST_TEST(writes.get().ec == aborted);
    BOOST_TEST(left_first);
    static_cast<void>(a.get());
    static_cast<void>(c.get());
    second.open();
    static_cast<void>(b.get());
}

BOOST_FIXTURE_TEST_CASE(a_writer_that_loses_the_gate_gives_up, still)
{
    const auto reader = other.acquire_shared();
    recorder<scripted_writer> writes;
    lh::async_try_acquire_for(one, 1h, writes.on(io.context));
    BOOST_TEST(writer_waits_for_a_reader());
    const lh::time_point begun = clock.now();
    store.leases.force_release("c/writer");
    BOOST_TEST(eventually([&] {
        if (!writes.called(0s)) clock.advance(1s);
        return writes.called(0s);
    }));
    const auto end = writes.get();
    BOOST_TEST(end.ec == lh::errc::lost);
    BOOST_TEST(end.result.empty());
    BOOST_TEST((clock.now() - begun < 30min));
    BOOST_TEST(held() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_writer_whose_time_ends_between_the_gate_and_the_shares_still_asks_for_them, still)
{
    { const auto first = one.try_acquire_shared(); }
    for (const bool with_reader : {true, false}) {
        auto reader = with_reader ? other.acquire_shared() : scripted_reader{};
        std::atomic<bool> late = false;
        store.before(operation::try_acquire, [&](std::string_view name) {
            if (name == "c/r0" && !late.exchange(true)) clock.advance(2s);
        });
        recorder<scripted_writer> writes;
        lh::async_try_acquire_for(one, 1s, writes.on(io.context));
        const auto end = writes.get();
        BOOST_TEST(!end.ec);
        BOOST_TEST(late);
        BOOST_TEST(end.result.held() == !with_reader);
        BOOST_TEST(held() == (with_reader ? 1u : 5u));
    }
}

BOOST_FIXTURE_TEST_CASE(an_outage_ends_waits_with_the_stores_error_and_leaves_nothing_held, still)
{
    { const auto first = one.try_acquire_shared(); }
    store.next(operation::try_acquire, fate::carried_out);  // the gate
    store.next(operation::try_acquire, fate::carried_out);  // a share
    store.always(operation::try_acquire, fate::fails);
    recorder<scripted_writer> writes;
    recorder<scripted_reader> reads;
    lh::async_acquire(one, writes.on(io.context));
    BOOST_TEST(writes.get().ec == lh::errc::store_unavailable);
    BOOST_TEST(held() == 0u);
    lh::async_acquire_shared(one, reads.on(io.context));
    BOOST_TEST(reads.get().ec == lh::errc::store_unavailable);
}

BOOST_AUTO_TEST_CASE(contexts_are_destroyed_while_writers_have_the_gate_and_grants_arrive)
{
    BOOST_TEST_PASSPOINT();
    lh::memory_store store;
    shared one{store, "c", lh::reader_limit{4}}, other{store, "c", lh::reader_limit{4}};
    const auto alive = std::make_shared<int>(1);
    {
        const auto reader = one.acquire_shared();
        net::io_context io;
        lh::async_acquire(other, net::bind_executor(io, [alive](error_code, const writer_guard&) { BOOST_ERROR("called"); }));
        // The gate and all shares but one. A reader that asked at the same time might get one of them.
        BOOST_TEST(eventually([&] { return store.list("c/").size() == 5u; }));
        lh::async_acquire_shared(other, net::bind_executor(io, [alive](error_code, const reader_guard&) { BOOST_ERROR("called"); }));
        BOOST_TEST(alive.use_count() == 3);
    }
    BOOST_TEST(alive.use_count() == 1);
    BOOST_TEST(store.local_waiters().waiting() == 0u);
    BOOST_TEST(store.list("c/").empty());
    for (int i = 0; i < 50; ++i) {
        {
            net::thread_pool pool{2};
            for (int n = 0; n < 5; ++n) {
                lh::async_acquire(one, net::bind_executor(pool, [](error_code, const writer_guard&) {}));
                lh::async_acquire_shared(other, net::bind_executor(pool, [](error_code, const reader_guard&) {}));
            }
            pool.stop();
        }
        BOOST_TEST_REQUIRE(is_held(one.try_acquire()));
    }
}

BOOST_AUTO_TEST_CASE(many_wait_with_few_threads_and_readers_and_writers_never_meet)
{
    constexpr int many = 1'000;
    lh::memory_store store;
    const auto before = thread_count();
    std::atomic<int> reading = 0, writing = 0, meetings = 0, done = 0;
    net::io_context io;
    shared one{store, "c", lh::reader_limit{4}}, other{store, "c", lh::reader_limit{4}};
    auto held = one.acquire();
    for (int i = 0; i < many; ++i) {
        shared& lease = i % 2 == 0 ? one : other;
        if (i % 5 == 0)
            lh::async_acquire(lease, net::bind_executor(io, [&](error_code, writer_guard guard) {
                if (++writing != 1 || reading != 0) ++meetings;
                if (guard.held()) ++done;
                --writing;
                guard.release();
            }));
        else
            lh::async_acquire_shared(lease, net::bind_executor(io, [&](error_code, reader_guard guard) {
                ++reading;
                if (writing != 0) ++meetings;
                if (guard.held()) ++done;
                --reading;
                guard.release();
            }));
    }
    BOOST_TEST(thread_count() - before <= 8);
    held.release();
    io.run();
    BOOST_TEST(done == many);
    BOOST_TEST(meetings == 0);
    BOOST_TEST(store.list("c/").empty());
}

BOOST_AUTO_TEST_CASE(a_batching_store_is_asked_in_few_calls)
{
    lh::manual_clock clock;
    scripted_batching_store store{clock};
    lh::shared_lease lease{store, "c", clock};
    running_context io;
    recorder<decltype(lease)::guard_type> writes;
    lh::async_acquire(lease, writes.on(io.context));
    auto end = writes.get();
    BOOST_TEST(end.result.held());
    BOOST_TEST(store.sent(operation::acquire_many) == 2, "the record of the count, and all shares");
    recorder<bool> renewed;
    lh::async_renew(end.result, renewed.on(io.context));
    BOOST_TEST(renewed.get().result);
    BOOST_TEST(store.sent(operation::renew_many) == 1);
    recorder<lh::release_outcome> released;
    lh::async_release(std::move(end.result), released.on(io.context));
    BOOST_TEST((released.get().result == lh::release_outcome::released));
    BOOST_TEST(store.sent(operation::release_many) == 1);
}

#if LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_FIXTURE_TEST_CASE(coroutines_read_and_write_and_a_loss_of_any_share_stops_a_writer, fixture)
{
    net::io_context context{1};
    shared quick{store, "q", lh::reader_limit{4}, lh::lease_terms{.ttl = 1500ms}};
    int steps = 0;
    net::co_spawn(
        context,
        [&]() -> net::awaitable<void> {
            auto writer = co_await lh::async_acquire(one, net::use_awaitable);
            steps += co_await lh::async_renew(writer, net::use_awaitable) ? 1 : 0;
            co_await lh::async_release(std::move(writer), net::use_awaitable);
            auto reader = co_await lh::async_acquire_shared(one, net::use_awaitable);
            steps += reader.held() ? 1 : 0;
            auto until_lost = [&store = store](std::stop_token stop) -> net::awaitable<void> {
                net::steady_timer pause{co_await net::this_coro::executor};
                store.force_release("q/r1");
                while (!stop.stop_requested()) {
                    pause.expires_after(1ms);
                    co_await pause.async_wait(net::use_awaitable);
                }
            };
            try {
                auto quick_writer = co_await lh::async_acquire(quick, net::use_awaitable);
                co_await lh::async_run_while_held(std::move(quick_writer), until_lost, net::use_awaitable);
            } catch (const lh::lease_lost& e) {
                steps += std::string{e.what()}.find("q/r1") != std::string::npos ? 1 : 0;
            }
        },
        net::detached);
    context.run();
    BOOST_TEST(steps == 3);
    BOOST_TEST(store.list("q/").empty());
}
#endif

BOOST_AUTO_TEST_SUITE_END()
