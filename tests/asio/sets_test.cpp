// SPDX-License-Identifier: BSL-1.0
#include <asio/support.hpp>
#include <contract/asked_once.hpp>

#include <support/scripted_batching_store.hpp>

#include <atomic>
#include <optional>

BOOST_AUTO_TEST_SUITE(asio_sets_test)

using namespace leasehold_test;

namespace {

using leases = std::vector<memory_lease>;
using set_guard = lh::lease_set_guard<memory_lease>;
using guards = std::vector<memory_guard>;
using never_renewed = lh::basic_lease<lh::memory_store, lh::steady_clock, lh::random_owner_id, lh::no_renewal>;

template <class Leases, class... Rest>
concept acquires_all = requires(Leases&& leases, Rest&&... rest) {
    lh::async_try_acquire_all(std::forward<Leases>(leases), std::forward<Rest>(rest)..., net::use_future);
};
static_assert(acquires_all<leases&> && acquires_all<memory_lease&, never_renewed&> && acquires_all<memory_lease&>);
static_assert(!acquires_all<memory_lease> && !acquires_all<memory_lease&, memory_lease>, "not on a temporary lease");

template <class Guard>
concept renews_by_ttl = requires(const Guard& guard) { lh::async_renew(guard, 1s, net::use_future); };
static_assert(renews_by_ttl<memory_guard> && renews_by_ttl<set_guard>);

struct fixture {
    fixture()
    {
        for (const char* each : {"a", "b", "c"}) all.emplace_back(store, each);
    }

    lh::memory_store store;
    leases all;
    memory_lease other{store, "b"};
    never_renewed of_another_type{store, "d", lh::no_renewal{}};
    running_context io;
};

using batching_lease = lh::basic_lease<scripted_batching_store, lh::manual_clock>;

struct hanging {
    hanging()
    {
        store.before(operation::acquire_many, [this](std::string_view) { call.pass(); });
        for (const char* each : {"a", "b", "c"}) all.emplace_back(store, each, clock);
    }
    ~hanging() { call.open(); }

