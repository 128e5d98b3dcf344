// SPDX-License-Identifier: BSL-1.0
#include <duration_text.hpp>
#include <failure.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

using namespace tool;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(tool_durations)

BOOST_AUTO_TEST_CASE(are_read_as_people_write_them)
{
    const std::pair<const char*, leasehold::duration> right[]{
        {"0", 0s},         {"90s", 90s},     {"5m", 5min},   {"1h30m", 90min}, {"500ms", 500ms},
        {"1.5h", 90min},   {"0.25s", 250ms}, {"2d", 48h},    {"1w", 168h},     {"1h2m3s4ms", 3723004ms},
        {"3650d", 87600h}, {"0s", 0s},       {".5s", 500ms},
    };
    for (const auto& [text, time] : right) BOOST_TEST(parse_duration(text) == time, text);
}

BOOST_AUTO_TEST_CASE(that_are_none_are_refused_with_what_is_allowed)
{
    const std::pair<const char*, const char*> wrong[]{
        {"", "it is empty"},
        {"5", "the unit is missing"},
        {"s", "a number is missing"},
        {"-5s", "a number is missing"},
        {"5 s", "no such unit"},
        {"5x", "no such unit"},
        {"5m1h", "larger units come"},
        {"5s5s", "larger units come"},
        {"1.2.3s", "is not a number"},
        {".s", "is not a number"},
        {"3651d", "at most ten years"},
        {"1e3s", "no such unit"},
        {"99999999999999999999d", "at most ten years"},
    };
    for (const auto& [text, says] : wrong) {
        const auto right_words = [&says = says](const failure& e) {
            return e.status() == 64 && std::string{e.what()}.find(says) != std::string::npos &&
                   std::string{e.what()}.find("1h30m") != std::string::npos;
        };
        BOOST_CHECK_EXCEPTION(static_cast<void>(parse_duration(text)), failure, right_words);
    }
}

BOOST_AUTO_TEST_CASE(are_written_so_that_they_can_be_read_again)
{
    for (const leasehold::duration time :
         {leasehold::duration{0s}, leasehold::duration{90s}, leasehold::duration{3723004ms}, leasehold::duration{49h}})
        BOOST_TEST(parse_duration(to_text(time)) == time);
    BOOST_TEST(to_text(90min) == "1h30m");
}

BOOST_AUTO_TEST_CASE(in_a_column_are_short)
{
    BOOST_TEST(to_short_text(950ms) == "950ms");
    BOOST_TEST(to_short_text(24150ms) == "24.1s");
    BOOST_TEST(to_short_text(723s) == "12m03s");
    BOOST_TEST(to_short_text(307min) == "5h07m");
    BOOST_TEST(to_short_text(76h) == "3d04h");
}

BOOST_AUTO_TEST_SUITE_END()
