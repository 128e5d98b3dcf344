// SPDX-License-Identifier: BSL-1.0
// Leases of a store that takes many renewals in one call.
#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_batching_store.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <numeric>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace batch_of_renewals_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::fate;
using leasehold_test::gate;
using leasehold_test::operation;
using leasehold_test::scripted_batching_store;

namespace {

struct fixture {
    using lease_type = lh::basic_lease<scripted_batching_store, lh::manual_clock, lh::fixed_owner_id>;

    lease_type::guard_type& acquire(lh::duration ttl = 30s)
    {
        leases.push_back(std::make_unique<lease_type>(store, "lease " + std::to_string(100 + leases.size()),
                                                      lh::lease_terms{.ttl = ttl}, clock, lh::fixed_owner_id{"o"}));
        guards.push_back(leases.back()->try_acquire());
        BOOST_TEST_REQUIRE(guards.back().held());
        return guards.back();
    }

    void acquire_many(int count)
    {
        for (int i = 0; i < count; ++i) acquire();
    }

    // Batches, and renewals sent by themselves.
    [[nodiscard]] bool answered(int batches, int alone = 0) const
    {
        return eventually([&] {
            return store.answered(operation::renew_many) == batches && store.answered(operation::renew) == alone;
        });
    }

    [[nodiscard]] bool all_have(lh::duration left) const
    {
        return eventually([&] { return std::ranges::all_of(guards, [&](const auto& g) { return g.remaining() == left; }); });
    }

    [[nodiscard]] bool all_have_failed() const
    {
        const auto failed = [](const auto& g) { return g.renewal_error() != std::error_code{}; };
        return eventually([&] { return std::ranges::all_of(guards, failed); });
    }

    lh::manual_clock clock;
    scripted_batching_store store{clock};
    std::vector<std::unique_ptr<lease_type>> leases;
    std::vector<lease_type::guard_type> guards;
};

}  // namespace
}  // namespace batch_of_renewals_test

BOOST_FIXTURE_TEST_SUITE(batch_of_renewals_test, fixture)

