// SPDX-License-Identifier: BSL-1.0
#include <leasehold/owner_id/random_owner_id.hpp>

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>

BOOST_AUTO_TEST_SUITE(random_owner_id_test)

namespace lh = leasehold;

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

BOOST_AUTO_TEST_SUITE_END()
