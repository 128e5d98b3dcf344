// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renewal/term_heap.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

BOOST_AUTO_TEST_SUITE(term_heap_test)

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

/// What this thread spent on `work`.
std::chrono::nanoseconds processor_time(const std::function<void()>& work)
{
    const auto spent = [] {
        timespec now{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
    };
    const auto before = spent();
    work();
    return spent() - before;
}

}  // namespace

BOOST_AUTO_TEST_CASE(empty_heap_never_comes)
{
    const lh::renewal::term_heap heap{lh::renewal::watched_term::heap::instants};
    BOOST_TEST(heap.empty());
    BOOST_TEST((heap.first_at() == lh::time_point::max()));
}

BOOST_AUTO_TEST_CASE(earliest_comes_first_in_every_order_of_four)
{
    std::vector<int> order{1, 2, 3, 4};
    do {
        terms some{4};
        lh::renewal::term_heap heap{lh::renewal::watched_term::heap::instants};
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
    lh::renewal::term_heap heap{lh::renewal::watched_term::heap::instants};
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
    lh::renewal::term_heap heap{lh::renewal::watched_term::heap::instants};
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
    lh::renewal::term_heap heap{lh::renewal::watched_term::heap::instants};
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
        lh::renewal::term_heap heap{lh::renewal::watched_term::heap::instants};
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
    lh::renewal::term_heap heap{lh::renewal::watched_term::heap::instants};
    for (std::size_t terms = 1; terms <= 1000; ++terms) heap.reserve(terms);
    BOOST_TEST(heap.empty());
}

BOOST_AUTO_TEST_CASE(term_is_in_one_heap_of_each_kind_at_a_time)
{
    terms some{2};
    lh::renewal::term_heap instants{lh::renewal::watched_term::heap::instants}, renewals{lh::renewal::watched_term::heap::renewals};
    for (int i = 0; i < 2; ++i) {
        instants.put(some.all[static_cast<std::size_t>(i)], at(i));
        renewals.put(some.all[static_cast<std::size_t>(i)], at(10 - i));
    }
    BOOST_TEST((some.all[0]->wakes_at() == at(0)));
    BOOST_TEST((renewals.first() == some.all[1].get()));
    BOOST_TEST((renewals.take_first() == some.all[1]));
    BOOST_TEST(!renewals.has(*some.all[1]));
    BOOST_TEST(instants.has(*some.all[1]));
    BOOST_TEST((instants.take_first() == some.all[0]));
}

// The engine's mutex is locked meanwhile, which the watchdog needs. Both are measured in this thread's own processor time, so
// neither a slow machine nor a busy one decides: erasing one costs about as much as putting it, and a search thousands of times that.
BOOST_AUTO_TEST_CASE(many_are_erased_without_a_search_for_each)
{
    terms some{50'000};
    lh::renewal::term_heap heap{lh::renewal::watched_term::heap::renewals};
    heap.reserve(some.all.size());
    const auto put = processor_time([&] {
        int when = 0;
        for (const auto& each : some.all) heap.put(each, at(++when));
    });
    const auto erased = processor_time([&] {
        for (auto each = some.all.rbegin(); each != some.all.rend(); ++each) heap.erase(**each);  // a search finds the last one last
    });
    BOOST_TEST(heap.empty());
    BOOST_TEST(erased.count() < 100 * put.count());
}

BOOST_AUTO_TEST_SUITE_END()
