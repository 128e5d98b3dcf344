// SPDX-License-Identifier: BSL-1.0
#include <leasehold/fencing_token.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>
#include <sstream>
#include <unordered_set>

BOOST_AUTO_TEST_SUITE(fencing_token_test)

namespace lh = leasehold;

BOOST_AUTO_TEST_CASE(default_is_zero_which_no_term_has)
{
    BOOST_TEST(lh::fencing_token{}.value() == 0);
    BOOST_TEST(lh::fencing_token{} < lh::fencing_token{1});
}

BOOST_AUTO_TEST_CASE(is_ordered_by_its_value_over_the_whole_range)
{
    constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    BOOST_TEST(lh::fencing_token{7} == lh::fencing_token{7});
    BOOST_TEST(lh::fencing_token{7} != lh::fencing_token{8});
    BOOST_TEST(lh::fencing_token{7} < lh::fencing_token{8});
    BOOST_TEST(lh::fencing_token{largest} > lh::fencing_token{largest - 1});
    BOOST_TEST(lh::fencing_token{largest}.value() == largest);
}

BOOST_AUTO_TEST_CASE(streams_as_its_number)
{
    std::ostringstream out;
    out << lh::fencing_token{1234567890123};
    BOOST_TEST(out.str() == "1234567890123");
    std::wostringstream wide;
    wide << lh::fencing_token{42};
    BOOST_TEST((wide.str() == L"42"));
}

BOOST_AUTO_TEST_CASE(is_a_key_of_unordered_containers)
{
    const std::unordered_set<lh::fencing_token> seen{lh::fencing_token{1}, lh::fencing_token{2}, lh::fencing_token{1}};
    BOOST_TEST(seen.size() == 2U);
    BOOST_TEST(seen.contains(lh::fencing_token{2}));
    BOOST_TEST(!seen.contains(lh::fencing_token{3}));
}

BOOST_AUTO_TEST_SUITE_END()
