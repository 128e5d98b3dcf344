// SPDX-License-Identifier: BSL-1.0
// Names that are held closed, without a thread that waits for who has them.
#include <asio/support.hpp>

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>

BOOST_AUTO_TEST_SUITE(asio_hold_test)

using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

struct fixture {
    net::io_context io;
    lh::memory_store store;
    std::error_code ec;
    std::optional<error_code> told;
    bool held = false;

    auto telling()
    {
        return net::bind_executor(io, [this](error_code error, bool is_held) {
            told = error;
            held = is_held;
        });
    }
    bool is_held(const char* name) { return store.inspect(name, ec) && store.inspect(name, ec)->is_hold(); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(free_name_is_held_at_once, fixture)
{
    BOOST_TEST(lh::async_hold(store, "n", 1h, "migration", net::use_future).get());
    BOOST_TEST(store.inspect("n", ec)->hold_reason() == "migration");
    lh::async_hold(store, "n", 1h, "migration", telling());
    io.run();
    BOOST_TEST((told == make_error_code(lh::errc::held_closed)));
    BOOST_TEST(!held);
}

BOOST_FIXTURE_TEST_CASE(holder_is_asked_and_waited_for, fixture)
{
    const lh::fencing_token token = store.try_acquire("n", "a", 1h, ec).token;
    lh::async_hold(store, "n", 1h, "migration", telling());
    BOOST_TEST(eventually([&] { return store.inspect("n", ec)->handover_request == "hold: migration"; }));
    BOOST_TEST(!told.has_value());
    store.release("n", "a", token, 0s, ec);
    io.run();
    BOOST_TEST((told == error_code{}));
    BOOST_TEST(held);
    BOOST_TEST(is_held("n"));
}

BOOST_FIXTURE_TEST_CASE(wait_ends_in_time_and_when_it_is_cancelled, fixture)
{
    store.try_acquire("n", "a", 1h, ec);
    lh::async_hold(store, "n", 1h, "x", 20ms, telling());
    io.run();
    BOOST_TEST((told == std::make_error_code(std::errc::timed_out)));
    io.restart();
    net::cancellation_signal signal;
    lh::async_hold(store, "n", 1h, "x", net::bind_cancellation_slot(signal.slot(), telling()));
    signal.emit(net::cancellation_type::terminal);
    io.run();
    BOOST_TEST((told == aborted));
    BOOST_TEST(!is_held("n"));
    store.force_release("n");
    BOOST_TEST(store.try_acquire("n", "b", 1h, ec).granted());
}

BOOST_FIXTURE_TEST_CASE(what_can_not_be_a_hold_is_told, fixture)
{
    for (const auto& [name, period, reason, expected] :
         {std::tuple{"", lh::duration{1h}, std::string{}, lh::errc::invalid_name},
          std::tuple{"n", lh::duration{0}, std::string{}, lh::errc::invalid_terms},
          std::tuple{"n", lh::duration{1h}, std::string(lh::max_hold_reason_bytes + 1, 'x'), lh::errc::invalid_data}}) {
        lh::async_hold(store, name, period, reason, telling());
        io.run();
        io.restart();
        BOOST_TEST((told == make_error_code(expected)));
    }
    BOOST_TEST(!is_held("n"));
}

// Whatever the cancellation meets: an attempt, a grant, or its end.
BOOST_FIXTURE_TEST_CASE(cancelled_hold_is_not_left_behind, fixture)
{
    for (int i = 0; i < 200; ++i) {
        const std::string name = "n" + std::to_string(i);
        net::cancellation_signal signal;
        lh::async_hold(store, name, 1h, "x", net::bind_cancellation_slot(signal.slot(), telling()));
        std::this_thread::sleep_for(std::chrono::microseconds{i % 20});
        signal.emit(net::cancellation_type::terminal);
        io.run();
        io.restart();
        BOOST_TEST(held == is_held(name.c_str()));
    }
}

BOOST_AUTO_TEST_CASE(cancelled_hold_of_a_name_that_is_held_closed_was_cancelled)
{
    lh::manual_clock clock;
    scripted_store scripted{clock};
    lh::forwarding_store<scripted_store> names{scripted};
    names.hold("n", 1h, "theirs");
    gate calls;
    scripted.before(operation::inspect, [&](auto) { calls.pass(); });
    running_context io;
    cancellation slots;
    recorder<bool> told;
    lh::async_hold(names, "n", 1h, "x", slots.on(told.on(io.context)));
    BOOST_TEST(calls.reached_by(1));
    slots.cancel(io.context);
    calls.open();
    BOOST_TEST((told.get().ec == std::errc::operation_canceled));
}

BOOST_AUTO_TEST_CASE(cancelled_hold_whose_reply_is_lost_is_found_and_ended)
{
    lh::manual_clock clock;
    scripted_store scripted{clock};
    lh::forwarding_store<scripted_store> names{scripted};
    gate calls;
    scripted.before(operation::try_acquire, [&](auto) { calls.pass(); });
    scripted.next(operation::try_acquire, fate::loses_reply);
    running_context io;
    cancellation slots;
    recorder<bool> told;
    lh::async_hold(names, "n", 1h, "x", slots.on(told.on(io.context)));
    BOOST_TEST(calls.reached_by(1));
    slots.cancel(io.context);
    calls.open();
    BOOST_TEST((told.get().ec == std::errc::operation_canceled));
    error_code ec;
    BOOST_TEST(!scripted.leases.inspect("n", ec).has_value());
}

// It may stand, which a cancellation denies.
BOOST_AUTO_TEST_CASE(cancelled_hold_whose_call_fails_is_told_so)
{
    for (const bool at_its_end : {false, true}) {
        lh::manual_clock clock;
        scripted_store scripted{clock};
        lh::forwarding_store<scripted_store> names{scripted};
        gate calls;
        scripted.before(operation::try_acquire, [&](auto) { calls.pass(); });
        if (at_its_end) {
            scripted.next(operation::release, fate::fails);
        } else {
            scripted.next(operation::try_acquire, fate::loses_reply);
            scripted.next(operation::inspect, fate::fails);
        }
        running_context io;
        cancellation slots;
        recorder<bool> told;
        lh::async_hold(names, "n", 1h, "x", slots.on(told.on(io.context)));
        BOOST_TEST(calls.reached_by(1));
        slots.cancel(io.context);
        calls.open();
        const auto end = told.get();
        BOOST_TEST((end.ec == (at_its_end ? lh::errc::store_unavailable : lh::errc::store_timeout)), end.ec.message());
        BOOST_TEST(!end.result);
        error_code ec;
        BOOST_TEST(scripted.leases.inspect("n", ec).has_value());
    }
}

BOOST_AUTO_TEST_SUITE_END()