    lh::manual_clock clock;
    scripted_batching_store store{clock};
    gate call{clock};
    std::vector<batching_lease> all;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(all_are_acquired_or_none, fixture)
{
    recorder<set_guard> range, single, busy;
    lh::async_try_acquire_all(all, range.on(io.context));
    {
        const auto got = range.get();
        BOOST_TEST(!got.ec);
        BOOST_TEST(got.result.held());
        BOOST_TEST(got.result.size() == 3u);
        BOOST_TEST(got.result.guards()[1].name() == "b");
    }
    lh::async_try_acquire_all(all[2], all[0], single.on(io.context));
    {
        const auto got = single.get();
        BOOST_TEST(got.result.size() == 2u);
        BOOST_TEST(got.result.guards()[0].name() == "c");
    }
    const auto held = other.acquire();
    lh::async_try_acquire_all(all, busy.on(io.context));
    const auto none = busy.get();
    BOOST_TEST(!none.ec);
    BOOST_TEST(none.result.empty());
    BOOST_TEST(store.list("").size() == 1u, "what was granted before the busy one was given back");
}

BOOST_FIXTURE_TEST_CASE(leases_of_several_types_make_a_set, fixture)
{
    auto set = lh::async_try_acquire_all(all[0], of_another_type, all[1], net::use_future).get();
    BOOST_TEST(set.held());
    BOOST_TEST(set.size() == 3u);
    BOOST_TEST(lh::async_renew(set, net::use_future).get());
    BOOST_TEST((lh::async_release(std::move(set), net::use_future).get() == lh::release_outcome::released));
    BOOST_TEST(store.list("").empty());
    BOOST_CHECK_THROW(static_cast<void>(lh::async_renew(set, net::use_future).get()), net_system_error);
    const auto held = other.acquire();
    BOOST_TEST(is_empty(lh::async_try_acquire_all(of_another_type, all[1], net::use_future).get()));
}

BOOST_FIXTURE_TEST_CASE(those_that_are_free_are_acquired, fixture)
{
    const auto held = other.acquire();
    recorder<guards> some, none;
    lh::async_try_acquire_each(all, some.on(io.context));
    const auto got = some.get();
    BOOST_TEST(!got.ec);
    BOOST_TEST_REQUIRE(got.result.size() == 2u);
    BOOST_TEST((got.result[0].name() == "a" && got.result[1].name() == "c" && got.result[0].held()));
    leases no_leases;
    lh::async_try_acquire_each(no_leases, none.on(io.context));
    const auto nothing = none.get();
    BOOST_TEST(!nothing.ec);
    BOOST_TEST(nothing.result.empty());
}

BOOST_FIXTURE_TEST_CASE(a_set_that_cannot_work_is_an_error_of_the_operation, fixture)
{
    recorder<set_guard> twice, empty, single_twice;
    leases same, no_leases;
    same.emplace_back(store, "x");
    same.emplace_back(store, "x");
    lh::async_try_acquire_all(same, twice.on(io.context));
    lh::async_try_acquire_all(other, all[1], single_twice.on(io.context));
    lh::async_try_acquire_all(no_leases, empty.on(io.context));
    BOOST_TEST(twice.get().ec == lh::errc::invalid_name);
    BOOST_TEST(single_twice.get().ec == lh::errc::invalid_name);
    BOOST_TEST(empty.get().ec == lh::errc::invalid_terms);
    BOOST_TEST(store.list("").empty());
}

BOOST_FIXTURE_TEST_CASE(the_handler_is_never_called_within_the_initiating_function, fixture)
{
    net::io_context context;
    bool called = false;
    leases no_leases;
    lh::async_try_acquire_all(no_leases, net::bind_executor(context, [&](error_code, const set_guard&) { called = true; }));
    BOOST_TEST(!called);
    context.run();
    BOOST_TEST(called);
}

BOOST_FIXTURE_TEST_CASE(a_set_is_renewed_and_its_loss_is_told, fixture)
{
    auto set = lh::try_acquire_all(all);
    recorder<bool> extended, lost, none;
    lh::async_renew(set, extended.on(io.context));
    BOOST_TEST(extended.get().result);
    store.force_release("b");
    lh::async_renew(set, lost.on(io.context));
    const auto after_loss = lost.get();
    BOOST_TEST((!after_loss.ec && !after_loss.result));
    BOOST_TEST(!set.held());
    recorder<lh::release_outcome> released, released_none;
    lh::async_release(std::move(set), released.on(io.context));
    BOOST_TEST(set.empty());
    BOOST_TEST((released.get().result == lh::release_outcome::lost));
    lh::async_renew(set, none.on(io.context));
    lh::async_release(std::move(set), released_none.on(io.context));
    BOOST_TEST(none.get().ec == lh::errc::not_held);
    BOOST_TEST(released_none.get().ec == lh::errc::not_held);
}

BOOST_AUTO_TEST_CASE(a_set_is_renewed_although_its_guard_has_moved_and_not_after_its_release)
{
    lh::manual_clock clock;
    scripted_batching_store store{clock};
    std::vector<lh::basic_lease<scripted_batching_store, lh::manual_clock, lh::random_owner_id, lh::no_renewal>> all;
    for (const char* each : {"a", "b", "c"}) all.emplace_back(store, each, clock, lh::no_renewal{}, lh::lease_terms{.ttl = 30s});
    gate call{clock};
    auto set = lh::try_acquire_all(all);
    store.before(operation::renew_many, [&](std::string_view) { call.pass(); });
    running_context io;
    recorder<bool> renewed, after_release;
    lh::async_renew(set, renewed.on(io.context));
    BOOST_TEST(call.reached_by(1));
    clock.advance(1s);
    auto moved = std::move(set);
    call.open();
    BOOST_TEST(renewed.get().result);
    BOOST_TEST((moved.remaining() >= 26s));
    gate second{clock};
    store.before(operation::renew_many, [&](std::string_view) { second.pass(); });
    lh::async_renew(moved, after_release.on(io.context));
    BOOST_TEST(second.reached_by(1));
    moved.release();
    second.open();
    const auto end = after_release.get();
    BOOST_TEST((!end.ec && !end.result));
}

BOOST_AUTO_TEST_CASE(an_outage_is_the_stores_error_and_nothing_is_held)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    std::vector<scripted_lease> all;
    for (const char* each : {"a", "b", "c"}) all.emplace_back(store, each, clock);
    running_context io;
    recorder<lh::lease_set_guard<scripted_lease>> failed;
    recorder<std::vector<scripted_lease::guard_type>> failed_each;
    for (int i = 0; i < 2; ++i) {
        store.next(operation::try_acquire, fate::carried_out);
        store.next(operation::try_acquire, fate::fails);
        if (i == 0) lh::async_try_acquire_all(all, failed.on(io.context));
        if (i == 1) lh::async_try_acquire_each(all, failed_each.on(io.context));
        BOOST_TEST((i == 0 ? failed.get().ec : failed_each.get().ec) == lh::errc::store_unavailable);
        BOOST_TEST(store.leases.list("").empty());
    }
}

BOOST_AUTO_TEST_CASE(the_leases_need_not_outlive_the_operation)
{
    hanging with;
    running_context io;
    recorder<lh::lease_set_guard<batching_lease>> got;
    lh::async_try_acquire_all(with.all, got.on(io.context));
    BOOST_TEST(with.call.reached_by(1));
    with.all.clear();
    with.call.open();
    BOOST_TEST(is_held(got.get().result));
}

BOOST_AUTO_TEST_CASE(a_grant_that_comes_after_the_cancellation_is_released)
{
    hanging with;
    running_context io;
    net::cancellation_signal signal, signal_each;
    recorder<lh::lease_set_guard<batching_lease>> set;
    recorder<std::vector<batching_lease::guard_type>> each;
    std::vector<batching_lease> others;
    for (const char* name : {"d", "e"}) others.emplace_back(with.store, name, with.clock);
    lh::async_try_acquire_all(with.all, net::bind_cancellation_slot(signal.slot(), set.on(io.context)));
    lh::async_try_acquire_each(others, net::bind_cancellation_slot(signal_each.slot(), each.on(io.context)));
    BOOST_TEST(with.call.reached_by(2));
    signal.emit(net::cancellation_type::terminal);
    signal_each.emit(net::cancellation_type::terminal);
    BOOST_TEST(!set.called(5ms));
    with.call.open();
    BOOST_TEST(set.get().ec == aborted);
    BOOST_TEST(each.get().ec == aborted);
    BOOST_TEST(with.store.leases.list("").empty());
    BOOST_TEST(with.store.sent(operation::release_many) == 2);
}

BOOST_AUTO_TEST_CASE(set_that_nobody_takes_is_released_with_its_context)
{
    BOOST_TEST_PASSPOINT();
    hanging with;
    with.call.open();
    std::vector<batching_lease> others;
    for (const char* name : {"d", "e"}) others.emplace_back(with.store, name, with.clock);
    {
        net::io_context io;
        lh::async_try_acquire_all(with.all, net::bind_executor(io, [](error_code, const auto&) { BOOST_ERROR("called"); }));
        lh::async_try_acquire_each(others, net::bind_executor(io, [](error_code, const auto&) { BOOST_ERROR("called"); }));
        BOOST_TEST(eventually([&] { return with.store.leases.list("").size() == 5u; }));
    }
    BOOST_TEST(with.store.leases.list("").empty());
    BOOST_TEST(with.store.sent(operation::release) == 0);
    BOOST_TEST(with.store.sent(operation::release_many) == 2);
    BOOST_TEST(is_held(with.all.front().try_acquire()));
}

BOOST_AUTO_TEST_CASE(a_context_that_is_destroyed_waits_for_the_call_and_gives_back_what_it_granted)
{
    BOOST_TEST_PASSPOINT();
    hanging with;
    std::thread opens;
    const auto alive = std::make_shared<int>(1);
    {
        net::io_context io;
        lh::async_try_acquire_all(with.all, net::bind_executor(io, [alive](error_code, const auto&) { BOOST_ERROR("called"); }));
        BOOST_TEST(with.call.reached_by(1));
        opens = std::thread{[&] { with.call.open(); }};
    }
    opens.join();
    BOOST_TEST(alive.use_count() == 1);
    BOOST_TEST(with.store.leases.list("").empty());
}

#if LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_FIXTURE_TEST_CASE(a_coroutine_works_under_a_set_and_learns_which_lease_is_lost, fixture)
{
    net::io_context context{1};
    memory_lease quick{store, "quick", lh::lease_terms{.ttl = 1500ms}};
    int steps = 0;
    net::co_spawn(
        context,
        [&]() -> net::awaitable<void> {
            auto set = co_await lh::async_try_acquire_all(all, net::use_awaitable);
            auto work = [&](std::stop_token) -> net::awaitable<void> {
                if (store.list("").size() == 3u) ++steps;
                co_return;
            };
            co_await lh::async_run_while_held(std::move(set), work, net::use_awaitable);
            if (store.list("").empty()) ++steps;
            set = co_await lh::async_try_acquire_all(all[0], quick, net::use_awaitable);
            auto until_lost = [&](std::stop_token stop) -> net::awaitable<void> {
                net::steady_timer pause{co_await net::this_coro::executor};
                store.force_release("quick");
                while (!stop.stop_requested()) {
                    pause.expires_after(1ms);
                    co_await pause.async_wait(net::use_awaitable);
                }
            };
            try {
                co_await lh::async_run_while_held(std::move(set), until_lost, net::use_awaitable);
            } catch (const lh::lease_lost& e) {
                if (std::string{e.what()}.find("quick") != std::string::npos) ++steps;
            }
        },
        net::detached);
    context.run();
    BOOST_TEST(steps == 3);
    BOOST_TEST(store.list("").empty());
}
#endif

BOOST_AUTO_TEST_SUITE_END()
