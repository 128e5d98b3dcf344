// SPDX-License-Identifier: BSL-1.0
// With second.cpp: two translation units that include everything must link.
#include "everything.hpp"

#include <boost/test/unit_test.hpp>

namespace odr {
const void* category_seen_from_second();
}

BOOST_AUTO_TEST_CASE(two_translation_units_share_one_error_category)
{
    BOOST_TEST(static_cast<const void*>(&leasehold::lease_category()) == odr::category_seen_from_second());
}
