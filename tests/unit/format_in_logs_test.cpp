// SPDX-License-Identifier: BSL-1.0
// What enumerators look like in a log.
#include <leasehold/leasehold.hpp>

#include <boost/test/unit_test.hpp>

#include <sstream>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(format_in_logs_test)

namespace lh = leasehold;

namespace {

template <class Enumeration>
void prints(Enumeration value, std::string_view wanted)
{
    std::ostringstream out;
    out << value;
    BOOST_TEST(to_string(value) == wanted);
    BOOST_TEST(out.str() == wanted);
}

}  // namespace

BOOST_AUTO_TEST_CASE(reasons_of_stepping_down)
{
    prints(lh::step_down_reason::returned, "returned");
    prints(lh::step_down_reason::lost, "lost");
    prints(lh::step_down_reason::store_error, "store_error");
    prints(lh::step_down_reason::stopped, "stopped");
    prints(lh::step_down_reason::resigned, "resigned");
    prints(lh::step_down_reason::threw, "threw");
    prints(lh::step_down_reason::asked, "asked");
    prints(static_cast<lh::step_down_reason>(99), "invalid");
}

BOOST_AUTO_TEST_CASE(outcomes_of_a_release)
{
    prints(lh::release_outcome::released, "released");
    prints(lh::release_outcome::lost, "lost");
    prints(lh::release_outcome::unknown, "unknown");
    prints(static_cast<lh::release_outcome>(99), "invalid");
}

BOOST_AUTO_TEST_CASE(answers_to_an_attempt)
{
    prints(lh::acquire_status::granted, "granted");
    prints(lh::acquire_status::busy, "busy");
    prints(lh::acquire_status::queued, "queued");
    prints(static_cast<lh::acquire_status>(99), "invalid");
}

BOOST_AUTO_TEST_CASE(error_codes)
{
    prints(lh::errc::invalid_name, "invalid_name");
    prints(lh::errc::invalid_owner, "invalid_owner");
    prints(lh::errc::invalid_data, "invalid_data");
    prints(lh::errc::held_closed, "held_closed");
    prints(lh::errc::invalid_terms, "invalid_terms");
    prints(lh::errc::not_held, "not_held");
    prints(lh::errc::lost, "lost");
    prints(lh::errc::store_unavailable, "store_unavailable");
    prints(lh::errc::store_timeout, "store_timeout");
    prints(lh::errc::store_conflict, "store_conflict");
    prints(lh::errc::schema_missing, "schema_missing");
    prints(lh::errc::store_failure, "store_failure");
    prints(static_cast<lh::errc>(99), "invalid");
}

BOOST_AUTO_TEST_CASE(changes_of_a_group)
{
    prints(lh::member_change_kind::joined, "joined");
    prints(lh::member_change_kind::left, "left");
    prints(lh::member_change_kind::data_changed, "data_changed");
    prints(static_cast<lh::member_change_kind>(99), "invalid");
    prints(lh::shard_event_kind::taken, "taken");
    prints(lh::shard_event_kind::store_failed, "store_failed");
    prints(static_cast<lh::shard_event_kind>(99), "invalid");
}

BOOST_AUTO_TEST_CASE(names_are_constants)
{
    static_assert(to_string(lh::step_down_reason::lost) == "lost");
    static_assert(to_string(lh::release_outcome::unknown) == "unknown");
    static_assert(to_string(lh::acquire_status::busy) == "busy");
    static_assert(to_string(lh::errc::lost) == "lost");
    BOOST_TEST(to_string(lh::errc::lost) == "lost");
}

BOOST_AUTO_TEST_SUITE_END()
