// SPDX-License-Identifier: BSL-1.0
#include <leasehold/odbc/detail/driver/driver_manager.hpp>

#include <boost/test/unit_test.hpp>

#include <string_view>

BOOST_AUTO_TEST_SUITE(driver_manager_test)

namespace {

using leasehold::odbc::detail::keyword_value;

}  // namespace

BOOST_AUTO_TEST_CASE(keyword_is_found_wherever_it_stands)
{
    for (const char* text :
         {"Driver=d;Server=h;Port=1", "Server=h;Driver=d;Port=1", "Server=h;Port=1;Driver=d", "DSN=x;Driver=d;Server=h;Port=1",
          ";;Driver=d;;Server=h;Port=1;", "words;Driver=d;Server=h;Port=1", "Driver=d;words;Server=h;Port=1",
          "PWD={;Driver=no};Driver=d;Server=h;Port=1", "PWD=';Driver=no';Driver={d};Server=h; Port =1"}) {
        BOOST_TEST(keyword_value(text, "Driver") == "d", text);
        BOOST_TEST(keyword_value(text, "server") == "h", text);
        BOOST_TEST(keyword_value(text, "PORT") == "1", text);
    }
}

BOOST_AUTO_TEST_CASE(keyword_that_is_not_there_has_no_value)
{
    for (const char* text : {"", ";", "=", "Server", "Server;Port=1", "Server=;Port=1", "Port=1;Server", "Port=Server=h", "MyServer=h"})
        BOOST_TEST(keyword_value(text, "Server").empty(), text);
}

BOOST_AUTO_TEST_SUITE_END()