BOOST_AUTO_TEST_CASE(renewals_that_are_due_together_go_in_one_call)
{
    acquire_many(50);
    for (int round = 1; round <= 3; ++round) {
        clock.advance(10s);
        BOOST_TEST(answered(round));
        BOOST_TEST(all_have(27s));
    }
    BOOST_TEST(store.sizes() == (std::vector<std::size_t>{50, 50, 50}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_that_is_due_soon_goes_along_and_one_that_is_due_later_does_not)
{
    acquire();
    clock.advance(1249ms);
    acquire();
    clock.advance(1ms);
    acquire();
    clock.advance(10s - 1250ms);
    BOOST_TEST(answered(1));
    BOOST_TEST(store.last_names() == (std::vector<std::string>{"lease 100", "lease 101"}), boost::test_tools::per_element());
    clock.advance(1250ms);
    BOOST_TEST(answered(1, 1), "the third, when it is due");
    clock.advance(10s - 1250ms);
    BOOST_TEST(answered(2, 1), "the first two are due together now");
}

BOOST_AUTO_TEST_CASE(time_counts_from_before_the_call)
{
    acquire_many(3);
    store.before(operation::renew_many, [&](auto) { clock.advance(5s); });
    clock.advance(10s);
    BOOST_TEST(answered(1));
    BOOST_TEST(all_have(22s));
}

BOOST_AUTO_TEST_CASE(call_may_take_half_of_the_time_that_is_left)
{
    acquire_many(3);
    clock.advance(10s);
    BOOST_TEST(answered(1));
    BOOST_TEST(store.last_within() == 8500ms);
}

BOOST_AUTO_TEST_CASE(calls_have_no_more_than_the_store_takes)
{
    store.takes = 10;
    acquire_many(25);
    clock.advance(10s);
    BOOST_TEST(all_have(27s));
    const auto sizes = store.sizes();
    BOOST_TEST(std::ranges::all_of(sizes, [](std::size_t size) { return size <= 10; }));
    const auto alone = static_cast<std::size_t>(store.sent(operation::renew));
    BOOST_TEST(std::accumulate(sizes.begin(), sizes.end(), alone) == 25U);
    BOOST_TEST(sizes.size() <= 4U);
}

BOOST_AUTO_TEST_CASE(store_that_takes_one_just_now_is_asked_for_one)
{
    store.takes = 1;
    acquire_many(5);
    clock.advance(10s);
    BOOST_TEST(answered(0, 5));
    BOOST_TEST(all_have(27s));
}

BOOST_AUTO_TEST_CASE(each_term_takes_its_own_answer)
{
    acquire_many(5);
    std::vector<std::stop_token> lost;
    for (const auto& guard : guards) lost.push_back(guard.stop_token());
    BOOST_TEST(store.leases.force_release("lease 102"));
    clock.advance(10s);
    BOOST_TEST(answered(1));
    BOOST_TEST(eventually([&] { return lost[2].stop_requested(); }));
    BOOST_TEST(!guards[2].held());
    for (const std::size_t other : {0U, 1U, 3U, 4U}) {
        BOOST_TEST(eventually([&] { return guards[other].remaining() == 27s; }));
        BOOST_TEST(!lost[other].stop_requested());
    }
}

BOOST_AUTO_TEST_CASE(unknown_outcome_leaves_every_term_trying_inside_its_time)
{
    for (const fate what : {fate::fails, fate::loses_reply, fate::throws, fate::throws_no_code}) {
        fixture f;
        f.acquire_many(20);
        f.store.next(operation::renew_many, what);
        f.clock.advance(10s);
        BOOST_TEST(f.answered(1));
        BOOST_TEST(f.all_have_failed());
        BOOST_TEST(f.guards.front().remaining() == 17s);
        f.clock.advance(1s);
        BOOST_TEST(f.all_have(27s));
        BOOST_TEST(!f.guards.front().renewal_error());
        BOOST_TEST(f.store.sizes().size() <= 3U, "retries come together too, though their pauses differ");
    }
}

BOOST_AUTO_TEST_CASE(losses_are_signalled_on_time_while_a_call_for_all_hangs)
{
    gate hang{clock};
    acquire_many(20);
    store.before(operation::renew_many, [&](auto) { hang.pass(); });
    std::vector<std::stop_token> lost;
    for (const auto& guard : guards) lost.push_back(guard.stop_token());
    clock.advance(10s);
    BOOST_TEST(hang.reached_by());
    clock.advance(17s - 1ns);
    BOOST_TEST(std::ranges::none_of(lost, &std::stop_token::stop_requested));
    clock.advance(1ns);
    BOOST_TEST(std::ranges::all_of(lost, &std::stop_token::stop_requested));
    hang.open();
    BOOST_TEST(answered(1));
    BOOST_TEST(std::ranges::none_of(guards, [](const auto& guard) { return guard.held(); }), "an answer that came too late");
}

BOOST_AUTO_TEST_CASE(one_call_that_hangs_does_not_keep_those_that_are_due_later)
{
    gate hang{clock};
    acquire_many(10);
    clock.advance(5s);
    acquire_many(10);
    store.before(operation::renew_many, [&](std::string_view name) {
        if (name < "lease 110") hang.pass();
    });
    clock.advance(5s);
    BOOST_TEST(hang.reached_by());
    clock.advance(5s);
    BOOST_TEST(answered(1));
    for (std::size_t i = 10; i < 20; ++i) BOOST_TEST(eventually([&] { return guards[i].remaining() == 27s; }));
    hang.open();
    BOOST_TEST(answered(2));
}

BOOST_AUTO_TEST_CASE(after_a_call_that_took_its_time_and_failed_fewer_go_together_and_then_one)
{
    store.takes = 320;
    acquire_many(40);
    store.before(operation::renew_many, [&](auto) { clock.advance(store.last_within()); });
    store.always(operation::renew_many, fate::fails);
    clock.advance(10s);
    BOOST_TEST(all_have_failed());
    BOOST_TEST(store.sizes() == std::vector<std::size_t>{40});
    store.before(operation::renew_many, nullptr);
    store.always(operation::renew_many, fate::throws);  // another error, so that one sees that it has got there
    clock.advance(1s);
    BOOST_TEST(eventually([&] {
        return std::ranges::all_of(guards, [](const auto& g) { return g.renewal_error() == lh::errc::store_failure; });
    }));
    BOOST_TEST(store.sizes().size() == 3U);
    BOOST_TEST(store.sizes()[1] == 20U, "a sixteenth of what it takes");
    clock.advance(3s);
    BOOST_TEST(all_have(27s));
    BOOST_TEST(store.answered(operation::renew) == 40, "alone");
}

BOOST_AUTO_TEST_CASE(release_during_the_call_is_neither_kept_waiting_nor_undone)
{
    gate hang{clock};
    acquire_many(3);
    store.before(operation::renew_many, [&](auto) { hang.pass(); });
    clock.advance(10s);
    BOOST_TEST(hang.reached_by());
    std::error_code ec;
    BOOST_TEST((guards[1].release(ec) == lh::release_outcome::released));
    const auto again = leases[1]->try_acquire();
    BOOST_TEST(again.token().value() == 2);
    hang.open();
    BOOST_TEST(answered(1));
    BOOST_TEST(again.remaining() == 27s);
    BOOST_TEST(eventually([&] { return guards[0].remaining() == 27s; }));
    clock.advance(10s);
    BOOST_TEST(eventually([&] { return again.remaining() == 27s; }), "the new term is renewed too");
}

BOOST_AUTO_TEST_CASE(holders_own_renewal_waits_for_the_call_that_has_its_term)
{
    gate hang{clock};
    acquire_many(3);
    store.before(operation::renew_many, [&](auto) { hang.pass(); });
    clock.advance(10s);
    BOOST_TEST(hang.reached_by());
    std::atomic<bool> renewed = false;
    std::thread holder{[&] {
        std::error_code ec;
        renewed = guards[0].renew(60s, ec);
    }};
    BOOST_TEST(leasehold_test::throughout([&] { return !renewed && store.sent(operation::renew) == 0; }, 30ms));
    hang.open();
    holder.join();
    BOOST_TEST(renewed);
    BOOST_TEST(guards[0].remaining() == 57s);
}

BOOST_AUTO_TEST_CASE(terms_of_different_ttls_go_together_when_they_are_due_together)
{
    acquire(30s);
    acquire(60s);
    clock.advance(10s);
    BOOST_TEST(answered(0, 1));
    BOOST_TEST(eventually([&] { return guards[0].remaining() == 27s; }));
    clock.advance(10s);
    BOOST_TEST(answered(1, 1));
    BOOST_TEST(eventually([&] { return guards[0].remaining() == 27s && guards[1].remaining() == 54s; }));
}

BOOST_AUTO_TEST_CASE(ten_thousand_leases_need_few_calls)
{
    acquire_many(10'000);
    clock.advance(10s);
    BOOST_TEST(eventually([&] { return std::ranges::all_of(guards, [](const auto& g) { return g.remaining() == 27s; }); }, 60s));
    BOOST_TEST(store.sizes().size() <= 50U, "a worker that is free takes what there is");
    clock.advance(10s);
    BOOST_TEST(eventually([&] { return std::ranges::all_of(guards, [](const auto& g) { return g.remaining() == 27s; }); }, 60s));
    BOOST_TEST(store.sizes().size() <= 100U);
}

BOOST_AUTO_TEST_SUITE_END()
