// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/flow/batch_flow.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(batch_flow_groups_test)

namespace lh = leasehold;
using namespace lh::odbc::detail;
using namespace std::chrono_literals;

namespace {

using groups = std::vector<std::vector<item_number>>;

groups groups_of(const std::vector<lh::term_renewal>& items, std::size_t most)
{
    std::vector<item_number> all(items.size());
    std::iota(all.begin(), all.end(), item_number{0});
    return batch_groups(std::span{items}, all, &lh::term_renewal::ttl, most);
}

lh::term_renewal item(std::string_view name, lh::duration ttl = 30s) { return {name, "o", lh::fencing_token{1}, ttl}; }

}  // namespace

BOOST_AUTO_TEST_CASE(copies_what_it_is_told)
{
    batch many{2};
    {
        const std::string name = "a name", owner = "an owner";
        many.add(name, owner, 7);
        many.add("", "", -1);
    }
    BOOST_TEST(many.size() == 2U);
    BOOST_TEST(many.name(0) == "a name");
    BOOST_TEST(many.owner(0) == "an owner");
    BOOST_TEST(many.token(0) == 7);
    BOOST_TEST(many.name(1).empty());
    BOOST_TEST((many.answer(0) == lh::batch_answer::unknown && many.answer(1) == lh::batch_answer::unknown));
    many.set_answer(0, true);
    many.set_answer(1, false);
    BOOST_TEST((many.answer(0) == lh::batch_answer::yes && many.answer(1) == lh::batch_answer::no));
}

BOOST_AUTO_TEST_CASE(nothing_makes_no_groups)
{
    BOOST_TEST(groups_of({}, 10).empty());
}

BOOST_AUTO_TEST_CASE(group_is_in_the_order_of_names_and_no_longer_than_it_may)
{
    BOOST_TEST((groups_of({item("c"), item("a"), item("b")}, 10) == groups{{1, 2, 0}}));
    BOOST_TEST((groups_of({item("c"), item("a"), item("b")}, 2) == groups{{1, 2}, {0}}));
    BOOST_TEST((groups_of({item("c"), item("a")}, 1) == groups{{1}, {0}}));
}

BOOST_AUTO_TEST_CASE(times_are_kept_apart)
{
    BOOST_TEST((groups_of({item("a", 60s), item("b", 30s), item("c", 60s), item("d", 30s)}, 10) == groups{{1, 3}, {0, 2}}));
}

BOOST_AUTO_TEST_CASE(no_group_has_a_name_twice)
{
    BOOST_TEST((groups_of({item("a"), item("b"), item("a"), item("a")}, 10) == groups{{0, 1}, {2}, {3}}));
    BOOST_TEST((groups_of({item("a", 30s), item("a", 60s)}, 10) == groups{{0}, {1}}));
    BOOST_TEST((groups_of({item("b", 60s), item("a", 60s), item("a", 30s)}, 10) == groups{{2}, {1, 0}}));
}

BOOST_AUTO_TEST_CASE(terms_of_one_name_keep_their_order)
{
    std::vector<lh::term_renewal> items;
    groups wanted;
    for (item_number i = 0; i < 40; ++i) {
        items.push_back(item("a"));
        wanted.push_back({i});
    }
    BOOST_TEST((groups_of(items, 10) == wanted));
}

BOOST_AUTO_TEST_CASE(only_those_asked_for_are_in_a_group)
{
    const std::vector<lh::term_renewal> items{item("a"), item("b"), item("c")};
    const std::vector<item_number> which{2, 0};
    BOOST_TEST((batch_groups(std::span{items}, which, &lh::term_renewal::ttl, 10) == groups{{0, 2}}));
}

BOOST_AUTO_TEST_SUITE_END()
