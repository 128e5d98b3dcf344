// SPDX-License-Identifier: BSL-1.0
// Asynchronous waits on real databases: for a lease, a permit, a share and an exclusive right that another process holds.
#include <asio/stores/scene.hpp>
#include <contract/asked_once.hpp>

#include <future>
#include <string>
#include <thread>

using namespace leasehold_test;

namespace {

template <class On>
using two_contenders = contenders<On, two_processes<typename On::database>>;

}  // namespace

BOOST_AUTO_TEST_SUITE(asio_waits_on_stores)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_release_in_another_process_hands_over_to_an_asynchronous_waiter, On, everywhere)
{
    two_contenders<On> s;
    using kind = typename On::kind;
    auto held = s.hold();
    recorder<typename two_contenders<On>::guard> waiter;
    kind::async_acquire(s.right, waiter.on(s.io.context));
    BOOST_TEST_REQUIRE(s.one_waits());
    BOOST_TEST(!waiter.called(20ms));
    const auto begun = steady_now();
    BOOST_TEST((held.release() == lh::release_outcome::released));
    auto end = waiter.get();
    if constexpr (On::queues_at_server) BOOST_TEST((steady_now() - begun < woken_within));
    BOOST_TEST(!end.ec);
    BOOST_TEST(end.result.held());
    BOOST_TEST(s.taken() == kind::own_rows);
    BOOST_TEST(is_empty(kind::try_acquire(s.holder)));
    recorder<lh::release_outcome> released;
    lh::async_release(std::move(end.result), released.on(s.io.context));
    BOOST_TEST((released.get().result == lh::release_outcome::released));
    BOOST_TEST(s.taken() == 0u);
    BOOST_TEST(s.nobody_waits());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_cancelled_wait_leaves_its_queues_and_what_it_had_taken, On, everywhere)
{
    two_contenders<On> s;
    using kind = typename On::kind;
    auto held = s.hold();
    cancellation slots;
    recorder<typename two_contenders<On>::guard> waiter;
    kind::async_acquire(s.right, slots.on(waiter.on(s.io.context)));
    BOOST_TEST_REQUIRE(s.one_waits());
    if (On::queues_at_server) BOOST_TEST_REQUIRE(s.has_looked());
    slots.cancel(s.io.context);
    if (On::queues_at_server) BOOST_TEST(s.waiting() == 0u, "at once");
    const auto end = waiter.get();
    BOOST_TEST(end.ec == aborted);
    BOOST_TEST(end.result.empty());
    BOOST_TEST(s.taken() == kind::held_rows);
    BOOST_TEST(s.nobody_waits());
    held.release();
    BOOST_TEST(is_held(kind::try_acquire(s.holder)));
}

// The handler is called when the session of the wait has left the queue, unless the server needs more than 30 ms for that; even then
// it has been told to. So the handler itself finds the queue empty, at once or after some looks.
BOOST_AUTO_TEST_CASE_TEMPLATE(the_handler_of_a_cancelled_wait_finds_the_servers_queue_empty, On, with_queue)
{
    constexpr int rounds = 20, most_looks = 100;
    two_contenders<On> s;
    using kind = typename On::kind;
    const auto held = s.hold();
    odbc_connection onlooker{s.database.connection_string()};
    const auto in_queue = [&] { return std::stoi(onlooker.execute(s.database.view.waiting)); };
    for (int i = 0; i < rounds; ++i) {
        cancellation slots;
        std::promise<int> looked;
        const auto looks_until_empty = [&](error_code ec, const typename two_contenders<On>::guard&) {
            int looks = 1;
            while (in_queue() != 0 && looks <= most_looks) ++looks;
            looked.set_value(ec == aborted ? looks : -1);
        };
        kind::async_acquire(s.right, slots.on(net::bind_executor(s.io.context, looks_until_empty)));
        BOOST_TEST_REQUIRE(s.one_waits());
        BOOST_TEST_REQUIRE(in_queue() == 1);
        slots.cancel(s.io.context);
        auto looks = looked.get_future();
        BOOST_TEST_REQUIRE((looks.wait_for(20s) == std::future_status::ready));
        const int seen = looks.get();
        BOOST_TEST_REQUIRE(seen >= 1, "cancelled");
        BOOST_TEST_REQUIRE(seen <= most_looks);
        BOOST_TEST_REQUIRE(s.taken() == kind::held_rows);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(no_right_is_lost_between_a_cancellation_and_a_grant, On, everywhere)
{
    two_contenders<On> s;
    using kind = typename On::kind;
    for (int i = 0; i < 12; ++i) {
        auto held = kind::hold(s.holder);
        cancellation slots;
        recorder<typename two_contenders<On>::guard> waiter;
        kind::async_acquire(s.right, slots.on(waiter.on(s.io.context)));
        if (i % 4 == 0) BOOST_TEST_REQUIRE(s.one_waits(false));
        std::thread cancels{[&] { slots.cancel(s.io.context); }};
        if (i % 2 == 0) cancels.join();
        held.release();
        if (cancels.joinable()) cancels.join();
        auto end = waiter.get();
        BOOST_TEST_REQUIRE((end.ec == aborted) == end.result.empty());
        end.result = {};
        BOOST_TEST_REQUIRE(s.taken() == 0u);
        BOOST_TEST_REQUIRE(is_held(kind::try_acquire(s.holder)));
    }
    BOOST_TEST(s.nobody_waits());
}

// An application's transaction holds the row, so that the statement that grants it has begun when the wait is cancelled.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_grant_that_comes_after_the_cancellation_is_released, On, over_network)
{
    two_contenders<On> s;
    using kind = typename On::kind;
    { const auto first = kind::try_acquire(s.holder); }  // writes the rows
    for (const auto& row : kind::asked_rows(s.name)) {
        odbc_connection application{s.database.connection_string()};
        application.begin();
        application.execute("select token from leasehold where name = '" + row + "' for update");
        BOOST_TEST_REQUIRE(s.no_statement_blocks());
        cancellation slots;
        recorder<typename two_contenders<On>::guard> waiter;
        kind::async_acquire(s.right, slots.on(waiter.on(s.io.context)));
        BOOST_TEST_REQUIRE(s.statement_blocks());
        slots.cancel(s.io.context);
        BOOST_TEST(!waiter.called(20ms), "a call that has begun is waited for");
        application.roll_back();
        const auto end = waiter.get();
        BOOST_TEST(end.ec == aborted);
        BOOST_TEST(end.result.empty());
        BOOST_TEST(s.taken() == 0u);
        BOOST_TEST(is_held(kind::try_acquire(s.holder)));
    }
    BOOST_TEST(s.nobody_waits());
}

BOOST_AUTO_TEST_SUITE_END()
