// SPDX-License-Identifier: BSL-1.0
#include <leasehold/limits.hpp>
#include <leasehold/owner_id/hostname_owner_id.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <string>

#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace lh = leasehold;

BOOST_AUTO_TEST_SUITE(hostname_owner_id)

BOOST_AUTO_TEST_CASE(is_the_hosts_name_at_every_call)
{
#if defined(_WIN32)
    const char* name = std::getenv("COMPUTERNAME");
    BOOST_REQUIRE(name != nullptr);
#else
    char name[256] = {};
    BOOST_REQUIRE(::gethostname(name, sizeof name - 1) == 0);
#endif
    BOOST_REQUIRE(name[0] != '\0');
    BOOST_TEST(lh::hostname_owner_id{}.id() == std::string{name}.substr(0, 120));
    BOOST_TEST(lh::hostname_owner_id{}.id() == lh::hostname_owner_id{}.id());
}

BOOST_AUTO_TEST_CASE(is_a_valid_owner)
{
    BOOST_CHECK_NO_THROW(lh::validate_owner(lh::hostname_owner_id{}.id()));
}

BOOST_AUTO_TEST_SUITE_END()
