// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_ODBC_DETAIL_GRANT_FLOW_CHECKS_HPP
#define LEASEHOLD_TESTS_UNIT_ODBC_DETAIL_GRANT_FLOW_CHECKS_HPP

#include <support/printing.hpp>
#include <unit/odbc/detail/flow/scripted_database.hpp>

#include <leasehold/odbc/detail/flow/flow.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

/// What the tests of grant_flow() have in common.
namespace leasehold_test::grant_flows {

using od::fault;
using od::grant_answer;
using od::statement;
using statements = std::vector<statement>;

inline constexpr std::int64_t us = od::owner_is_us;
inline constexpr std::int64_t nobody = od::owner_is_nobody;
inline constexpr std::int64_t another = 0;
inline constexpr bool live = true;
inline constexpr bool over = false;

inline void check_granted(const grant_answer& answer, std::int64_t token, bool fresh)
{
    BOOST_TEST(answer.result.granted());
    BOOST_TEST(answer.result.token == leasehold::fencing_token{token});
    BOOST_TEST(answer.fresh == fresh);
}

inline void check_busy(const grant_answer& answer, std::int64_t token, leasehold::duration remaining)
{
    BOOST_TEST(!answer.result.granted());
    BOOST_TEST(answer.result.token == leasehold::fencing_token{token});
    BOOST_TEST(answer.result.remaining == remaining);
    BOOST_TEST(!answer.fresh);
}

}  // namespace leasehold_test::grant_flows

#endif
