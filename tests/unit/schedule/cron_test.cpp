// SPDX-License-Identifier: BSL-1.0
#include <leasehold/schedule/cron.hpp>

#include <leasehold/error.hpp>
#include <leasehold/schedule/concept.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(cron_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
namespace chrono = std::chrono;

namespace {

constexpr lh::fire_time at(int year, unsigned month, unsigned day, int hour = 0, int minute = 0, int second = 0)
{
    return chrono::sys_days{chrono::year{year} / chrono::month{month} / chrono::day{day}} + chrono::hours{hour} + chrono::minutes{minute} +
           chrono::seconds{second};
}

// A line, read a second time by other code: value by value, as the manual of cron says it.
class oracle {
public:
    explicit oracle(std::string_view line)
    {
        for (std::string& field : fields_) {
            while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
            const std::size_t end = std::min(line.find(' '), line.size());
            field = std::string{line.substr(0, end)};
            line.remove_prefix(end);
        }
        for (std::size_t field = 0; field < fields_.size(); ++field)
            for (int value = 0; value < 60; ++value) allowed_[field][static_cast<std::size_t>(value)] = matches(field, value);
    }

    [[nodiscard]] bool fires_at(lh::fire_time minute) const
    {
        const auto day = chrono::floor<chrono::days>(minute);
        const auto of_day = static_cast<int>(chrono::duration_cast<chrono::minutes>(minute - day).count());
        if (!has(0, of_day % 60) || !has(1, of_day / 60)) return false;
        const chrono::year_month_day date{day};
        if (!has(3, static_cast<int>(static_cast<unsigned>(date.month())))) return false;
        const int weekday = static_cast<int>(chrono::weekday{day}.c_encoding());
        const bool by_month = has(2, static_cast<int>(static_cast<unsigned>(date.day())));
        const bool by_week = has(4, weekday) || (weekday == 0 && fields_[4].front() != '*' && has(4, 7));
        const bool both_restricted = fields_[2].find('*') == std::string::npos && fields_[4].find('*') == std::string::npos;
        return both_restricted ? by_month || by_week : by_month && by_week;
    }

private:
    [[nodiscard]] bool has(std::size_t field, int value) const { return allowed_[field][static_cast<std::size_t>(value)]; }

    [[nodiscard]] bool matches(std::size_t field, int value) const
    {
        static constexpr std::array<int, 5> first{0, 0, 1, 1, 0};
        static constexpr std::array<int, 5> last{59, 23, 31, 12, 6};
        std::string_view left = fields_[field];
        for (;;) {
            const std::size_t end = std::min(left.find(','), left.size());
            const std::string item{left.substr(0, end)};
            const std::size_t slash = item.find('/');
            const int step = slash == std::string::npos ? 1 : std::stoi(item.substr(slash + 1));
            const std::string range = item.substr(0, slash);
            const std::size_t dash = range.find('-');
            int low = first[field];
            int high = last[field];
            if (range != "*") {
                low = std::stoi(range.substr(0, dash));
                if (dash != std::string::npos)
                    high = std::stoi(range.substr(dash + 1));
                else
                    high = slash == std::string::npos ? low : std::max(low, high);  // 7 is beyond the end, and a Sunday all the same
            }
            if (value >= low && value <= high && (value - low) % step == 0) return true;
            if (end == left.size()) return false;
            left.remove_prefix(end + 1);
        }
    }

    std::array<std::string, 5> fields_;
    std::array<std::array<bool, 60>, 5> allowed_{};
};

void agrees_with_the_oracle(const std::string& line, lh::fire_time from, chrono::minutes span)
{
    const lh::cron of{line};
    const oracle other{line};
    lh::fire_time expected = of.next(from - 1ns);
    for (lh::fire_time minute = from; minute < from + span; minute += 1min) {
        const bool fires = other.fires_at(minute);
        if (fires != (minute == expected)) BOOST_FAIL(line << ": differs " << minute.time_since_epoch().count());
        if (fires) expected = of.next(minute);
    }
}

std::string random_field(std::mt19937& random, int first, int last)
{
    const auto between = [&random](int low, int high) { return std::uniform_int_distribution<int>{low, high}(random); };
    if (between(0, 2) == 0) return "*";
    if (between(0, 4) == 0) return "*/" + std::to_string(between(1, std::max(last / 2, 1)));
    std::string field;
    for (int i = between(1, 3); i > 0; --i) {
        const int low = between(first, last);
        field += (field.empty() ? "" : ",") + std::to_string(low);
        const int form = between(0, 4);
        if (form <= 1) field += "-" + std::to_string(between(low, last));
        if (form == 1 || form == 2) field += "/" + std::to_string(between(1, std::max(last / 3, 1)));
    }
    return field;
}

std::string refusal(const std::string& line)
{
    try {
        const lh::cron read{line};
        return "none";
    }
    catch (const std::system_error& e) {
        BOOST_TEST((e.code() == lh::errc::invalid_terms));
        return e.what();
    }
}

bool refused_for(const std::string& line, std::string_view why)
{
    const std::string said = refusal(line);
    if (said.find(why) != std::string::npos) return true;
    BOOST_TEST_MESSAGE(line << ": " << said);
    return false;
}

static_assert(lh::schedule<lh::cron>);
static_assert(lh::cron{"0 3 * * *"}.next(at(2026, 11, 24, 3)) == at(2026, 11, 25, 3), "known at compile time");

}  // namespace

