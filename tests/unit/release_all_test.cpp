// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <support/printing.hpp>
#include <support/scripted_batching_store.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(release_all_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::fate;
using leasehold_test::operation;
using leasehold_test::scripted_batching_store;
using leasehold_test::scripted_store;

namespace {

template <class Store>
struct held_leases {
    using lease_type = lh::basic_lease<Store, lh::manual_clock>;

    explicit held_leases(std::size_t count, lh::lease_terms terms = {.ttl = 30s}) { acquire(store, count, terms); }

    void acquire(Store& of, std::size_t count, lh::lease_terms terms = {.ttl = 30s})
    {
        for (std::size_t i = 0; i < count; ++i) {
            leases.emplace_back(of, "lease " + std::to_string(leases.size()), terms, clock);
            guards.push_back(leases.back().try_acquire());
            BOOST_TEST_REQUIRE(guards.back().held());
        }
    }

    [[nodiscard]] bool all_empty() const { return std::ranges::none_of(guards, [](const auto& g) { return static_cast<bool>(g); }); }

    lh::manual_clock clock;
    Store store{clock};
    std::list<lease_type> leases;
    std::vector<typename lease_type::guard_type> guards;
};

using batching = held_leases<scripted_batching_store>;
using plain = held_leases<scripted_store>;

}  // namespace

BOOST_AUTO_TEST_CASE(guards_of_a_batching_store_are_released_in_few_calls)
{
    batching held{25};
    held.store.takes = 10;
    BOOST_TEST(lh::release_all(held.guards) == 25U);
    BOOST_TEST(held.store.sizes() == (std::vector<std::size_t>{10, 10, 5}), boost::test_tools::per_element());
    BOOST_TEST(held.store.sent(operation::release) == 0);
    BOOST_TEST(held.store.leases.list().empty());
    BOOST_TEST(held.all_empty());
    BOOST_TEST(is_held(held.leases.front().try_acquire()), "free for the same object");
}

BOOST_AUTO_TEST_CASE(guards_of_any_other_store_are_released_one_by_one)
{
    plain held{5};
    BOOST_TEST(lh::release_all(held.guards) == 5U);
    BOOST_TEST(held.store.sent(operation::release) == 5);
    BOOST_TEST(held.all_empty());
    batching one_at_a_time{5};
    one_at_a_time.store.takes = 1;
    BOOST_TEST(lh::release_all(one_at_a_time.guards) == 5U);
    BOOST_TEST(one_at_a_time.store.sent(operation::release) == 5);
}

BOOST_AUTO_TEST_CASE(lost_terms_are_not_counted_and_empty_guards_are_left_alone)
{
    batching held{5};
    BOOST_TEST(held.store.leases.force_release("lease 1"));
    BOOST_TEST(held.store.leases.force_release("lease 3"));
    BOOST_TEST(!held.guards[3].renew());  // knows already
    held.guards[4].release();
    BOOST_TEST(lh::release_all(held.guards) == 2U);
    BOOST_TEST(held.store.sizes() == std::vector<std::size_t>{3}, boost::test_tools::per_element());
    BOOST_TEST(held.all_empty());
}

BOOST_AUTO_TEST_CASE(part_of_a_range_is_released_and_the_rest_kept)
{
    batching held{5};
    BOOST_TEST(lh::release_all(std::span{held.guards}.first(2)) == 2U);
    BOOST_TEST(!held.guards[1]);
    BOOST_TEST(held.guards[2].held());
}

BOOST_AUTO_TEST_CASE(names_are_kept_closed_for_min_hold)
{
    batching held{3, {.ttl = 30s, .min_hold = 10s}};
    held.clock.advance(4s);
    BOOST_TEST(lh::release_all(held.guards) == 3U);
    BOOST_TEST(held.store.leases.list().front().remaining == 6s);
}

