// SPDX-License-Identifier: BSL-1.0
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/store/memory_store.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(memory_store_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

// Its now() is called under the lock of a name's shard: so it can hold that lock, and show who waits for it.
struct stopping_clock {
    lh::time_point now() const noexcept
    {
        if (armed->exchange(false)) gate->pass();
        return lh::time_point{1h};
    }
    std::atomic<bool>* armed;
    leasehold_test::gate* gate;
};

struct manual_store {
    lh::manual_clock clock;
    lh::basic_memory_store<lh::manual_clock> store{clock};
    std::error_code ec;

    // A ticket is not moved.
    struct queued {
        lh::basic_memory_store<lh::manual_clock>::queue_ticket ticket;
    };
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(term_ends_at_its_ttl_and_not_before, manual_store)
{
    const auto first = store.try_acquire("n", "a", 10s, ec);
    BOOST_TEST(first.granted());
    clock.advance(10s - 1ns);
    const auto busy = store.try_acquire("n", "b", 10s, ec);
    BOOST_TEST(!busy.granted());
    BOOST_TEST(busy.token == first.token);
    BOOST_TEST(busy.remaining == 1ns);
    clock.advance(1ns);
    BOOST_TEST(!store.renew("n", "a", first.token, 10s, ec));
    BOOST_TEST(!store.release("n", "a", first.token, 0s, ec));
    BOOST_TEST(!store.inspect("n", ec).has_value());
    const auto second = store.try_acquire("n", "b", 10s, ec);
    BOOST_TEST(second.granted());
    BOOST_TEST((second.token > first.token));
}

BOOST_FIXTURE_TEST_CASE(renewal_counts_from_now_and_never_shortens, manual_store)
{
    const auto term = store.try_acquire("n", "a", 10s, ec);
    clock.advance(4s);
    BOOST_TEST(store.renew("n", "a", term.token, 10s, ec));
    BOOST_TEST(store.inspect("n", ec)->remaining == 10s);
    BOOST_TEST(store.renew("n", "a", term.token, 1s, ec));
    BOOST_TEST(store.inspect("n", ec)->remaining == 10s);
    BOOST_TEST((store.try_acquire("n", "a", 1s, ec).token > term.token));
    BOOST_TEST(store.inspect("n", ec)->remaining == 10s);
}

BOOST_FIXTURE_TEST_CASE(keep_closed_keeps_everybody_out_to_the_nanosecond, manual_store)
{
    const auto term = store.try_acquire("n", "a", 10s, ec);
    BOOST_TEST(store.release("n", "a", term.token, 1h, ec));
    clock.advance(1h - 1ns);
    BOOST_TEST(!store.try_acquire("n", "a", 10s, ec).granted());
    BOOST_TEST(store.inspect("n", ec)->owner == "");
    clock.advance(1ns);
    BOOST_TEST((store.try_acquire("n", "a", 10s, ec).token > term.token));
}

BOOST_FIXTURE_TEST_CASE(longest_durations_do_not_overflow, manual_store)
{
    const auto term = store.try_acquire("n", "a", 24h * 3650, ec);
    BOOST_TEST(store.renew("n", "a", term.token, 24h * 3650, ec));
    BOOST_TEST(store.inspect("n", ec)->remaining == 24h * 3650);
    BOOST_TEST(store.release("n", "a", term.token, 24h * 3650, ec));
    BOOST_TEST(store.inspect("n", ec)->remaining == 24h * 3650);
    BOOST_TEST(!store.try_acquire("n", "b", 1s, ec).granted());
}

BOOST_FIXTURE_TEST_CASE(list_has_what_is_held_now_by_name, manual_store)
{
    for (const char* name : {"b", "a2", "a1", "expired", "released"})
        store.try_acquire(name, "o", name[0] == 'e' ? 1s : 10s, ec);
    store.release("released", "o", lh::fencing_token{1}, 0s, ec);
    clock.advance(1s);
    const auto all = store.list();
    BOOST_TEST_REQUIRE(all.size() == 3U);
    BOOST_TEST((all[0].name == "a1" && all[1].name == "a2" && all[2].name == "b"));
    BOOST_TEST(all[0].remaining == 9s);
    BOOST_TEST(store.list("a").size() == 2U);
    BOOST_TEST(store.list("a2", ec).size() == 1U);
    BOOST_TEST(store.list("x").empty());
    ec = lh::errc::store_failure;
    BOOST_TEST(store.list(ec).size() == 3U);
    BOOST_TEST(!ec);
}

BOOST_FIXTURE_TEST_CASE(force_release_ends_the_term_and_its_token_stays_used, manual_store)
{
    const auto term = store.try_acquire("n", "a", 10s, ec);
    BOOST_TEST(store.force_release("n"));
    BOOST_TEST(!store.force_release("n"));
    BOOST_TEST(!store.renew("n", "a", term.token, 10s, ec));
    BOOST_TEST((store.try_acquire("n", "a", 10s, ec).token > term.token));
}

BOOST_FIXTURE_TEST_CASE(force_release_opens_what_min_hold_keeps_closed, manual_store)
{
    const auto term = store.try_acquire("n", "a", 10s, ec);
    store.release("n", "a", term.token, 1h, ec);
    BOOST_TEST(store.force_release("n", ec));
    BOOST_TEST(store.try_acquire("n", "b", 10s, ec).granted());
}

BOOST_FIXTURE_TEST_CASE(force_release_of_nothing_is_false_and_no_error, manual_store)
{
    ec = lh::errc::store_failure;
    BOOST_TEST(!store.force_release("never heard of", ec));
    BOOST_TEST(!ec);
    store.try_acquire("n", "a", 10s, ec);
    clock.advance(10s);
    BOOST_TEST(!store.force_release("n", ec));
}

BOOST_FIXTURE_TEST_CASE(force_release_refuses_what_is_no_name, manual_store)
{
    for (const std::string& bad : {std::string{}, std::string(191, 'x'), std::string("a\0b", 3), std::string{"\xFF"}}) {
        BOOST_CHECK_EXCEPTION(store.force_release(bad), std::system_error,
                              [](const std::system_error& e) { return e.code() == lh::errc::invalid_name; });
        BOOST_TEST(!store.force_release(bad, ec));
        BOOST_TEST((ec == lh::errc::invalid_name));
    }
}

BOOST_FIXTURE_TEST_CASE(names_have_tokens_of_their_own, manual_store)
{
    for (int i = 0; i < 5; ++i) store.release("a", "o", store.try_acquire("a", "o", 10s, ec).token, 0s, ec);
    BOOST_TEST(store.try_acquire("b", "o", 10s, ec).token.value() == 1);
    BOOST_TEST(store.try_acquire("a", "o", 10s, ec).token.value() == 6);
}

BOOST_AUTO_TEST_CASE(independent_names_do_not_wait_for_each_other)
{
    leasehold_test::gate gate;
    std::atomic<bool> armed = false;
    lh::basic_memory_store store{stopping_clock{&armed, &gate}};
    armed = true;
    std::thread holds_its_shard{[&] {
        std::error_code ec;
        store.try_acquire("held up", "a", 10s, ec);
    }};
    BOOST_TEST(gate.reached_by());
    // A few names share the shard: most don't, so of many the first few that do are not waited for.
    std::atomic<int> done = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&, i] {
            std::error_code ec;
            store.try_acquire("name " + std::to_string(i), "a", 10s, ec);
            ++done;
        });
    BOOST_TEST(leasehold_test::eventually([&] { return done >= 4; }));
    gate.open();
    holds_its_shard.join();
    for (std::thread& t : threads) t.join();
}

