// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/timestamp.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>

using namespace leasehold::odbc::detail;

BOOST_AUTO_TEST_SUITE(timestamp_test)

BOOST_AUTO_TEST_CASE(instants_survive_the_way_there_and_back)
{
    for (const std::int64_t us : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{951'782'399'999'999},
                                  std::int64_t{951'782'400'000'000}, std::int64_t{4'102'444'800'123'456}})
        BOOST_TEST(microseconds_of(timestamp_of(us)) == us);
}

BOOST_AUTO_TEST_CASE(fields_are_those_of_the_calendar)
{
    const SQL_TIMESTAMP_STRUCT leap_day = timestamp_of(951'782'400'000'000 + 3'661'000'007);
    BOOST_TEST(leap_day.year == 2000);
    BOOST_TEST(leap_day.month == 2);
    BOOST_TEST(leap_day.day == 29);
    BOOST_TEST(leap_day.hour == 1);
    BOOST_TEST(leap_day.minute == 1);
    BOOST_TEST(leap_day.second == 1);
    BOOST_TEST(leap_day.fraction == 7'000U);  // nanoseconds
}

BOOST_AUTO_TEST_SUITE_END()
