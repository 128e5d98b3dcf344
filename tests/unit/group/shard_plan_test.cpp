// SPDX-License-Identifier: BSL-1.0
// The rules of who has which shard, one by one.
#include <leasehold/group/shard_plan.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

namespace shard_plan_test {

namespace group = leasehold::group;

namespace {

// Members that are all alike.
std::vector<group::seen_member> members(std::size_t count)
{
    std::vector<group::seen_member> all(count);
    for (std::size_t m = 0; m < count; ++m) all[m].order = m + 1;
    return all;
}

// `owners`: who has each shard; group::nobody: it is free.
std::vector<group::seen_shard> shards(const std::vector<std::size_t>& owners)
{
    std::vector<group::seen_shard> all(owners.size());
    for (std::size_t i = 0; i < owners.size(); ++i)
        if (owners[i] != group::nobody) all[i] = {group::shard_place::owned, owners[i], {}};
    return all;
}

// So many shards of each member in turn.
std::vector<group::seen_shard> shares(const std::vector<std::size_t>& counts)
{
    std::vector<std::size_t> owners;
    for (std::size_t m = 0; m < counts.size(); ++m) owners.insert(owners.end(), counts[m], m);
    return shards(owners);
}

std::size_t count_to(const std::vector<group::shard_move>& moves, std::size_t to)
{
    return static_cast<std::size_t>(std::ranges::count(moves, to, &group::shard_move::to));
}

constexpr std::size_t free_one = group::nobody;

}  // namespace

BOOST_AUTO_TEST_SUITE(shard_plan_test)

BOOST_AUTO_TEST_CASE(free_shards_go_to_those_that_have_fewest)
{
    const auto all = members(3);
    const group::shard_plan plan{all, shards({0, 0, 1, free_one, free_one, free_one}), 6};
    BOOST_TEST(count_to(plan.takes(), 0) == 0U);
    BOOST_TEST(count_to(plan.takes(), 1) == 1U);
    BOOST_TEST(count_to(plan.takes(), 2) == 2U);
    BOOST_TEST(plan.asks().empty());
}

BOOST_AUTO_TEST_CASE(nobody_is_asked_by_one_that_has_only_one_fewer)
{
    const auto all = members(3);
    const group::shard_plan plan{all, shares({3, 3, 2}), 8};
    BOOST_TEST(plan.asks().empty());
    BOOST_TEST(plan.drains().empty());
}

BOOST_AUTO_TEST_CASE(one_that_joins_asks_for_its_share_and_no_more_and_each_shard_once)
{
    const auto all = members(4);
    const group::shard_plan plan{all, shares({22, 21, 21, 0}), 64};
    BOOST_TEST(count_to(plan.asks(), 3) == 16U);
    BOOST_TEST(plan.asks().size() == 16U);
    std::set<std::size_t> different;
    for (const group::shard_move& each : plan.asks()) different.insert(each.shard);
    BOOST_TEST(different.size() == 16U);
    BOOST_TEST(plan.asks().front().after == 1U);
    BOOST_TEST(plan.asks().back().after == 16U);
    for (std::size_t m = 0; m < 4; ++m) BOOST_TEST(plan.share(m) == 16U);
}

BOOST_AUTO_TEST_CASE(two_that_join_and_do_not_know_of_each_other_begin_with_different_shards)
{
    std::vector<group::seen_member> one = members(2);
    std::vector<group::seen_member> other = members(2);
    one[1].order = 1000;
    other[1].order = 1003;
    const group::shard_plan a{one, shares({8, 0}), 8};
    const group::shard_plan b{other, shares({8, 0}), 8};
    BOOST_TEST(a.asks().front().shard != b.asks().front().shard);
}

BOOST_AUTO_TEST_CASE(request_is_followed_while_it_evens_the_shares_out)
{
    const auto all = members(2);
    auto seen = shares({3, 1});
    seen[1].request = group::shard_request{1, 2};
    const group::shard_plan plan{all, seen, 4};
    BOOST_REQUIRE(plan.drains().size() == 1U);
    BOOST_TEST(plan.drains().front().shard == 1U);
    BOOST_TEST(plan.asks().empty());
}

BOOST_AUTO_TEST_CASE(request_that_no_longer_evens_the_shares_out_moves_nothing)
{
    const auto all = members(2);
    auto seen = shares({2, 2});
    seen[0].request = group::shard_request{1, 1};
    BOOST_TEST((group::shard_plan{all, seen, 4}.drains().empty()));
    // The asker knows of more than this look does.
    seen = shares({3, 1});
    seen[0].request = group::shard_request{1, 3};
    BOOST_TEST((group::shard_plan{all, seen, 4}.drains().empty()));
}

BOOST_AUTO_TEST_CASE(what_is_only_on_its_way_does_not_count_for_the_one_that_gives)
{
    const auto all = members(3);
    auto seen = shares({3, 1, 0});
    seen[0].request = group::shard_request{1, 1};  // member 1 has one, and will have two
    seen[3].request = group::shard_request{2, 1};
    const group::shard_plan plan{all, seen, 4};
    BOOST_TEST(std::ranges::count(plan.drains(), std::size_t{1}, &group::shard_move::from) == 0);
}

BOOST_AUTO_TEST_CASE(nobody_asks_while_there_is_something_free)
{
    const auto all = members(2);
    const group::shard_plan plan{all, shards({0, 0, free_one, free_one}), 4};
    BOOST_TEST(plan.asks().empty());
    BOOST_TEST(count_to(plan.takes(), 1) == 2U);
}

BOOST_AUTO_TEST_CASE(what_a_member_that_has_gone_still_holds_counts_as_coming)
{
    const auto all = members(2);
    auto seen = shards({0, 0, 0, 0});
    seen[2] = seen[3] = {group::shard_place::of_stranger, group::nobody, {}};
    const group::shard_plan plan{all, seen, 4};
    BOOST_TEST(plan.asks().empty());
    BOOST_TEST(plan.takes().empty());
}

BOOST_AUTO_TEST_CASE(shares_are_as_the_capacities)
{
    auto all = members(3);
    all[1].capacity = 2;
    const group::shard_plan plan{all, shares({16, 0, 0}), 16};
    BOOST_TEST(plan.share(0) == 4U);
    BOOST_TEST(plan.share(1) == 8U);
    BOOST_TEST(plan.share(2) == 4U);
}

BOOST_AUTO_TEST_CASE(limit_of_a_member_is_kept_and_what_it_has_beyond_it_is_given_up)
{
    auto all = members(2);
    all[1].most = 2;
    const group::shard_plan plan{all, shards({free_one, free_one, free_one, free_one, free_one, free_one}), 6};
    BOOST_TEST(count_to(plan.takes(), 1) == 2U);
    BOOST_TEST(count_to(plan.takes(), 0) == 4U);
    const group::shard_plan beyond{all, shares({1, 4}), 5};
    BOOST_TEST(beyond.drains().size() == 2U);
    all[0].most = 2;
    const group::shard_plan full{all, shards({0, 0, 1, 1, free_one}), 5};
    BOOST_TEST(full.takes().empty());
}

BOOST_AUTO_TEST_CASE(member_that_is_paused_gives_everything_up_and_gets_nothing)
{
    auto all = members(2);
    all[0].paused = true;
    const group::shard_plan plan{all, shards({0, 0, 1, free_one}), 4};
    BOOST_TEST(plan.drains().size() == 2U);
    BOOST_TEST(count_to(plan.takes(), 0) == 0U);
    BOOST_TEST(count_to(plan.takes(), 1) == 1U);
    BOOST_TEST(plan.share(1) == 4U);
}

BOOST_AUTO_TEST_CASE(shards_that_are_no_more_are_given_up_and_count_for_nobody)
{
    const auto all = members(2);
    const group::shard_plan plan{all, shards({0, 1, 1, 1, 1, 1}), 2};
    BOOST_TEST(plan.drains().size() == 4U);
    BOOST_TEST(plan.share(1) == 1U);
    BOOST_TEST(plan.asks().empty());
}

BOOST_AUTO_TEST_CASE(operator_is_followed_whatever_the_shares_are)
{
    const auto all = members(2);
    auto seen = shares({1, 3});
    seen[0].request = group::shard_request{};
    const group::shard_plan plan{all, seen, 4};
    BOOST_REQUIRE(plan.drains().size() == 1U);
    BOOST_TEST(plan.drains().front().shard == 0U);
}

BOOST_AUTO_TEST_CASE(shard_that_is_held_closed_is_nobody_s_and_counts_for_none)
{
    auto all = shards(std::vector<std::size_t>(8, free_one));
    for (const std::size_t i : {0U, 2U, 4U}) all[i].place = group::shard_place::held_closed;
    const auto two = members(2);
    const group::shard_plan plan{two, all, 8};
    BOOST_TEST(plan.takes().size() == 5U);
    BOOST_TEST(plan.share(0) + plan.share(1) == 5U);
    BOOST_TEST(std::ranges::max(plan.share(0), plan.share(1)) == 3U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace shard_plan_test
