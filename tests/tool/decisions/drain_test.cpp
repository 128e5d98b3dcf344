// SPDX-License-Identifier: BSL-1.0
#include <drain_model.hpp>
#include <records.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace tool;
using namespace std::chrono_literals;
using leasehold::lease_record;

namespace {

lease_record held_by(const std::string& name, const std::string& owner, std::int64_t token)
{
    return {name, owner, leasehold::fencing_token{token}, 30s};
}

using texts = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_drain)

BOOST_AUTO_TEST_CASE(host_has_what_owners_hold_that_begin_with_its_name)
{
    for (const char* owner : {"web-1", "web-1/8f0c", "web-1:4711:3/8f0c"}) BOOST_TEST(is_of_host(held_by("a", owner, 1), "web-1"), owner);
    for (const char* owner : {"", "web", "web-10/8f0c", "web-1.example/8f0c", "my-web-1/8f0c"})
        BOOST_TEST(!is_of_host(held_by("a", owner, 1), "web-1"), owner);
    BOOST_TEST(!is_of_host(held_by("a", "5 permits", 1), "5 permits"));
    BOOST_TEST(!is_of_host(held_by("a", "held closed 0123456789abcdef: x", 1), "held closed 0123456789abcdef"));
}

BOOST_AUTO_TEST_CASE(each_term_is_asked_once)
{
    drain_model host{"web-1"};
    host.look({held_by("a", "web-1/1", 1), held_by("b", "web-2/1", 2), held_by("c", "web-1/1", 3)});
    BOOST_TEST((host.to_ask() == texts{"a", "c"}));
    host.look({held_by("a", "web-1/1", 1), held_by("c", "web-1/2", 4)});
    BOOST_TEST((host.to_ask() == texts{"c"}));
    BOOST_TEST(host.left().size() == 2U);
    host.look({held_by("a", "web-2/1", 5)});
    BOOST_TEST(host.to_ask().empty());
    BOOST_TEST(host.left().empty());
    BOOST_TEST(host.asked() == 2U);
}

BOOST_AUTO_TEST_CASE(term_whose_request_has_failed_is_asked_again)
{
    drain_model host{"web-1"};
    host.look({held_by("a", "web-1/1", 1), held_by("c", "web-1/1", 3)});
    host.ask_again("a");
    host.look({held_by("a", "web-1/1", 1), held_by("c", "web-1/1", 3)});
    BOOST_TEST((host.to_ask() == texts{"a"}));
    host.ask_again("a");
    host.look({});
    BOOST_TEST(host.to_ask().empty());
    BOOST_TEST(host.asked() == 2U);
}

BOOST_AUTO_TEST_CASE(term_that_has_ended_since_the_look_is_asked_for_nothing)
{
    drain_model host{"web-1"};
    host.look({held_by("a", "web-1/1", 1)});
    BOOST_TEST(host.asks(held_by("a", "web-1/1", 1)));
    BOOST_TEST(!host.asks(held_by("a", "web-2/1", 2)));
    BOOST_TEST(!host.asks(held_by("a", "web-1/1", 3)));
    BOOST_TEST(!host.asks(held_by("a", "", 1)));
    BOOST_TEST(!host.asks(held_by("b", "web-2/1", 1)));
}

BOOST_AUTO_TEST_CASE(member_of_a_group_is_asked_and_not_waited_for)
{
    drain_model host{"web-1"};
    host.look({held_by("orders/members/web-1/1", "web-1/1", 1)});
    BOOST_TEST((host.to_ask() == texts{"orders/members/web-1/1"}));
    BOOST_TEST(host.left().empty());
}

BOOST_AUTO_TEST_CASE(lease_with_the_name_of_a_membership_is_waited_for)
{
    drain_model host{"web-1"};
    host.look({held_by("site/members/export", "web-1/1", 1), held_by("site/members/web-1", "web-1/1", 2)});
    BOOST_TEST((host.to_ask() == texts{"site/members/export", "site/members/web-1"}));
    BOOST_TEST(host.left().size() == 1U, "a member may have the host's name as its id");
}

// It stands in nobody's way, and ends when the wait does.
BOOST_AUTO_TEST_CASE(lease_of_a_waiter_for_several_permits_is_left_alone)
{
    drain_model host{"web-1"};
    host.look({held_by("licences", "8 permits", 1), held_by("licences/^", "web-1/1", 2), held_by("others/^", "web-1/1", 3)});
    BOOST_TEST((host.to_ask() == texts{"others/^"}));
    BOOST_TEST(host.left().size() == 1U);
}

BOOST_AUTO_TEST_CASE(member_of_a_group_with_an_id_of_its_own_is_known_by_what_it_says)
{
    lease_record member = held_by("orders/members/blue", "web-1/1", 1);
    member.data = "capacity=1 most=0 count=16 paused=0 data=";
    drain_model host{"web-1"};
    host.look({member});
    BOOST_TEST((host.to_ask() == texts{"orders/members/blue"}));
    BOOST_TEST(host.left().empty());
}

BOOST_AUTO_TEST_CASE(host_has_what_a_member_of_a_group_holds_that_has_its_name)
{
    drain_model host{"web-1"};
    host.look({held_by("orders/0", "box/1", 1), held_by("orders/1", "box/2", 2), held_by("orders/members/web-1", "box/1", 3),
               held_by("orders/members/web-10", "box/2", 4), held_by("orders/members/web-1/x", "held closed 0123456789abcdef: y", 5)});
    BOOST_TEST((host.to_ask() == texts{"orders/0", "orders/members/web-1"}));
    BOOST_TEST(host.left().size() == 1U);
    host.look({held_by("orders/1", "box/2", 2), held_by("orders/members/web-1", "box/1", 3), held_by("x", "", 6)});
    BOOST_TEST(host.left().empty());
}

BOOST_AUTO_TEST_CASE(hold_is_shown_as_one)
{
    const lease_record hold = held_by("a", "held closed 0123456789abcdef: new\ntables", 1);
    BOOST_TEST(owner_or_what_else(hold, true) == "(held closed: new\\ntables)");
    BOOST_TEST(owner_or_what_else(held_by("a", "held closed 0123456789abcdef", 1), false) == "(held closed)");
    BOOST_TEST(to_json(hold) ==
               "{\"name\": \"a\", \"owner\": null, \"hold\": \"new\\u000atables\", \"token\": 1, \"remaining_ms\": 30000}");
}

BOOST_AUTO_TEST_SUITE_END()
