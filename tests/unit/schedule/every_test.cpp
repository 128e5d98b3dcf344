// SPDX-License-Identifier: BSL-1.0
#include <leasehold/schedule/every.hpp>

#include <leasehold/schedule/concept.hpp>
#include <leasehold/schedule/cron.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <random>
#include <string_view>

BOOST_AUTO_TEST_SUITE(every_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
namespace chrono = std::chrono;

namespace {

constexpr lh::fire_time day(int n) { return lh::fire_time{n * 24h}; }

// A user's own: 03:00 of a zone that is an hour ahead in summer, told in UTC. It has neither text nor rules.
struct at_three_in_zone {
    lh::fire_time next(lh::fire_time after) const noexcept
    {
        for (auto date = chrono::floor<chrono::days>(after);; date += chrono::days{1}) {
            const auto month = chrono::year_month_day{date}.month();
            const bool summer = month > chrono::March && month < chrono::November;
            if (const lh::fire_time at = date + (summer ? 2h : 3h); at > after) return at;
        }
    }
};

struct of_seconds {
    chrono::sys_seconds next(lh::fire_time after) const noexcept { return chrono::floor<chrono::seconds>(after) + 1s; }
};

struct that_fires_once {
    lh::fire_time at;
    lh::fire_time next(lh::fire_time after) const noexcept { return after < at ? at : lh::no_fire; }
};

// Against the rules.
struct that_stands_still {
    lh::fire_time next(lh::fire_time after) const noexcept { return after; }
};

struct without_next {};
struct that_returns_a_number {
    int next(lh::fire_time) const { return 3; }
};

static_assert(lh::schedule<lh::every> && lh::schedule<at_three_in_zone> && lh::schedule<of_seconds>);
static_assert(!lh::schedule<without_next> && !lh::schedule<that_returns_a_number>);
static_assert(lh::checked_schedule(lh::every{.period = 24h, .at = 3h}).next(day(3)) == day(3) + 3h);

bool says(const lh::every& of, std::string_view rule)
{
    const char* const broken = of.broken_rule();
    return broken != nullptr && std::string_view{broken}.find(rule) != std::string_view::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(fires_at_the_multiples_of_the_period_and_at_later)
{
    constexpr lh::every of{.period = 24h, .at = 3h};
    BOOST_TEST((of.next(day(7)) == day(7) + 3h));
    BOOST_TEST((of.next(day(7) + 3h - 1ns) == day(7) + 3h));
    BOOST_TEST((of.next(day(7) + 3h) == day(8) + 3h));
    BOOST_TEST((of.next(day(7) + 23h) == day(8) + 3h));
    BOOST_TEST((of.next(day(-7) + 4h) == day(-6) + 3h));
    BOOST_TEST((of.next(day(-7) + 2h) == day(-7) + 3h));
    BOOST_TEST((lh::every{.period = 50ms}.next(day(1)) == day(1) + 50ms));
}

BOOST_AUTO_TEST_CASE(no_fire_follows_the_end_of_time)
{
    constexpr lh::every of{.period = 24h};
    BOOST_TEST((of.next(lh::no_fire) == lh::no_fire));
    BOOST_TEST((of.next(lh::no_fire - 1h) == lh::no_fire));
    BOOST_TEST((of.next(lh::fire_time::min()) > lh::fire_time::min()));
    BOOST_TEST((lh::every{.period = 24h * 3650}.next(lh::no_fire - 24h * 3651) < lh::no_fire));
}

BOOST_AUTO_TEST_CASE(each_rule_has_a_message)
{
    BOOST_TEST(says({.period = 0s}, "a period of 0"));
    BOOST_TEST(says({.period = -1s}, "at least 1 ms"));
    BOOST_TEST(says({.period = 999us}, "at least 1 ms"));
    BOOST_TEST(says({.period = 24h * 3650 + 1ns}, "at most 10 years"));
    BOOST_TEST(says({.period = 24h, .at = -1ns}, "at must not be negative"));
    BOOST_TEST(says({.period = 24h, .at = 24h}, "at must be shorter than period"));
    BOOST_TEST((lh::every{.period = 24h, .at = 24h - 1ns}.broken_rule() == nullptr));
    BOOST_TEST((lh::every{.period = 1ms}.broken_rule() == nullptr));
    BOOST_TEST((lh::every{.period = 24h * 3650}.broken_rule() == nullptr));
    BOOST_TEST((lh::every{.period = 0s}.next(day(1)) == lh::no_fire));
}

BOOST_AUTO_TEST_CASE(text_says_period_and_offset)
{
    BOOST_TEST((lh::every{.period = 24h, .at = 3h}.text() == "every 1d at 3h"));
    BOOST_TEST((lh::every{.period = 90min}.text() == "every 1h 30min"));
    BOOST_TEST((lh::every{.period = 50ms, .at = 1ns}.text() == "every 50ms at 1ns"));
    BOOST_TEST((lh::every{.period = 0s}.text() == "every 0s"), "also of one that is refused");
}

BOOST_AUTO_TEST_CASE(last_fire_is_found_from_next_alone)
{
    BOOST_TEST((lh::detail::last_fire(lh::every{.period = 24h, .at = 3h}, day(9) + 3h).value() == day(9) + 3h));
    BOOST_TEST((lh::detail::last_fire(lh::every{.period = 24h, .at = 3h}, day(9) + 3h - 1ns).value() == day(8) + 3h));
    BOOST_TEST((lh::detail::last_fire(lh::cron{"0 0 29 2 *"}, chrono::sys_days{chrono::year{2103} / 6 / 1}).value() ==
                chrono::sys_days{chrono::year{2096} / 2 / 29}));
    BOOST_TEST((lh::detail::last_fire(lh::every{.period = 0s}, day(9)) == std::nullopt));
    BOOST_TEST((lh::detail::last_fire_after(lh::every{.period = 50ms}, day(9) + 1ms, day(1)) == day(9)));
    BOOST_TEST((lh::detail::last_fire_after(lh::every{.period = 24h}, day(9), day(9)) == day(9)));
}

BOOST_AUTO_TEST_CASE(last_fire_is_looked_for_in_a_hundred_years)
{
    const auto found = [](lh::fire_time fire, lh::fire_time now) { return lh::detail::last_fire(that_fires_once{fire}, now) == fire; };
    constexpr int year = 365;
    BOOST_TEST(found(day(9), day(9)));
    BOOST_TEST(found(day(-95 * year), day(0)));
    BOOST_TEST(!found(day(-101 * year), day(0)));
    BOOST_TEST(!found(day(-150 * year), day(0)));
    BOOST_TEST(!found(day(10), day(9)));
}

BOOST_AUTO_TEST_CASE(schedule_that_stands_still_ends_the_search)
{
    BOOST_TEST((lh::detail::last_fire_after(that_stands_still{}, day(9), day(1)) == day(1)));
}

BOOST_AUTO_TEST_CASE(last_fire_is_the_last_of_all_fires_that_follow_each_other)
{
    std::mt19937 random{7};
    const lh::cron of{"*/20 3,4 * * MON-WED"};
    const auto begin = day(20'000);
    for (int i = 0; i < 500; ++i) {
        const auto now = begin + 1s * std::uniform_int_distribution<int>{0, 86'400 * 30}(random);
        lh::fire_time expected = begin;
        for (lh::fire_time each = of.next(begin); each <= now; each = of.next(each)) expected = each;
        BOOST_TEST((lh::detail::last_fire_after(of, now, begin) == expected));
    }
}

BOOST_AUTO_TEST_CASE(own_schedule_needs_only_next)
{
    const at_three_in_zone of;
    const lh::fire_time june = chrono::sys_days{chrono::year{2026} / 6 / 1};
    BOOST_TEST((of.next(june) == june + 2h));
    BOOST_TEST((lh::detail::last_fire(of, june + 1h).value() == june - 22h));
    BOOST_TEST((lh::detail::last_fire(of_seconds{}, june + 1ms).value() == june));
}

BOOST_AUTO_TEST_SUITE_END()