BOOST_AUTO_TEST_CASE(fire_is_later_than_the_time_asked_for)
{
    constexpr lh::cron of{"0 3 * * *"};
    BOOST_TEST((of.next(at(2026, 11, 25, 3)) == at(2026, 11, 26, 3)));
    BOOST_TEST((of.next(at(2026, 11, 25, 3) - 1ns) == at(2026, 11, 25, 3)));
    BOOST_TEST((of.next(at(2026, 11, 25, 3) + 1ns) == at(2026, 11, 26, 3)));
    BOOST_TEST((of.next(at(2026, 11, 25, 1, 30)) == at(2026, 11, 25, 3)));
    BOOST_TEST((of.next(at(2026, 12, 31, 23, 59, 59)) == at(2027, 1, 1, 3)));
}

BOOST_AUTO_TEST_CASE(fires_before_the_epoch_too)
{
    BOOST_TEST((lh::cron{"30 23 * * *"}.next(at(1969, 12, 31, 23, 29, 59)) == at(1969, 12, 31, 23, 30)));
    BOOST_TEST((lh::cron{"0 0 29 2 *"}.next(at(1896, 3, 1)) == at(1904, 2, 29)));
}

BOOST_AUTO_TEST_CASE(leap_days_are_found)
{
    BOOST_TEST((lh::cron{"0 0 29 2 *"}.next(at(2026, 1, 1)) == at(2028, 2, 29)));
    BOOST_TEST((lh::cron{"0 0 29 2 *"}.next(at(2096, 2, 29)) == at(2104, 2, 29)));
    // Both days must fit, since one of them begins with a star: a leap day that is a Sunday, Tuesday, Thursday or Saturday.
    BOOST_TEST((lh::cron{"0 0 29 2 */2"}.next(at(2024, 2, 29)) == at(2028, 2, 29)));
}

BOOST_AUTO_TEST_CASE(one_of_two_restricted_days_is_enough)
{
    constexpr lh::cron of{"0 0 1,15 * MON"};
    BOOST_TEST((of.next(at(2026, 11, 1)) == at(2026, 11, 2)));
    BOOST_TEST((of.next(at(2026, 11, 9)) == at(2026, 11, 15)));
    BOOST_TEST((of.next(at(2026, 11, 15)) == at(2026, 11, 16)));
}

BOOST_AUTO_TEST_CASE(day_that_begins_with_a_star_is_not_restricted)
{
    // Odd days that are Mondays.
    BOOST_TEST((lh::cron{"0 0 */2 * MON"}.next(at(2026, 11, 2)) == at(2026, 11, 9)));
    BOOST_TEST((lh::cron{"0 0 13 * *"}.next(at(2026, 11, 13)) == at(2026, 12, 13)));
}

BOOST_AUTO_TEST_CASE(names_of_months_and_days_are_numbers)
{
    BOOST_TEST((lh::cron{"0 0 * JAN-mar sun,Sat"} == lh::cron{"0 0 * 1-3 0,6"}));
    BOOST_TEST((lh::cron{"0 0 * * 7"} == lh::cron{"0 0 * * SUN"}));
    BOOST_TEST((lh::cron{"0 0 * * 5-7"} == lh::cron{"0 0 * * 0,5,6"}));
    for (const auto& [written, same] : {std::pair{lh::cron{"0 0 * * 7/2"}, lh::cron{"0 0 * * SUN"}},
                                        std::pair{lh::cron{"0 0 * * 1,7/2"}, lh::cron{"0 0 * * SUN,MON"}},
                                        std::pair{lh::cron{"0 0 * * 5/2"}, lh::cron{"0 0 * * FRI"}}})
        BOOST_TEST((written == same));
}

