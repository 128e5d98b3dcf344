// SPDX-License-Identifier: BSL-1.0
#include <support/printing.hpp>

#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/waiting/deadline.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <string>
#include <variant>

BOOST_AUTO_TEST_SUITE(deadline_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using lh::waiting::deadline_after;
using lh::waiting::deadline_at;

namespace {

// What becomes of a time-out: one attempt and no wait, a wait for ever, or a wait of so long.
struct one_attempt {};
struct for_ever {};
using expectation = std::variant<one_attempt, for_ever, lh::duration>;

lh::time_point expected_at(lh::time_point now, const expectation& wanted)
{
    if (std::holds_alternative<one_attempt>(wanted)) return now;
    if (std::holds_alternative<for_ever>(wanted)) return lh::time_point::max();
    return now + std::get<lh::duration>(wanted);
}

template <class Rep, class Period>
void check_after(const char* what, std::chrono::duration<Rep, Period> at_most, const expectation& wanted)
{
    const lh::manual_clock clock;
    const lh::time_point got = deadline_after(clock, at_most);
    BOOST_TEST((got == expected_at(clock.now(), wanted)), what << ": " << (got - clock.now()).count() << " ns from now");
}

// A std clock that stands still, at the instant a test chooses.
template <class Duration>
struct stopped_clock {
    using rep = typename Duration::rep;
    using period = typename Duration::period;
    using duration = Duration;
    using time_point = std::chrono::time_point<stopped_clock>;
    static constexpr bool is_steady = true;

    static inline time_point at{};
    static time_point now() noexcept { return at; }
};

template <class Clk, class Dur>
void check_at(const char* what, std::chrono::time_point<Clk, Dur> until, const expectation& wanted)
{
    const lh::manual_clock clock;
    const lh::time_point got = deadline_at(clock, until);
    BOOST_TEST((got == expected_at(clock.now(), wanted)), what << ": " << (got - clock.now()).count() << " ns from now");
}

// The instants that a program gets wrong, of any clock.
template <class Clk>
void check_extremes_of(const char* clock)
{
    using instant = typename Clk::time_point;
    const std::string of{clock};
    check_at((of + "::min()").c_str(), instant::min(), one_attempt{});
    check_at((of + "::min() + 1").c_str(), instant{instant::min().time_since_epoch() + typename Clk::duration{1}}, one_attempt{});
    check_at((of + "::max()").c_str(), instant::max(), for_ever{});
    check_at((of + " now").c_str(), Clk::now(), one_attempt{});
    check_at((of + " a second ago").c_str(), Clk::now() - 1s, one_attempt{});
    using hours_of = std::chrono::time_point<Clk, std::chrono::hours>;
    check_at((of + ", hours::min()").c_str(), hours_of{std::chrono::hours::min()}, one_attempt{});
    check_at((of + ", hours::max()").c_str(), hours_of{std::chrono::hours::max()}, for_ever{});
    using floating = std::chrono::time_point<Clk, std::chrono::duration<double>>;
    const auto seconds = [](double value) { return floating{std::chrono::duration<double>{value}}; };
    check_at((of + ", NaN").c_str(), seconds(std::numeric_limits<double>::quiet_NaN()), one_attempt{});
    check_at((of + ", infinity").c_str(), seconds(std::numeric_limits<double>::infinity()), for_ever{});
    check_at((of + ", -infinity").c_str(), seconds(-std::numeric_limits<double>::infinity()), one_attempt{});
    check_at((of + ", 1e300").c_str(), seconds(1e300), for_ever{});
    check_at((of + ", -1e300").c_str(), seconds(-1e300), one_attempt{});
}

using microfortnights = std::chrono::duration<std::int64_t, std::ratio<1'209'600, 1'000'000>>;
using thirds = std::chrono::duration<std::int64_t, std::ratio<1, 3>>;
using picoseconds = std::chrono::duration<std::int64_t, std::pico>;

}  // namespace

BOOST_AUTO_TEST_CASE(durations_of_any_unit_are_counted_from_now_and_rounded_up)
{
    check_after("5 s", 5s, 5s);
    check_after("1 ns", 1ns, 1ns);
    check_after("123456789 ns", 123'456'789ns, 123'456'789ns);
    check_after("0.5 s", std::chrono::duration<double>{0.5}, 500ms);
    check_after("0.5f min", std::chrono::duration<float, std::ratio<60>>{0.5F}, 30s);
    check_after("1 ps", picoseconds{1}, 1ns);
    check_after("1001 ps", picoseconds{1001}, 2ns);
    check_after("10 microfortnights", microfortnights{10}, 12'096ms);
    check_after("3 thirds of a second", thirds{3}, 1s);
    check_after("1 third of a second", thirds{1}, 333'333'334ns);
    check_after("unsigned bytes", std::chrono::duration<std::uint8_t>{200}, 200s);
    check_after("99 years", std::chrono::years{99}, std::chrono::years{99});
}

BOOST_AUTO_TEST_CASE(time_out_that_is_not_positive_is_one_attempt)
{
    check_after("0 s", 0s, one_attempt{});
    check_after("-1 ns", -1ns, one_attempt{});
    check_after("-5 s", -5s, one_attempt{});
    check_after("duration::min()", lh::duration::min(), one_attempt{});
    check_after("hours::min()", std::chrono::hours::min(), one_attempt{});
    check_after("picoseconds::min()", picoseconds::min(), one_attempt{});
    check_after("thirds::min()", thirds::min(), one_attempt{});
    check_after("NaN", std::chrono::duration<double>{std::numeric_limits<double>::quiet_NaN()}, one_attempt{});
    check_after("NaN hours", std::chrono::duration<float, std::ratio<3600>>{std::numeric_limits<float>::quiet_NaN()}, one_attempt{});
    check_after("-infinity", std::chrono::duration<double>{-std::numeric_limits<double>::infinity()}, one_attempt{});
    check_after("-1e300 s", std::chrono::duration<double>{-1e300}, one_attempt{});
}

BOOST_AUTO_TEST_CASE(time_out_too_long_to_count_is_for_ever)
{
    check_after("hours::max()", std::chrono::hours::max(), for_ever{});
    check_after("seconds::max()", std::chrono::seconds::max(), for_ever{});
    check_after("duration::max()", lh::duration::max(), for_ever{});
    check_after("microfortnights::max()", microfortnights::max(), for_ever{});
    check_after("thirds::max()", thirds::max(), for_ever{});
    check_after("a hundred years in thirds of a second", thirds{9'500'000'000}, for_ever{});
    check_after("unsigned maximum", std::chrono::duration<std::uint64_t>{std::numeric_limits<std::uint64_t>::max()}, for_ever{});
    check_after("1e300 s", std::chrono::duration<double>{1e300}, for_ever{});
    check_after("infinity", std::chrono::duration<double>{std::numeric_limits<double>::infinity()}, for_ever{});
}

BOOST_AUTO_TEST_CASE(endless_time_outs_begin_at_their_bound)
{
    check_after("a hundred years", lh::waiting::longest_wait, for_ever{});
    check_after("a hundred years less 1 ns", lh::waiting::longest_wait - 1ns, lh::waiting::longest_wait - 1ns);
    using lh::waiting::saturated;
    BOOST_TEST((saturated(9'200'000'000s) == lh::duration::max()));
    BOOST_TEST((saturated(9'199'999'999s) == 9'199'999'999s));
    BOOST_TEST((saturated(-9'200'000'000s) == lh::duration::min()));
    BOOST_TEST((saturated(-9'199'999'999s) == -9'199'999'999s));
}

BOOST_AUTO_TEST_CASE(a_sum_beyond_the_lease_clocks_end_is_for_ever)
{
    lh::manual_clock clock;
    for (int centuries = 0; centuries < 2; ++centuries) clock.advance(std::chrono::years{120});
    BOOST_TEST((deadline_after(clock, std::chrono::years{90}) == lh::time_point::max()));
    BOOST_TEST((deadline_after(clock, 1s) == clock.now() + 1s));
}

BOOST_AUTO_TEST_CASE(an_instant_of_the_lease_clock_is_taken_as_it_is)
{
    const lh::manual_clock clock;
    BOOST_TEST((deadline_at(clock, clock.now() + 3s) == clock.now() + 3s));
    BOOST_TEST((deadline_at(clock, lh::time_point::max()) == lh::time_point::max()));
    BOOST_TEST((deadline_at(clock, lh::time_point::min()) <= clock.now()));
    using hours_of = std::chrono::time_point<lh::time_point::clock, std::chrono::hours>;
    BOOST_TEST((deadline_at(clock, hours_of::max()) == lh::time_point::max()));
    BOOST_TEST((deadline_at(clock, hours_of::min()) <= clock.now()));
}

BOOST_AUTO_TEST_CASE(an_instant_of_another_clock_counts_by_its_distance_from_that_clocks_now)
{
    using other = stopped_clock<std::chrono::nanoseconds>;
    for (const lh::duration now : {lh::duration{0}, lh::duration{56 * 365 * 24h}, -lh::duration{148 * 365 * 24h}}) {
        other::at = other::time_point{now};
        check_at("in an hour", other::now() + 1h, 1h);
        check_at("an hour ago", other::now() - 1h, one_attempt{});
        check_at("in 99 years", other::now() + std::chrono::years{99}, std::chrono::years{99});
        check_at("in 101 years", other::now() + std::chrono::years{101}, for_ever{});
    }
}

BOOST_AUTO_TEST_CASE(the_ends_of_every_clock_are_the_past_and_for_ever)
{
    check_extremes_of<std::chrono::system_clock>("system_clock");
    check_extremes_of<std::chrono::steady_clock>("steady_clock");
    check_extremes_of<std::chrono::high_resolution_clock>("high_resolution_clock");
    check_extremes_of<std::chrono::file_clock>("file_clock");  // an epoch in the future
    using coarse = stopped_clock<std::chrono::seconds>;
    coarse::at = coarse::time_point{1'800'000'000s};
    check_extremes_of<coarse>("a clock of seconds");
    using floating = stopped_clock<std::chrono::duration<double>>;
    floating::at = floating::time_point{std::chrono::duration<double>{1.8e9}};
    check_extremes_of<floating>("a clock of floating seconds");
}

BOOST_AUTO_TEST_CASE(calendar_days_far_from_today_are_the_past_and_for_ever)
{
    using namespace std::chrono;
    check_at("sys_days::min()", sys_days::min(), one_attempt{});
    check_at("sys_days::max()", sys_days::max(), for_ever{});
    check_at("year 1600", sys_days{year{1600} / January / 1}, one_attempt{});
    check_at("year 1677", sys_days{year{1677} / September / 21}, one_attempt{});
    check_at("year 1969", sys_days{year{1969} / July / 20}, one_attempt{});
    check_at("year 2262", sys_days{year{2262} / April / 12}, for_ever{});
    check_at("year 9999", sys_days{year{9999} / December / 31}, for_ever{});
    check_at("year 30000", sys_seconds{sys_days{year{30000} / January / 1}}, for_ever{});
}

BOOST_AUTO_TEST_SUITE_END()