BOOST_AUTO_TEST_CASE(min_hold_keeps_the_objects_closed_while_the_call_is_under_way)
{
    batching held{3, {.ttl = 30s, .min_hold = 10s}};
    bool asked = false;
    held.store.before(operation::release_many, [&](auto) {
        if (!std::exchange(asked, true)) BOOST_TEST(!is_held(held.leases.front().try_acquire()));
    });
    BOOST_TEST(lh::release_all(held.guards) == 3U);
    BOOST_TEST(!is_held(held.leases.front().try_acquire()));
}

BOOST_AUTO_TEST_CASE(guards_of_several_stores_go_to_their_own)
{
    batching held{3};
    scripted_batching_store other{held.clock};
    held.acquire(other, 2);
    held.acquire(held.store, 2);
    BOOST_TEST(lh::release_all(held.guards) == 7U);
    BOOST_TEST(held.store.leases.list().empty());
    BOOST_TEST(other.leases.list().empty());
}

BOOST_AUTO_TEST_CASE(after_a_failure_the_store_is_asked_no_more)
{
    batching held{25};
    held.store.takes = 10;
    held.store.next(operation::release_many, fate::carried_out);
    held.store.always(operation::release_many, fate::fails);
    std::error_code ec;
    BOOST_TEST(lh::release_all(held.guards, ec) == 10U);
    BOOST_TEST((ec == lh::errc::store_unavailable));
    BOOST_TEST(held.store.sizes().size() == 2U);
    BOOST_TEST(held.all_empty());
    BOOST_TEST(held.store.leases.list().size() == 15U);

    plain one_by_one{5};
    one_by_one.store.always(operation::release, fate::fails);
    BOOST_TEST(lh::release_all(one_by_one.guards, ec) == 0U);
    BOOST_TEST((ec == lh::errc::store_unavailable));
    BOOST_TEST(one_by_one.store.sent(operation::release) == 1);
    BOOST_TEST(one_by_one.all_empty());
}

BOOST_AUTO_TEST_CASE(failure_of_one_store_keeps_no_leases_of_another)
{
    const auto check = [](auto& held, auto& other, operation releases) {
        held.acquire(other, 2);
        held.acquire(held.store, 2);
        held.store.always(releases, fate::fails);
        std::error_code ec;
        BOOST_TEST(lh::release_all(held.guards, ec) == 2U);
        BOOST_TEST((ec == lh::errc::store_unavailable));
        BOOST_TEST(held.store.sent(releases) == 1);
        BOOST_TEST(other.leases.list().empty());
        BOOST_TEST(held.all_empty());
    };
    batching together{3};
    scripted_batching_store other_together{together.clock};
    check(together, other_together, operation::release_many);
    plain one_by_one{3};
    scripted_store other{one_by_one.clock};
    check(one_by_one, other, operation::release);
}

// Two that fail: neither is asked again.
BOOST_AUTO_TEST_CASE(each_store_that_fails_is_asked_once)
{
    plain held{1};
    scripted_store second{held.clock}, third{held.clock};
    for (int round = 0; round < 2; ++round)
        for (scripted_store* each : {&held.store, &second, &third}) held.acquire(*each, 1);
    held.store.always(operation::release, fate::fails);
    second.always(operation::release, fate::fails);
    std::error_code ec;
    BOOST_TEST(lh::release_all(held.guards, ec) == 2U);
    BOOST_TEST(held.store.sent(operation::release) == 1);
    BOOST_TEST(second.sent(operation::release) == 1);
    BOOST_TEST(third.leases.list().empty());
}

BOOST_AUTO_TEST_CASE(failure_is_thrown_where_there_is_no_error_code)
{
    batching held{3};
    held.store.always(operation::release_many, fate::throws);
    BOOST_CHECK_THROW(lh::release_all(held.guards), lh::store_error);
    BOOST_TEST(held.all_empty());
}

BOOST_AUTO_TEST_CASE(success_clears_the_error_code)
{
    batching held{3};
    std::error_code ec = lh::errc::lost;
    BOOST_TEST(lh::release_all(held.guards, ec) == 3U);
    BOOST_TEST(!ec);
    BOOST_TEST(lh::release_all(held.guards, ec) == 0U, "all empty already");
}

BOOST_AUTO_TEST_SUITE_END()
