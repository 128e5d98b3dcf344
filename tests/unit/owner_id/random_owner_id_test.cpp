// SPDX-License-Identifier: BSL-1.0
#include <leasehold/limits.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>

namespace lh = leasehold;

BOOST_AUTO_TEST_SUITE(random_owner_id)

BOOST_AUTO_TEST_CASE(is_new_at_each_call)
{
    const lh::random_owner_id owner;
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) seen.insert(owner.id());
    BOOST_TEST(seen.size() == 1000U);
}

BOOST_AUTO_TEST_CASE(has_the_hosts_name_in_front_and_128_bits_behind)
{
    const std::string id = lh::random_owner_id{}.id();
    const std::string host = lh::detail::host_prefix();
    const std::string random = host.empty() ? id : id.substr(host.size() + 1);
    BOOST_TEST(id.starts_with(host));
    BOOST_TEST(random.size() == 32U);
    BOOST_TEST(random.find_first_not_of("0123456789abcdef") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_digit_varies)
{
    // A word of the random device that was used twice, or cut, would show as a digit that is always the same.
    std::set<char> at[32];
    for (int i = 0; i < 200; ++i) {
        const std::string random = lh::detail::random_hex();
        for (std::size_t digit = 0; digit < 32; ++digit) at[digit].insert(random[digit]);
    }
    for (const auto& digits : at) BOOST_TEST(digits.size() > 8U);
}

BOOST_AUTO_TEST_CASE(is_a_valid_owner)
{
    BOOST_CHECK_NO_THROW(lh::validate_owner(lh::random_owner_id{}.id()));
}

BOOST_AUTO_TEST_SUITE_END()
