// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renewal/deadline_heap.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <random>
#include <vector>

BOOST_AUTO_TEST_SUITE(deadline_heap_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

struct idle_term : lh::renewal::watched_term {
    bool step() override { return false; }
    void renew() override {}
};

lh::time_point at(int second) { return lh::time_point{std::chrono::seconds{second}}; }

struct terms {
    explicit terms(std::size_t n)
    {
        while (all.size() < n) all.push_back(std::make_shared<idle_term>());
    }
    std::vector<std::shared_ptr<idle_term>> all;
};

}  // namespace

BOOST_AUTO_TEST_CASE(empty_heap_never_comes)
{
    const lh::renewal::deadline_heap heap;
    BOOST_TEST(heap.empty());
    BOOST_TEST((heap.first_at() == lh::time_point::max()));
}

BOOST_AUTO_TEST_CASE(earliest_comes_first_in_every_order_of_four)
{
    std::vector<int> order{1, 2, 3, 4};
    do {
        terms some{4};
        lh::renewal::deadline_heap heap;
        for (std::size_t i = 0; i < 4; ++i) heap.put(some.all[i], at(order[i]));
        for (int expected = 1; expected <= 4; ++expected) {
            BOOST_TEST((heap.first_at() == at(expected)));
            const auto first = heap.take_first();
            for (std::size_t i = 0; i < 4; ++i)
                if (order[i] == expected) BOOST_TEST((first == some.all[i]));
        }
        BOOST_TEST(heap.empty());
    } while (std::ranges::next_permutation(order).found);
}

BOOST_AUTO_TEST_CASE(term_is_in_it_once_and_moves_both_ways)
{
    terms some{3};
    lh::renewal::deadline_heap heap;
    heap.put(some.all[0], at(10));
    heap.put(some.all[1], at(20));
    heap.put(some.all[2], at(30));
    heap.put(some.all[2], at(5));
    BOOST_TEST((heap.first_at() == at(5)));
    BOOST_TEST((some.all[2]->wakes_at() == at(5)));
    heap.put(some.all[2], at(15));
    BOOST_TEST((heap.take_first() == some.all[0]));
    BOOST_TEST((heap.take_first() == some.all[2]));
    BOOST_TEST((heap.take_first() == some.all[1]));
    BOOST_TEST(heap.empty());
}

BOOST_AUTO_TEST_CASE(erased_term_is_dropped_and_can_come_back)
{
    terms some{2};
    lh::renewal::deadline_heap heap;
    heap.put(some.all[0], at(1));
    heap.put(some.all[1], at(2));
    heap.erase(*some.all[0]);
    heap.erase(*some.all[0]);
    BOOST_TEST((heap.first_at() == at(2)));
    BOOST_TEST((some.all[0]->wakes_at() == lh::time_point::max()));
    BOOST_TEST(some.all[0].use_count() == 1);
    heap.put(some.all[0], at(3));
    BOOST_TEST((heap.take_first() == some.all[1]));
    BOOST_TEST((heap.take_first() == some.all[0]));
}

BOOST_AUTO_TEST_CASE(taken_term_is_dropped)
{
    terms some{1};
    lh::renewal::deadline_heap heap;
    heap.put(some.all[0], at(1));
    heap.take_first();
    BOOST_TEST(some.all[0].use_count() == 1);
    BOOST_TEST((some.all[0]->wakes_at() == lh::time_point::max()));
    heap.erase(*some.all[0]);  // not in it: nothing happens
    BOOST_TEST(heap.empty());
}

