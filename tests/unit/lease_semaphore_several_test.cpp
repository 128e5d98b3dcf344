// SPDX-License-Identifier: BSL-1.0
// Several permits at once: all or none.
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <unit/counted_rights_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(lease_semaphore_several_test)

using namespace leasehold_test;
using namespace leasehold_test::counted_rights;

static_assert(std::is_same_v<decltype(std::declval<lh::lease_semaphore<lh::memory_store>&>().try_acquire(3)),
                             lh::permits_guard<lh::lease_semaphore<lh::memory_store>>>);
static_assert(noexcept(std::declval<lh::lease_semaphore<lh::memory_store>&>().try_acquire(3, std::declval<std::error_code&>())));
static_assert(noexcept(std::declval<lh::lease_semaphore<lh::memory_store>&>().acquire(3, std::declval<std::error_code&>())));

BOOST_AUTO_TEST_CASE_TEMPLATE(three_or_none, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4), other = s.semaphore(4);
    auto three = semaphore.try_acquire(3);
    BOOST_TEST_REQUIRE(three.held());
    BOOST_TEST(three.size() == 3U);
    BOOST_TEST(s.held() == 3U);
    BOOST_TEST(std::set<std::size_t>(three.indexes().begin(), three.indexes().end()).size() == 3U);
    BOOST_TEST(is_empty(other.try_acquire(3)));
    BOOST_TEST(is_empty(other.try_acquire(2)));
    BOOST_TEST(s.held() == 3U, "what was taken of it is free again");
    auto one = other.try_acquire(1);
    BOOST_TEST(one.held());
    BOOST_TEST(is_empty(semaphore.try_acquire(1)));
    BOOST_TEST(three.release() == lh::release_outcome::released);
    BOOST_TEST(s.held() == 1U);
    BOOST_TEST(is_empty(semaphore.try_acquire(4)));
    BOOST_TEST(is_held(semaphore.try_acquire(3)));
    BOOST_TEST(s.held() == 1U, "a destructor gives them back");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(guard_of_several_is_one_right, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4);
    auto three = semaphore.try_acquire(3);
    BOOST_TEST(three.remaining() == 27s);
    BOOST_TEST(three.name() == "licences");
    BOOST_TEST(three.owner() == semaphore.owner());
    BOOST_TEST(three.store() == &s.store);
    BOOST_TEST(three.tokens().size() == 3U);
    BOOST_TEST(three.token() == std::ranges::min(three.tokens()));
    std::error_code ec;
    for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST(three.guards()[i].name() == "licences/" + std::to_string(three.indexes()[i]));
        const auto record = s.store.leases.inspect(three.guards()[i].name(), ec);
        BOOST_TEST_REQUIRE(record.has_value());
        BOOST_TEST(record->token == three.tokens()[i]);
    }
    BOOST_CHECK_NO_THROW(three.ensure_held());
    s.clock.advance(5s);
    BOOST_TEST(three.renew());
    BOOST_TEST(three.remaining() == 27s);
    const std::stop_token told = three.stop_token();
    s.store.leases.force_release(three.guards()[1].name());
    s.clock.advance(10s);
    BOOST_TEST(eventually([&] { return told.stop_requested(); }));
    BOOST_TEST(!three.held());
    BOOST_CHECK_THROW(three.ensure_held(), lh::lease_lost);
    auto moved = std::move(three);
    BOOST_TEST(three.empty());
    BOOST_TEST(three.size() == 0U);
    BOOST_TEST(three.token() == lh::fencing_token{});
    BOOST_TEST(three.name().empty());
    BOOST_TEST(moved.release() == lh::release_outcome::lost);
    BOOST_CHECK_THROW(moved.release(), std::system_error);
    BOOST_TEST(s.held() == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(number_that_cannot_be_is_refused, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4);
    std::error_code ec;
    const auto refused = [](auto call, std::vector<std::string> words) {
        BOOST_CHECK_EXCEPTION(static_cast<void>(call()), std::system_error, says(lh::errc::invalid_terms, words));
    };
    refused([&] { return semaphore.try_acquire(0); }, {"1 to 4 permits", "not 0"});
    refused([&] { return semaphore.try_acquire(-3); }, {"not -3"});
    refused([&] { return semaphore.acquire(0); }, {"not 0"});
    refused([&] { return semaphore.try_acquire_for(1h, 0); }, {"not 0"});
    refused([&] { return semaphore.try_acquire(std::numeric_limits<unsigned long long>::max()); }, {"1 to 4"});
    BOOST_TEST(s.statements() == 0);
    refused([&] { return semaphore.try_acquire(5); }, {"'licences'", "1 to 4", "not 5"});
    refused([&] { return semaphore.try_acquire_for(1h, 5); }, {"1 to 4", "not 5"});
    BOOST_TEST(is_empty(semaphore.try_acquire(5, ec)));
    BOOST_TEST(ec == lh::errc::invalid_terms);
    BOOST_TEST(is_empty(semaphore.try_acquire(0, ec)));
    BOOST_TEST(ec == lh::errc::invalid_terms);
    BOOST_TEST(is_empty(semaphore.acquire(5, ec)));
    BOOST_TEST(ec == lh::errc::invalid_terms);
    BOOST_TEST(s.held() == 0U);
    auto other = s.semaphore(4);
    other.resize(5);
    BOOST_TEST(is_empty(semaphore.try_acquire(6, ec)));
    s.clock.advance(1s);
    BOOST_TEST(is_held(semaphore.try_acquire(5, ec)), "it looks whether there are more by now");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(several_find_the_permits_of_a_count_that_has_grown, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4), other = s.semaphore(4), third = s.semaphore(4);
    const auto three = other.try_acquire(3);
    BOOST_TEST(is_empty(semaphore.try_acquire(2)));
    third.resize(8);
    s.clock.advance(300ms);
    BOOST_TEST(is_held(semaphore.try_acquire(2)));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(wait_for_several_ends_as_soon_as_enough_are_free, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4), other = s.semaphore(4);
    auto held = take(other, 4);
    std::atomic<bool> done = false;
    std::atomic<std::size_t> got = 0;
    std::jthread waits{[&] {
        const auto three = semaphore.acquire(3);
        got = three.size();
        done = true;
    }};
    BOOST_TEST_PASSPOINT();
    const auto ends = [&] {
        return eventually([&] {
            if (!done) s.clock.advance(20ms);
            return done.load();
        }, 100ms);
    };
    held[0].release();
    BOOST_TEST(!ends());
    held[2].release();
    BOOST_TEST(!ends());
    BOOST_TEST(eventually([&] { return s.held() == 2U; }), "what it takes in vain it gives back");
    held[3].release();
    BOOST_TEST(eventually([&] {
        if (!done) s.clock.advance(20ms);
        return done.load();
    }));
    waits.join();
    BOOST_TEST(got == 3U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(waiter_is_not_woken_at_once_by_what_it_gives_back_itself, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4), other = s.semaphore(4);
    const auto two = other.try_acquire(2);
    const int before = s.statements();
    std::stop_source stop;
    std::jthread waits{[&] { BOOST_TEST(is_empty(semaphore.acquire(3, stop.get_token()))); }};
    BOOST_TEST(eventually([&] { return s.statements() > before; }));
    BOOST_TEST(throughout([&] { return s.statements() < before + 20; }, 30ms));
    stop.request_stop();
}

BOOST_AUTO_TEST_CASE(end_that_is_past_does_not_make_a_waiter_ask_without_pauses)
{
    scene<scripted_store> s;
    auto semaphore = s.semaphore(4), other = s.semaphore(4);
    auto held = take(other, 4);
    const int before_waiting = s.statements();
    std::stop_source stop;
    std::jthread waits{[&] { BOOST_TEST(is_empty(semaphore.acquire(3, stop.get_token()))); }};
    BOOST_TEST(eventually([&] { return s.statements() > before_waiting + 1; }));
    BOOST_TEST(throughout([&] { return s.statements() < before_waiting + 10; }, 10ms));
    std::ranges::find(held, 0U, [](const auto& each) { return each.index(); })->release();  // whose end it knows
    for (int i = 0; i < 10; ++i) s.clock.advance(4s);  // the others are renewed
    const int before = s.statements();
    for (int i = 0; i < 100; ++i) s.clock.advance(1ms);
    BOOST_TEST(s.statements() < before + 40);
    stop.request_stop();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(more_than_there_were_is_refused_only_by_a_fresh_look, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4), other = s.semaphore(4);
    BOOST_TEST(is_held(semaphore.try_acquire()));
    BOOST_CHECK_THROW(static_cast<void>(semaphore.try_acquire(6)), std::system_error);  // it has just looked
    other.resize(8);
    s.store.next(operation::inspect, fate::fails);
    std::error_code ec;
    BOOST_TEST(is_empty(semaphore.try_acquire(6, ec)));
    BOOST_TEST(ec == lh::errc::store_unavailable);
    BOOST_TEST(is_held(semaphore.try_acquire(6, ec)));
    BOOST_TEST(!ec);
}

// As a store whose terms expire by observation: its list shows the terms of the dead.
struct store_that_lists_the_dead : lh::forwarding_store<lh::basic_memory_store<lh::manual_clock>, store_that_lists_the_dead> {
    using forwarding_store::forwarding_store;
    static std::vector<lh::lease_record> list(std::string_view, std::error_code& ec)
    {
        ec.clear();
        return {{"licences/0", "dead", lh::fencing_token{1}, 30s}, {"licences/1", "dead", lh::fencing_token{1}, 30s}};
    }
};

BOOST_AUTO_TEST_CASE(waiter_asks_once_a_ttl_although_a_list_shows_too_few)
{
    lh::manual_clock clock;
    lh::basic_memory_store memory{clock};
    store_that_lists_the_dead store{memory};
    lh::lease_semaphore semaphore{store, "licences", 4, 30s, clock};
    std::atomic<bool> done = false;
    std::jthread waits{[&] {
        const auto three = semaphore.try_acquire_for(1h, 3);
        BOOST_TEST(three.held());
        done = true;
    }};
    BOOST_TEST(eventually([&] { return clock.sleepers() > 0; }));
    const lh::time_point begun = clock.now();
    BOOST_TEST(eventually([&] {
        if (!done) clock.advance(1s);
        return done.load();
    }));
    BOOST_TEST((clock.now() - begun < 40s));
}

BOOST_AUTO_TEST_CASE(waiter_takes_nothing_in_vain_while_min_hold_keeps_permits_closed)
{
    lh::manual_clock clock;
    lh::basic_memory_store store{clock};
    lh::lease_semaphore semaphore{store, "licences", 4, {.ttl = 30s, .min_hold = 10s}, clock}, other{store, "licences", 4, 30s, clock};
    static_cast<void>(semaphore.try_acquire(2));  // ends at once
    const auto one = other.try_acquire();
    std::atomic<bool> done = false;
    lh::fencing_token least;
    std::jthread waits{[&] {
        const auto three = other.acquire(3);
        least = three.token();
        done = true;
    }};
    BOOST_TEST(eventually([&] {
        if (!done) clock.advance(500ms);
        return done.load();
    }));
    waits.join();
    BOOST_TEST(least.value() == 1U, "the one that nobody had before was not granted before");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(wait_for_several_can_be_cancelled_and_runs_out_of_time, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(4), other = s.semaphore(4);
    const auto two = other.try_acquire(2);
    std::error_code ec;
    BOOST_TEST(is_empty(semaphore.try_acquire_for(0s, 3)));
    BOOST_TEST(is_empty(semaphore.try_acquire_until(s.clock.now(), 3, ec)));
    BOOST_TEST(!ec);
    std::stop_source stop;
    stop.request_stop();
    BOOST_TEST(is_empty(semaphore.acquire(3, stop.get_token())));
    BOOST_TEST(is_empty(semaphore.try_acquire_for(1h, 3, stop.get_token(), ec)));
    BOOST_TEST(ec == std::errc::operation_canceled);
    BOOST_TEST(is_held(semaphore.try_acquire_for(1h, 2, ec)));
    BOOST_TEST(s.held() == 2U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(first_in_the_line_is_not_overtaken_by_who_wants_less, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(2);
    auto one = semaphore.try_acquire(), two = semaphore.try_acquire();
    std::atomic<int> order = 0, first = 0, second = 0;
    std::jthread wants_both{[&] {
        const auto both = semaphore.acquire(2);
        first = ++order;
    }};
    BOOST_TEST_PASSPOINT();
    BOOST_TEST(eventually([&] { return s.clock.sleepers() >= 2; }), "beside the renewals, the waiter, in the line");
    BOOST_TEST(throughout([&] { return order == 0; }, 30ms));
    std::jthread wants_one{[&] {
        const auto permit = semaphore.acquire();
        second = ++order;
    }};
    BOOST_TEST(throughout([&] { return order == 0; }, 30ms));
    one.release();
    for (int i = 0; i < 10; ++i) s.clock.advance(20ms);
    BOOST_TEST(throughout([&] { return order == 0; }, 30ms), "one is free, and kept for the first");
    two.release();
    BOOST_TEST(eventually([&] {
        s.clock.advance(20ms);
        return first != 0 && second != 0;
    }));
    BOOST_TEST(first == 1);
    BOOST_TEST(second == 2);
}

BOOST_AUTO_TEST_CASE(several_that_want_three_of_four_all_get_them)
{
    lh::memory_store store;
    std::atomic<int> inside = 0, crowded = 0, grants = 0;
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < 4; ++i)
            all.emplace_back([&] {
                lh::lease_semaphore semaphore{store, "licences", 4, 5s};
                for (int round = 0; round < 20; ++round) {
                    const auto three = semaphore.acquire(3);
                    if (inside.fetch_add(1) > 0) ++crowded;
                    if (three.held()) ++grants;
                    --inside;
                }
            });
    }
    BOOST_TEST(crowded == 0);
    BOOST_TEST(grants == 80);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(outage_in_between_leaves_nothing_held, Store, both_stores)
{
    for (int statement = 0; statement < 5; ++statement) {
        scene<Store> s;
        auto semaphore = s.semaphore(4);
        int left = statement;
        for (const auto op : {operation::try_acquire, operation::acquire_many})
            s.store.before(op, [&, op](std::string_view) {
                if (left-- == 0) s.store.next(op, fate::fails);
            });
        std::error_code ec;
        const auto three = semaphore.try_acquire(3, ec);
        BOOST_TEST(three.held() == !ec);
        BOOST_TEST(s.held() == (ec ? 0U : 3U));
    }
}

BOOST_AUTO_TEST_CASE(several_cost_one_statement_where_the_store_takes_many)
{
    scene<scripted_batching_store> s;
    auto semaphore = s.semaphore(16);
    static_cast<void>(semaphore.try_acquire());
    const int before = s.statements();
    const auto eight = semaphore.try_acquire(8);
    BOOST_TEST(eight.size() == 8U);
    BOOST_TEST(s.statements() - before == 1);
}

BOOST_AUTO_TEST_SUITE_END()
