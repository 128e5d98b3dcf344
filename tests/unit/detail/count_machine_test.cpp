// SPDX-License-Identifier: BSL-1.0
// When the record of a count of permits is written again.
#include <leasehold/detail/count_machine.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

BOOST_AUTO_TEST_SUITE(count_machine_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

constexpr lh::time_point start{1h};

}  // namespace

BOOST_AUTO_TEST_CASE(record_is_due_before_the_first_permit_and_when_a_third_of_it_has_passed)
{
    lh::detail::count_machine m;
    BOOST_TEST(m.due(start, 30s));
    m.written(start, 30s);
    BOOST_TEST(!m.due(start, 30s));
    BOOST_TEST(!m.due(start + 30s, 30s));
    BOOST_TEST(m.due(start + 30s + 1ns, 30s));
}

BOOST_AUTO_TEST_CASE(longer_permit_is_due_sooner)
{
    lh::detail::count_machine m;
    m.written(start, 30s);
    BOOST_TEST(!m.due(start, 45s));
    BOOST_TEST(m.due(start, 45s + 1ns));
}

BOOST_AUTO_TEST_CASE(late_answer_and_shorter_permit_shorten_nothing)
{
    lh::detail::count_machine m;
    m.written(start, 30s);
    m.written(start - 20s, 30s);
    BOOST_TEST(!m.due(start + 30s, 30s));
    m.written(start, 1s);
    BOOST_TEST(!m.due(start + 30s, 30s));
}

BOOST_AUTO_TEST_SUITE_END()