BOOST_FIXTURE_TEST_CASE(a_release_wakes_all_who_have_a_ticket_for_the_name, manual_store)
{
    const auto held = store.try_acquire("a", "o", 10s, ec);
    lh::waker first, second, of_another_name;
    const auto other = store.enqueue("b", of_another_name);
    const auto first_ticket = store.enqueue("a", first);
    const auto second_ticket = store.enqueue("a", second);
    store.release("a", "o", held.token, 0s, ec);
    BOOST_TEST(first.woken());
    BOOST_TEST(second.woken(), "what it was told of the end is true no longer");
    BOOST_TEST(!of_another_name.woken());
}

BOOST_FIXTURE_TEST_CASE(a_woken_waiter_that_leaves_without_the_lease_wakes_the_next, manual_store)
{
    const auto held = store.try_acquire("a", "o", 10s, ec);
    lh::waker first, second;
    std::unique_ptr<queued> first_ticket{new queued{store.enqueue("a", first)}};
    const auto second_ticket = store.enqueue("a", second);
    store.release("a", "o", held.token, 0s, ec);
    second.wait();
    first_ticket.reset();
    BOOST_TEST(second.woken());
}

BOOST_FIXTURE_TEST_CASE(a_waiter_that_leaves_with_the_lease_wakes_nobody, manual_store)
{
    const auto held = store.try_acquire("a", "o", 10s, ec);
    lh::waker first, second;
    std::unique_ptr<queued> first_ticket{new queued{store.enqueue("a", first)}};
    const auto second_ticket = store.enqueue("a", second);
    store.release("a", "o", held.token, 0s, ec);
    second.wait();
    BOOST_TEST(store.try_acquire("a", "p", 10s, ec).granted());
    first_ticket.reset();
    BOOST_TEST(!second.woken());
}

BOOST_AUTO_TEST_SUITE_END()
