// SPDX-License-Identifier: BSL-1.0
#include <leasehold/owner_id/fixed_owner_id.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

BOOST_AUTO_TEST_SUITE(fixed_owner_id_test)

namespace lh = leasehold;

BOOST_AUTO_TEST_CASE(is_the_text_it_was_given_at_every_call_and_in_every_copy)
{
    const lh::fixed_owner_id owner{"node-1"};
    const lh::fixed_owner_id copy = owner;
    BOOST_TEST(owner.id() == "node-1");
    BOOST_TEST(owner.id() == "node-1");
    BOOST_TEST(copy.id() == "node-1");
}

BOOST_AUTO_TEST_CASE(bad_text_is_left_to_the_lease_that_uses_it)
{
    BOOST_TEST(lh::fixed_owner_id{""}.id() == "");
    BOOST_TEST(lh::fixed_owner_id{std::string(1000, 'x')}.id().size() == 1000U);
}

BOOST_AUTO_TEST_SUITE_END()
