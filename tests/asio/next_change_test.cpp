// SPDX-License-Identifier: BSL-1.0
// Changes of leases and of members, without a thread that waits for them.
#include <asio/support.hpp>

#include <leasehold/group_observer.hpp>
#include <leasehold/lease_observer.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

BOOST_AUTO_TEST_SUITE(asio_next_change_test)

using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

struct fixture {
    net::io_context io;
    lh::memory_store store;
    std::error_code ec;
    lh::lease_observer<lh::memory_store> watch{store, "n", {}, lh::observer_options{.every = 1ms}};
    std::vector<std::string> told;

    auto telling(const std::string& who)
    {
        return net::bind_executor(io, [this, who](error_code error, const lh::lease_change& change) {
            told.push_back(who + " " + (error ? "aborted" : std::string{to_string(change.kind)}));
            if (error) BOOST_TEST((error == aborted));
        });
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(next_change_comes_to_the_handlers_executor, fixture)
{
    lh::async_next_change(watch, telling("a"));
    store.try_acquire("n", "x", 1h, ec);
    io.run();
    io.restart();
    store.force_release("n");
    lh::async_next_change(watch, telling("b"));
    io.run();
    BOOST_TEST((told == std::vector<std::string>{"a acquired", "b released"}));
}

BOOST_FIXTURE_TEST_CASE(changes_that_came_before_are_not_missed, fixture)
{
    store.try_acquire("n", "x", 1h, ec);
    BOOST_TEST(eventually([&] { return watch.current().has_value(); }));
    store.force_release("n");
    BOOST_TEST(eventually([&] { return !watch.current().has_value(); }));
    const lh::lease_change first = lh::async_next_change(watch, net::use_future).get();
    BOOST_TEST((first.kind == lh::lease_change_kind::acquired));
    BOOST_TEST(first.record.owner == "x");
    BOOST_TEST((lh::async_next_change(watch, net::use_future).get().kind == lh::lease_change_kind::released));
}

BOOST_FIXTURE_TEST_CASE(cancelled_wait_leaves_the_change_to_the_next, fixture)
{
    net::cancellation_signal signal;
    lh::async_next_change(watch, net::bind_cancellation_slot(signal.slot(), telling("a")));
    signal.emit(net::cancellation_type::terminal);
    io.run();
    io.restart();
    store.try_acquire("n", "x", 1h, ec);
    lh::async_next_change(watch, telling("b"));
    io.run();
    BOOST_TEST((told == std::vector<std::string>{"a aborted", "b acquired"}));
}

BOOST_FIXTURE_TEST_CASE(end_of_the_observer_ends_the_waits, fixture)
{
    {
        lh::prefix_observer all{store, "", {}, lh::observer_options{.every = 1ms}};
        lh::async_next_change(all, telling("a"));
        lh::async_next_change(all, telling("b"));
    }
    io.run();
    BOOST_TEST((told == std::vector<std::string>{"a aborted", "b aborted"}));
}

BOOST_FIXTURE_TEST_CASE(changes_of_members_come_in_order_and_a_cancelled_wait_takes_none, fixture)
{
    std::vector<std::string> seen;
    const auto telling_of_members = [&](const std::string& who) {
        return net::bind_executor(io, [&seen, who](error_code error, const lh::member_change& change) {
            seen.push_back(who + " " + (error ? "aborted" : std::string{to_string(change.kind)} + " " + change.member.id));
            if (error) BOOST_TEST((error == aborted));
        });
    };
    const auto run = [this] {
        io.run();
        io.restart();
    };
    {
        lh::group_observer others{store, "workers", {}, lh::observer_options{.every = 1ms}};
        net::cancellation_signal signal;
        lh::async_next_change(others, net::bind_cancellation_slot(signal.slot(), telling_of_members("a")));
        signal.emit(net::cancellation_type::terminal);
        run();
        std::optional<lh::group_member<lh::memory_store>> member;
        member.emplace(store, "workers", lh::member_options{.id = "m"});
        lh::async_next_change(others, telling_of_members("b"));
        run();
        member.reset();
        BOOST_TEST(lh::async_next_change(others, net::use_future).get().member.id == "m");
        lh::async_next_change(others, telling_of_members("c"));
    }
    run();
    BOOST_TEST((seen == std::vector<std::string>{"a aborted", "b joined m", "c aborted"}));
}

BOOST_FIXTURE_TEST_CASE(handler_of_a_context_that_is_gone_is_destroyed, fixture)
{
    auto owned = std::make_shared<int>(1);
    const std::weak_ptr<int> is_alive = owned;
    {
        net::io_context short_lived;
        lh::async_next_change(
            watch, net::bind_executor(short_lived, [kept = std::move(owned)](error_code, const lh::lease_change&) {}));
    }
    BOOST_TEST(is_alive.expired());
    store.try_acquire("n", "x", 1h, ec);
    BOOST_TEST(eventually([&] { return watch.current().has_value(); }));
}

BOOST_AUTO_TEST_SUITE_END()
