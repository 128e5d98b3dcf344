// SPDX-License-Identifier: BSL-1.0
#include <failure.hpp>
#include <support/printing.hpp>
#include <terms_choice.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <random>
#include <string>

using namespace tool;
using namespace std::chrono_literals;

namespace {

std::string refusal_of(const asked_terms& asked)
{
    try {
        static_cast<void>(choose_terms(asked));
        return {};
    } catch (const failure& why) {
        return why.what();
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_terms)

BOOST_AUTO_TEST_CASE(by_default_leave_five_seconds_to_end)
{
    const chosen_terms chosen = choose_terms({});
    BOOST_TEST(chosen.lease.ttl == 30s);
    BOOST_TEST(chosen.kill_after == 5s);
    BOOST_TEST(chosen.lease.margin() == 6s);
    BOOST_TEST(chosen.call_timeout == 5s);
}

BOOST_AUTO_TEST_CASE(that_are_short_leave_less)
{
    const chosen_terms chosen = choose_terms({.ttl = 3s});
    BOOST_TEST(chosen.kill_after == 500ms);
    BOOST_TEST(chosen.lease.margin() == 600ms);
    BOOST_TEST(chosen.call_timeout == 750ms);
}

BOOST_AUTO_TEST_CASE(keep_to_what_was_asked_for)
{
    const chosen_terms chosen = choose_terms({.ttl = 1min, .margin = 20s, .kill_after = 15s, .min_hold = 5min});
    BOOST_TEST(chosen.lease.margin() == 20s);
    BOOST_TEST(chosen.kill_after == 15s);
    BOOST_TEST(chosen.lease.min_hold == 5min);
    BOOST_TEST(choose_terms({.margin = 2s}).kill_after == 2s);
}

BOOST_AUTO_TEST_CASE(that_can_t_work_are_refused_with_what_can)
{
    BOOST_TEST(refusal_of({.ttl = 500ms}) == "--ttl must be at least 1s");
    BOOST_TEST(refusal_of({.margin = 1s, .kill_after = 2s}).find("--margin 1s is shorter than --kill-after 2s") == 0U);
    BOOST_TEST(refusal_of({.kill_after = 20s}).find("use --ttl 48s or longer") != std::string::npos);
    BOOST_TEST(refusal_of({.ttl = 48s, .kill_after = 20s}) == "");
    BOOST_TEST(refusal_of({.margin = 16s}).find("--margin 16s leaves too little of --ttl 30s") == 0U);
}

BOOST_AUTO_TEST_CASE(whatever_is_asked_for_the_margin_covers_the_killing_and_half_the_ttl_is_for_renewals)
{
    constexpr unsigned seed = 20251121;
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937 random{seed};
    std::uniform_int_distribution<int> milliseconds{0, 60000}, coin{0, 1};
    int accepted = 0;
    for (int i = 0; i < 10000; ++i) {
        asked_terms asked{.ttl = std::chrono::milliseconds{milliseconds(random)}};
        if (coin(random)) asked.margin = std::chrono::milliseconds{milliseconds(random) / 4};
        if (coin(random)) asked.kill_after = std::chrono::milliseconds{milliseconds(random) / 4};
        if (!refusal_of(asked).empty()) continue;
        ++accepted;
        const chosen_terms chosen = choose_terms(asked);
        BOOST_REQUIRE(chosen.lease.margin() >= chosen.kill_after);
        BOOST_REQUIRE(chosen.lease.margin() * 2 <= chosen.lease.ttl);
        BOOST_REQUIRE(chosen.lease.valid());
        BOOST_REQUIRE(!asked.margin || chosen.lease.margin() == *asked.margin);
        BOOST_REQUIRE(!asked.kill_after || chosen.kill_after == *asked.kill_after);
    }
    BOOST_TEST(accepted > 1000);
}

BOOST_AUTO_TEST_SUITE_END()
