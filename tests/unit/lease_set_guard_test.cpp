// SPDX-License-Identifier: BSL-1.0
// The one guard of several leases: its deadline, its renewals, its loss and its release.
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <unit/lease_set_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(lease_set_guard_test)

using namespace leasehold_test;
using namespace leasehold_test::lease_sets;

namespace {

struct clock_without_waiting {
    [[nodiscard]] lh::time_point now() const noexcept { return lh::steady_clock{}.now(); }
};

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(loss_of_one_is_the_loss_of_all, Store, both_stores)
{
    scene<Store> s;
    auto all = lh::try_acquire_all(s.a, s.b, s.c);
    const std::stop_token told = all.stop_token();
    std::atomic<int> calls = 0;
    const std::stop_callback count{told, [&] { ++calls; }};
    s.clock.advance(10s);
    BOOST_TEST(eventually([&] { return all.remaining() == 27s; }));
    s.store.leases.force_release("b");
    BOOST_TEST(all.held());
    s.clock.advance(10s);
    BOOST_TEST(eventually([&] { return told.stop_requested() && calls == 1; }));
    BOOST_TEST(!all.held());
    BOOST_TEST(all.remaining() == 0s);
    BOOST_TEST(all.stop_token().stop_requested());
    BOOST_TEST(all.guards()[0].held());
    BOOST_CHECK_EXCEPTION(all.ensure_held(), lh::lease_lost,
                          [](const auto& e) { return std::string{e.what()}.find("'b'") != std::string::npos; });
    BOOST_TEST(!all.renew());
    BOOST_TEST(all.release() == lh::release_outcome::lost);
    BOOST_TEST(s.held().empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(release_is_not_told_as_a_loss, Store, both_stores)
{
    scene<Store> s;
    auto all = lh::try_acquire_all(s.a, s.b);
    const std::stop_token told = all.stop_token();
    all.release();
    s.clock.advance(1min);
    BOOST_TEST(!told.stop_requested());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(renewals_in_the_background_keep_all, Store, both_stores)
{
    scene<Store> s;
    auto all = lh::try_acquire_all(s.a, s.b, s.c);
    for (int i = 0; i < 12; ++i) {
        s.clock.advance(5s);
        BOOST_TEST(all.held());
    }
    if (s.in_batches) BOOST_TEST(s.store.sent(operation::renew) == 0);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(renew_extends_all_or_says_why_not, Store, both_stores)
{
    scene<Store> s;
    auto all = lh::try_acquire_all(s.a, s.b);
    s.clock.advance(5s);
    BOOST_TEST(all.remaining() == 22s);
    BOOST_TEST(all.renew());
    BOOST_TEST(all.remaining() == 27s);
    s.store.always(s.renewals, fate::fails);
    std::error_code ec;
    BOOST_TEST(!all.renew(ec));
    BOOST_TEST(ec == lh::errc::store_unavailable);
    BOOST_TEST(all.held(), "until its deadline");
    BOOST_CHECK_THROW(all.renew(), lh::store_error);
    s.store.always(s.renewals, fate::carried_out);
    BOOST_TEST(all.renew(ec));
    BOOST_TEST(!ec);
    s.store.leases.force_release("a");
    BOOST_TEST(!all.renew(ec));
    BOOST_TEST(!ec);
    BOOST_TEST(!all.held());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(after_a_release_that_fails_the_store_is_not_called_again, Store, both_stores)
{
    scene<Store> s;
    s.store.always(s.releases, fate::fails);
    {
        auto all = lh::try_acquire_all(s.a, s.b, s.c);
        std::error_code ec;
        BOOST_TEST(all.release(ec) == lh::release_outcome::unknown);
        BOOST_TEST(ec == lh::errc::store_unavailable);
        BOOST_TEST(s.store.sent(s.releases) == 1);
        BOOST_TEST(all.empty());
        BOOST_TEST(all.release(ec) == lh::release_outcome::unknown);
        BOOST_TEST(ec == lh::errc::not_held);
    }
    s.clock.advance(30s);
    auto all = lh::try_acquire_all(s.a, s.b, s.c);
    BOOST_CHECK_THROW(all.release(), lh::store_error);
    BOOST_TEST(s.store.sent(s.releases) == 2);
    s.clock.advance(30s);
    {
        const auto destroyed = lh::try_acquire_all(s.a, s.b, s.c);
    }
    BOOST_TEST(s.store.sent(s.releases) == 3);
}

// Their terms are over here; the store frees them when their time runs out.
BOOST_AUTO_TEST_CASE(destructor_of_a_large_set_asks_a_slow_store_no_more_after_a_second)
{
    scene<scripted_store> s;
    std::vector<scene<scripted_store>::lease_type> many;
    for (int i = 0; i < 40; ++i) many.push_back(s.lease(std::to_string(i)));
    s.store.before(operation::release, [&](std::string_view) { s.clock.advance(50ms); });
    lh::time_point begun;
    {
        const auto all = lh::try_acquire_all(many);
        BOOST_TEST_REQUIRE(all.held());
        begun = s.clock.now();
    }
    BOOST_TEST((s.clock.now() - begun == 1s));
    BOOST_TEST(s.held().size() == 20U);
    s.clock.advance(30s);
    auto again = lh::try_acquire_all(many);
    BOOST_TEST_REQUIRE(again.held());
    BOOST_TEST(again.release() == lh::release_outcome::released, "who asks for a release gets the whole of it");
    BOOST_TEST(s.held().empty());
}

// Two clocks need not show the same time.
BOOST_AUTO_TEST_CASE(destructor_releases_leases_with_clocks_of_their_own)
{
    lh::memory_store store;
    lh::manual_clock early, late;
    late.advance(2h);
    lh::basic_lease a{store, "a", 30s, late, lh::no_renewal{}}, b{store, "b", 30s, early, lh::no_renewal{}};
    lh::basic_lease c{store, "c", 30s, lh::steady_clock{}};
    std::error_code ec;
    for (const bool of_one_type : {true, false}) {
        if (of_one_type)
            BOOST_TEST_REQUIRE(is_held(lh::try_acquire_all(a, b)));
        else
            BOOST_TEST_REQUIRE(is_held(lh::try_acquire_all(b, c, a)));
        for (const char* name : {"a", "b", "c"}) BOOST_TEST(!store.inspect(name, ec).has_value(), name);
    }
}

BOOST_AUTO_TEST_CASE(destructor_counts_what_each_lease_takes_by_its_own_clock)
{
    scene<scripted_store> s;
    lh::manual_clock late;
    late.advance(2h);
    std::vector<scene<scripted_store>::lease_type> many;
    for (int i = 0; i < 40; ++i)
        many.emplace_back(s.store, std::to_string(i), 30s, i == 9 ? late : s.clock);
    s.store.before(operation::release, [&](std::string_view) {
        s.clock.advance(50ms);
        late.advance(50ms);
    });
    BOOST_TEST_REQUIRE(is_held(lh::try_acquire_all(many)));
    BOOST_TEST(s.held().size() == 20U);
}

BOOST_AUTO_TEST_CASE(stop_token_is_that_of_a_lease_whose_clock_can_be_waited_on)
{
    lh::memory_store store;
    lh::manual_clock clock;
    lh::basic_lease a{store, "a", 30s, clock, lh::no_renewal{}};
    lh::basic_lease b{store, "b", 30s, clock_without_waiting{}, lh::no_renewal{}};
    const auto both = lh::try_acquire_all(a, b);
    const std::stop_token lost = both.stop_token();
    BOOST_TEST(lost.stop_possible());
    clock.advance(27s);
    BOOST_TEST(leasehold_test::eventually([&lost] { return lost.stop_requested(); }));
}

BOOST_AUTO_TEST_CASE(deadline_is_the_earliest)
{
    scene<scripted_store> s;
    s.store.after(operation::try_acquire, [&](std::string_view) { s.clock.advance(2s); });
    auto slow = lh::try_acquire_all(s.a, s.b, s.c);
    BOOST_TEST(slow.remaining() == 21s);
}

BOOST_AUTO_TEST_CASE(set_that_took_too_long_is_given_back)
{
    scene<scripted_store> s;
    lh::basic_lease x{s.store, "x", 30s, s.clock, lh::no_renewal{}}, y{s.store, "y", 30s, s.clock, lh::no_renewal{}};
    s.store.after(operation::try_acquire, [&](std::string_view) { s.clock.advance(14s); });
    std::error_code ec;
    BOOST_TEST(is_empty(lh::try_acquire_all(x, y, ec)));
    BOOST_TEST(ec == lh::errc::store_timeout);
    BOOST_TEST(s.held().empty());
    BOOST_CHECK_EXCEPTION(static_cast<void>(lh::try_acquire_all(x, y)), lh::store_error,
                          [](const lh::store_error& e) { return std::string{e.what()}.find("'x'") != std::string::npos; });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(guard_moves, Store, both_stores)
{
    scene<Store> s;
    auto all = lh::try_acquire_all(s.a, s.b);
    auto moved = std::move(all);
    BOOST_TEST(all.empty());
    BOOST_TEST(moved.held());
    all = lh::try_acquire_all(s.c);
    BOOST_TEST_NAMES(s.held(), "a", "b", "c");
    moved = std::move(all);
    BOOST_TEST_NAMES(s.held(), "c");
    BOOST_CHECK_THROW(all.release(), std::system_error);
    BOOST_CHECK_THROW(all.renew(), std::system_error);
    BOOST_CHECK_THROW(all.ensure_held(), std::system_error);
    BOOST_TEST(!all.stop_token().stop_requested());
    {
        auto gone = std::move(moved);
    }
    BOOST_TEST(s.held().empty());
}

BOOST_AUTO_TEST_SUITE_END()