BOOST_AUTO_TEST_CASE(lines_that_mean_the_same_have_one_text)
{
    BOOST_TEST(lh::cron{"0 3 * * *"}.text() == "cron 0 3 * * *");
    BOOST_TEST(lh::cron{" 00\t03  *   * * "}.text() == "cron 0 3 * * *");
    BOOST_TEST(lh::cron{"*/15 8-18 1,2,3 * MON-FRI"}.text() == "cron */15 8-18 1-3 * 1-5");
    BOOST_TEST(lh::cron{"5/15 * * * *"}.text() == "cron 5,20,35,50 * * * *");
    BOOST_TEST(lh::cron{"0 0 1-31 * 0-6"}.text() != lh::cron{"0 0 * * *"}.text());
    for (const auto& [written, same] : {std::pair{lh::cron{"0-59 * * * *"}, lh::cron{"* * * * *"}},
                                        std::pair{lh::cron{"0,15,30,45 * * * *"}, lh::cron{"*/15 * * * *"}},
                                        std::pair{lh::cron{"0,30 0,12 * 1-12 *"}, lh::cron{"*/30 */12 * * *"}},
                                        std::pair{lh::cron{"0 0 * */12 *"}, lh::cron{"0 0 * 1 *"}}}) {
        BOOST_TEST((written == same));
        BOOST_TEST(written.text() == same.text());
    }
    BOOST_TEST(lh::cron{"0,30 * * * *"}.text() == "cron */30 * * * *");
}

BOOST_AUTO_TEST_CASE(longest_text_fits_a_record)
{
    std::string minutes;
    for (int i = 0; i < 60; i += 2) minutes += (i > 0 ? "," : "") + std::to_string(i);
    const lh::cron of{minutes + " 0,2,4,6,8,10,12,14,16,18,20,22 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 1,3,5,7,9,11 0,2,4,6"};
    BOOST_TEST(of.text().size() <= lh::max_schedule_bytes);
}

BOOST_AUTO_TEST_CASE(wrong_lines_are_refused_by_field)
{
    for (const char* each : {"", "*", "0 3 * *", "0 3 * * * *", "@daily"}) BOOST_TEST(refused_for(each, "must have five fields"));
    for (const std::string each :
         {"60", "-1", "a", "1,", ",1", "1-0", "1-", "*/0", "*/60", "*/", "*,1", "1,*", "1/0", "1.5", "0001", "*5", "1--2", "1/2/3"})
        BOOST_TEST(refused_for(each + " * * * *", "wrong minute: allowed are 0 to 59"));
    for (const char* each : {"0 24 * * *", "0 1-24 * * *", "0 3h * * *"}) BOOST_TEST(refused_for(each, "wrong hour: allowed are 0 to 23"));
    for (const char* each : {"0 0 0 * *", "0 0 32 * *", "0 0 L * *"})
        BOOST_TEST(refused_for(each, "wrong day of the month: allowed are 1 to 31"));
    for (const char* each : {"0 0 * 0 *", "0 0 * 13 *", "0 0 * JANUARY *", "0 0 * MON *"})
        BOOST_TEST(refused_for(each, "wrong month: allowed are 1 to 12 or JAN to DEC"));
    for (const char* each : {"0 0 * * 8", "0 0 * * SU", "0 0 * * MON#1", "0 0 * * FRI-MON"})
        BOOST_TEST(refused_for(each, "wrong day of the week: allowed are 0 to 7"));
}

BOOST_AUTO_TEST_CASE(lines_that_never_fire_are_refused)
{
    for (const char* each : {"0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30-31 FEB */2"}) BOOST_TEST(refused_for(each, "never fires"));
    BOOST_TEST(refusal("0 0 30 2 MON") == "none");
}

BOOST_AUTO_TEST_CASE(no_fire_follows_the_end_of_time)
{
    BOOST_TEST((lh::cron{"* * * * *"}.next(lh::no_fire) == lh::no_fire));
    BOOST_TEST((lh::cron{"* * * * *"}.next(lh::no_fire - 1h) == lh::no_fire));
    BOOST_TEST((lh::cron{"* * * * *"}.next(lh::fire_time::min() + 24h) > lh::fire_time::min()));
}

BOOST_AUTO_TEST_CASE(known_lines_agree_with_a_look_at_each_minute)
{
    for (const char* each : {"* * * * *", "0 3 * * *", "*/7 */5 */3 */2 */2", "59 23 31 12 *", "0 0 29 2 *", "0-10/3,50 0,12 1,15 * 1,7",
                             "5/15 8-18 * 1-6/2 1-5", "0 0 */31 * 0", "0 0 31 * 3"})
        agrees_with_the_oracle(each, at(2027, 11, 1), 500 * 24h);
}

BOOST_AUTO_TEST_CASE(random_lines_agree_with_a_look_at_each_minute)
{
    std::mt19937 random{20261125};
    for (int i = 0; i < 30; ++i) {
        const std::string line = random_field(random, 0, 59) + " " + random_field(random, 0, 23) + " " + random_field(random, 1, 28) + " " +
                                 random_field(random, 1, 12) + " " + random_field(random, 0, 7);
        agrees_with_the_oracle(line, at(2028, 1, 1) + i * 24h, 70 * 24h);
    }
}

BOOST_AUTO_TEST_SUITE_END()
