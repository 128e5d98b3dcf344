// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <boost/test/unit_test.hpp>

#include <version>

#if defined(__cpp_lib_format)
#include <format>

BOOST_AUTO_TEST_SUITE(format_test)

namespace lh = leasehold;

BOOST_AUTO_TEST_CASE(token_is_formatted_as_an_integer)
{
    BOOST_TEST(std::format("{}", lh::fencing_token{42}) == "42");
    BOOST_TEST(std::format("{:>6}|{:06}", lh::fencing_token{42}, lh::fencing_token{42}) == "    42|000042");
}

BOOST_AUTO_TEST_CASE(enumerators_are_formatted_by_their_names)
{
    BOOST_TEST(std::format("{} {}", lh::errc::lost, lh::acquire_status::busy) == "lost busy");
    BOOST_TEST(std::format("{:>6} {}", lh::catch_up::all, to_string(lh::release_outcome{})) ==
               std::format("   all {}", lh::release_outcome{}));
    BOOST_TEST(std::format("{}", lh::step_down_reason{}) == to_string(lh::step_down_reason{}));
    BOOST_TEST(std::format("{} {}", lh::member_change_kind::left, lh::shard_event_kind::late) == "left late");
    BOOST_TEST(std::format("{}", lh::lease_event_kind{}) == to_string(lh::lease_event_kind{}));
}

BOOST_AUTO_TEST_SUITE_END()
#endif