BOOST_AUTO_TEST_CASE(agrees_with_a_sorted_map_over_random_operations)
{
    constexpr unsigned seed = 4711;
    std::mt19937 random{seed};
    BOOST_TEST_CONTEXT("seed " << seed)
    {
        terms some{40};
        lh::renewal::deadline_heap heap;
        heap.reserve(40);
        std::map<std::size_t, lh::time_point> model;
        for (int i = 0; i < 20'000; ++i) {
            const std::size_t which = random() % some.all.size();
            switch (random() % 4) {
            case 0:
            case 1: {
                const auto when = at(static_cast<int>(random() % 100));
                heap.put(some.all[which], when);
                model[which] = when;
                break;
            }
            case 2:
                heap.erase(*some.all[which]);
                model.erase(which);
                break;
            default:
                if (!heap.empty()) {
                    const auto first = heap.first_at();
                    const auto taken = heap.take_first();
                    const auto index = static_cast<std::size_t>(std::ranges::find(some.all, taken) - some.all.begin());
                    BOOST_TEST_REQUIRE((model.at(index) == first));
                    model.erase(index);
                }
            }
            lh::time_point least = lh::time_point::max();
            for (const auto& [index, when] : model) least = std::min(least, when);
            BOOST_TEST_REQUIRE((heap.first_at() == least));
            BOOST_TEST_REQUIRE(heap.empty() == model.empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(room_for_one_more_each_time_does_not_take_twice_as_much_each_time)
{
    lh::renewal::deadline_heap heap;
    for (std::size_t terms = 1; terms <= 1000; ++terms) heap.reserve(terms);
    BOOST_TEST(heap.empty());
}

BOOST_AUTO_TEST_CASE(early_ones_are_shown_once_and_stay)
{
    terms some{4};
    lh::renewal::deadline_heap heap;
    heap.put(some.all[0], at(10), at(5));
    heap.put(some.all[1], at(11), at(9));
    heap.put(some.all[2], at(12));
    heap.put(some.all[3], at(40), at(5));
    std::vector<std::shared_ptr<lh::renewal::watched_term>> early;
    const auto take = [&](const auto& term) { early.push_back(term); };
    heap.each_early(at(6), at(30), 100, take);
    BOOST_TEST((early == std::vector<std::shared_ptr<lh::renewal::watched_term>>{some.all[0]}), "no more, no less");
    heap.each_early(at(9), at(30), 100, take);
    BOOST_TEST((early.size() == 2U && early.back() == some.all[1]));
    heap.each_early(at(50), at(30), 100, take);
    BOOST_TEST(early.size() == 2U);
    BOOST_TEST((heap.take_first() == some.all[0]));
    heap.put(some.all[0], at(20), at(15));
    heap.each_early(at(15), at(30), 100, take);
    BOOST_TEST((early.back() == some.all[0]), "put again");
}

BOOST_AUTO_TEST_CASE(lead_of_the_first_is_how_much_sooner_it_could_go)
{
    terms some{2};
    lh::renewal::deadline_heap heap;
    BOOST_TEST((heap.first_lead() == 0s));
    heap.put(some.all[0], at(10), at(7));
    BOOST_TEST((heap.first_lead() == 3s));
    heap.put(some.all[1], at(5));
    BOOST_TEST((heap.first_lead() == 0s));
}

BOOST_AUTO_TEST_CASE(early_ones_of_random_heaps_are_those_of_a_plain_search)
{
    constexpr unsigned seed = 815;
    std::mt19937 random{seed};
    BOOST_TEST_CONTEXT("seed " << seed)
    for (int round = 0; round < 2000; ++round) {
        terms some{1 + random() % 60};
        lh::renewal::deadline_heap heap;
        const auto now = at(20), until = at(20 + static_cast<int>(random() % 40));
        std::vector<std::shared_ptr<lh::renewal::watched_term>> expected, found;
        for (const auto& each : some.all) {
            const auto when = at(20 + static_cast<int>(random() % 60)), early = at(static_cast<int>(random() % 40));
            heap.put(each, when, early);
            if (when <= until && early <= now) expected.push_back(each);
        }
        const std::size_t most = random() % 2 == 0 ? 1000 : random() % 10;
        heap.each_early(now, until, most, [&](const auto& term) { found.push_back(term); });
        BOOST_TEST_REQUIRE(found.size() == std::min(expected.size(), most));
        std::ranges::sort(expected);
        std::ranges::sort(found);
        BOOST_TEST_REQUIRE(std::ranges::includes(expected, found));
        BOOST_TEST_REQUIRE((std::ranges::adjacent_find(found) == found.end()));
    }
}

BOOST_AUTO_TEST_SUITE_END()
