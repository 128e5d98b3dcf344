// SPDX-License-Identifier: BSL-1.0
// The decisions about permits: which to ask for, and when the record of their count has to be written.
#include <leasehold/detail/counted_store.hpp>
#include <leasehold/detail/permit_search.hpp>
#include <leasehold/detail/set_order.hpp>

#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <set>
#include <system_error>
#include <vector>

BOOST_AUTO_TEST_SUITE(permit_search_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using lh::detail::count_machine;
using lh::detail::permit_search;

namespace {

constexpr lh::time_point start{1h};

std::vector<std::size_t> round(permit_search& search, lh::time_point now)
{
    std::vector<std::size_t> asked;
    while (const auto next = search.next(now)) asked.push_back(*next);
    return asked;
}

constexpr lh::acquire_result busy_for(lh::duration left) { return {.remaining = left}; }

}  // namespace

BOOST_AUTO_TEST_CASE(first_round_asks_for_each_once_beginning_anywhere)
{
    permit_search search{5, 13};
    BOOST_TEST(round(search, start) == (std::vector<std::size_t>{3, 4, 0, 1, 2}), boost::test_tools::per_element());
    BOOST_TEST(round(search, start).size() == 5U, "so does each round, if there are no more");
    permit_search one{1, 7};
    BOOST_TEST(round(one, start) == std::vector<std::size_t>{0}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(later_rounds_ask_for_some_by_turns_and_reach_all)
{
    permit_search search{40, 0};
    BOOST_TEST(round(search, start).size() == 40U);
    std::vector<std::size_t> asked;
    for (int i = 0; i < 3; ++i) {
        const auto some = round(search, start);
        BOOST_TEST(some.size() == permit_search::by_turns);
        asked.insert(asked.end(), some.begin(), some.end());
    }
    BOOST_TEST(std::set<std::size_t>(asked.begin(), asked.end()).size() == 40U);
}

BOOST_AUTO_TEST_CASE(the_one_that_ends_first_is_asked_for_when_its_time_has_come)
{
    permit_search search{40, 0};
    for (const std::size_t i : round(search, start)) search.busy(i, start, busy_for(i == 23 ? 5s : 20s));
    BOOST_TEST(search.remaining(start + 1s) == 4s);
    BOOST_TEST(round(search, start + 4s).front() == 0U);
    BOOST_TEST(round(search, start + 5s).front() == 23U);
    search.busy(23, start + 5s, busy_for(30s));
    BOOST_TEST(search.remaining(start + 5s) == 30s, "it was renewed");
    search.busy(24, start + 5s, busy_for(20s));
    BOOST_TEST(search.remaining(start + 5s) == 20s);
    search.busy(24, start + 6s, busy_for(40s));
    BOOST_TEST(search.remaining(start + 6s) == 40s);
}

BOOST_AUTO_TEST_CASE(unknown_ends_are_not_counted)
{
    permit_search search{3, 0};
    BOOST_TEST(search.remaining(start) == 0s);
    search.busy(1, start, busy_for(0s));
    BOOST_TEST(search.remaining(start) == 0s);
    search.busy(1, start, busy_for(lh::duration::max()));
    BOOST_TEST(search.remaining(start) == 0s);
    search.busy(1, start, busy_for(5s));
    search.begin_with_all();
    BOOST_TEST(search.remaining(start) == 0s);
}

BOOST_AUTO_TEST_CASE(time_of_a_permit_that_is_over_is_not_over_for_ever)
{
    permit_search search{3, 0};
    BOOST_TEST(!search.nearest().has_value());
    search.busy(2, start, busy_for(5s));
    BOOST_TEST((search.nearest() == 2U));
    BOOST_TEST(search.remaining(start + 5s) == 1ns);
    BOOST_TEST(search.remaining(start + 9s) == 1ns);
}

BOOST_AUTO_TEST_CASE(new_count_is_asked_for_in_this_round)
{
    permit_search search{40, 30};
    for (int i = 0; i < 3; ++i) BOOST_TEST((search.next(start) == 30U + static_cast<std::size_t>(i)));
    search.follow(40);
    BOOST_TEST(round(search, start).size() == 37U, "the same count");
    search.follow(20);
    BOOST_TEST(round(search, start) == (std::vector<std::size_t>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
               boost::test_tools::per_element());
    search.busy(7, start, busy_for(0s));
    BOOST_TEST(round(search, start).size() == permit_search::by_turns);
    search.follow(30);
    BOOST_TEST(round(search, start).size() == 30U);
}

BOOST_AUTO_TEST_CASE(first_round_asks_by_turns_whoever_ends_meanwhile)
{
    permit_search search{3, 0};
    BOOST_TEST((search.next(start) == 0U));
    search.busy(0, start, busy_for(5s));
    BOOST_TEST((search.next(start + 5s) == 1U));
}

BOOST_AUTO_TEST_CASE(end_of_a_permit_that_is_no_more_is_forgotten)
{
    for (const std::size_t nearest : {3U, 4U, 5U}) {
        permit_search search{8, 0};
        BOOST_TEST(round(search, start).size() == 8U);
        search.busy(nearest, start, busy_for(5s));
        search.follow(4);
        BOOST_TEST(search.remaining(start) == (nearest < 4 ? 5s : 0s));
        BOOST_TEST((search.next(start + 5s) == 0U), "in a first round each is asked for by its turn");
        BOOST_TEST((search.next(start + 5s) == 1U));
    }
}

BOOST_AUTO_TEST_CASE(list_is_relied_on_for_a_ttl_by_one_who_waits)
{
    permit_search search{8, 0};
    search.begin_round(start);
    BOOST_TEST(!search.may_rely_on_list(start, 10s));
    BOOST_TEST(!search.waiting_since().has_value());
    search.waits_since(start + 1s);
    BOOST_TEST((search.waiting_since() == start + 1s));
    BOOST_TEST(search.may_rely_on_list(start + 11s - 1ns, 10s));
    BOOST_TEST(!search.may_rely_on_list(start + 11s, 10s));
    search.begin_round(start + 11s);
    BOOST_TEST(search.may_rely_on_list(start + 21s - 1ns, 10s));
    BOOST_TEST((search.waiting_since() == start + 1s));
}

BOOST_AUTO_TEST_CASE(record_of_the_count_outlives_whatever_is_granted)
{
    count_machine machine;
    BOOST_TEST(machine.due(start, 30s), "at first");
    machine.written(start, 30s);
    for (lh::duration passed = 0s; passed <= 30s; passed += 5s) {
        BOOST_TEST(!machine.due(start + passed, 30s));
        const auto believed_until = start + passed + 30s, carried_out_late_ends = believed_until + 30s;
        BOOST_TEST((start + count_machine::record_ttl(30s) >= carried_out_late_ends));
    }
    BOOST_TEST(machine.due(start + 30s + 1ns, 30s));
    BOOST_TEST(machine.due(start, 31s + 15s), "for a longer ttl");
    machine.written(start - 10s, 30s);
    BOOST_TEST(!machine.due(start + 30s, 30s), "an earlier statement that comes back later takes nothing back");
}

BOOST_AUTO_TEST_CASE(sets_are_asked_for_store_by_store_and_by_name)
{
    int one = 0, other = 0;
    const std::vector<lh::detail::set_member> members{{&one, "d"}, {&other, "c"}, {&one, "b"}, {&other, "a"}, {&one, "a2"}};
    BOOST_TEST(lh::detail::order_of(members) == (std::vector<std::size_t>{3, 1, 4, 2, 0}), boost::test_tools::per_element());
    const std::vector<lh::detail::set_member> same_name{{&one, "a"}, {&other, "a"}};
    BOOST_TEST(lh::detail::order_of(same_name).size() == 2U);
    const std::vector<lh::detail::set_member> twice{{&one, "a"}, {&other, "b"}, {&one, "a"}};
    BOOST_CHECK_THROW(lh::detail::order_of(twice), std::system_error);
}

BOOST_AUTO_TEST_SUITE_END()
