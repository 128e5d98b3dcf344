// SPDX-License-Identifier: BSL-1.0
// What members write for each other, and what they read in texts that others have written.
#include <leasehold/group/group_texts.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

namespace group_texts_test {

namespace group = leasehold::group;

BOOST_AUTO_TEST_SUITE(group_texts_test)

BOOST_AUTO_TEST_CASE(shards_are_numbers_behind_the_prefix_and_nothing_else_is)
{
    const std::string prefix = group::prefix_of("orders");
    BOOST_TEST((group::shard_in(group::shard_name("orders", 17), prefix) == 17U));
    BOOST_TEST((group::shard_in("orders/0", prefix) == 0U));
    for (const char* other : {"orders/", "orders/017", "orders/-1", "orders/1x", "orders/members/1", "orders/99999999999999999999999"})
        BOOST_TEST(!group::shard_in(other, prefix).has_value(), other);
}

BOOST_AUTO_TEST_CASE(record_of_the_count_is_read_back)
{
    BOOST_TEST((group::count_in(group::count_text(64)) == 64U));
    for (const char* other : {"64 permits", " shards", "x shards", "shards", "064 shards"}) BOOST_TEST(!group::count_in(other).has_value());
}

BOOST_AUTO_TEST_CASE(request_of_a_member_is_read_back_whatever_its_id_is)
{
    const group::wanted_by by{"db1 of 3/8f0c", 12};
    const std::string text = group::request_text(by);
    BOOST_TEST((group::request_in(text) == by));
    for (const char* other : {"", "deploying", "priority 7", "as shard x of m", "as shard 3"})
        BOOST_TEST(!group::request_in(other).has_value(), other);
}

BOOST_AUTO_TEST_CASE(words_of_a_member_are_read_back_with_any_data)
{
    const group::member_words words{2, 10, 64, true, "capacity=9 data= x"};
    const std::string text = group::words_text(words);
    BOOST_TEST((group::words_in(text) == words));
    BOOST_TEST(group::words_text({4294967295U, 4096, 4096, true, ""}).size() <= group::most_words);
}

BOOST_AUTO_TEST_CASE(what_is_no_words_of_a_member_is_read_as_none)
{
    for (const char* text : {"", "10.0.0.7:8443", "=", "capacity=0 most=0 count=64 paused=0 data=", "capacity=x data=", "capacity=5 zone=b",
                             "capacity=5 data=x", "capacity=2 most=10 count=64 paused=1",
                             "capacity=4294967296 most=0 count=1 paused=0 data="})
        BOOST_TEST(!group::words_in(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace group_texts_test
