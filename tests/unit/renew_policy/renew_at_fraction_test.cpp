// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renew_policy/renew_at_fraction.hpp>

#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

BOOST_AUTO_TEST_SUITE(renew_at_fraction_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

constexpr lh::duration ttl = 60s;

lh::duration due(const lh::renew_at_fraction& policy, unsigned attempt, lh::duration granted = 0s)
{
    return policy.next({.granted = granted, .ttl = ttl, .attempt = attempt}).value();
}

}  // namespace

BOOST_AUTO_TEST_CASE(default_is_a_third) { BOOST_TEST(due(lh::renew_at_fraction{}, 0) == ttl / 3); }

BOOST_AUTO_TEST_CASE(any_proper_fraction_is_taken)
{
    BOOST_TEST(due(lh::renew_at_fraction{1, 2}, 0) == ttl / 2);
    BOOST_TEST(due(lh::renew_at_fraction{2, 3}, 0) == 40s);
    BOOST_TEST(due(lh::renew_at_fraction{1, 1000}, 0) == 60ms);
    BOOST_TEST(due(lh::renew_at_fraction{999, 1000}, 0) == 59'940ms);
}

BOOST_AUTO_TEST_CASE(improper_fractions_are_refused)
{
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    for (const auto& [num, den] : {std::pair<std::int64_t, std::int64_t>{0, 3},
                                   {-1, 3},
                                   {1, 1},
                                   {2, 1},
                                   {1, 0},
                                   {1, -3},
                                   {-1, -3},
                                   {1, 1001},
                                   {least, least},
                                   {most, most}}) {
        BOOST_TEST_CONTEXT(num << '/' << den)
        {
            BOOST_CHECK_EXCEPTION((lh::renew_at_fraction{num, den}), std::system_error,
                                  [](const std::system_error& e) { return e.code() == lh::errc::invalid_terms; });
        }
    }
}

BOOST_AUTO_TEST_CASE(age_of_the_term_does_not_matter) { BOOST_TEST(due(lh::renew_at_fraction{}, 0, 24h * 3650) == ttl / 3); }

BOOST_AUTO_TEST_CASE(pauses_after_failures_double_up_to_a_twelfth_and_are_cut_by_at_most_a_half)
{
    const lh::renew_at_fraction policy;
    lh::duration full = ttl / 60;
    for (unsigned attempt = 1; attempt <= 12; ++attempt) {
        const lh::duration pause = due(policy, attempt) - due(policy, attempt - 1);
        BOOST_TEST(pause <= full);
        BOOST_TEST(pause > full / 2 - 1us);
        full = std::min(2 * full, ttl / 12);
    }
}

BOOST_AUTO_TEST_CASE(holders_of_different_age_do_not_come_back_together)
{
    std::set<lh::duration> pauses;
    for (int i = 0; i < 100; ++i) pauses.insert(due(lh::renew_at_fraction{}, 1, std::chrono::microseconds{i}));
    BOOST_TEST(pauses.size() > 80U);
}

BOOST_AUTO_TEST_CASE(same_state_gives_the_same_answer)
{
    for (unsigned attempt = 0; attempt < 8; ++attempt)
        BOOST_TEST(due(lh::renew_at_fraction{}, attempt, 12'345ms) == due(lh::renew_at_fraction{}, attempt, 12'345ms));
}

BOOST_AUTO_TEST_CASE(default_tries_eight_times_before_the_deadline)
{
    for (int age = 0; age < 1000; ++age)
        BOOST_TEST_REQUIRE(due(lh::renew_at_fraction{}, 7, std::chrono::milliseconds{age}) < ttl - ttl / 10);
}

BOOST_AUTO_TEST_CASE(extremes_do_not_overflow)
{
    constexpr lh::duration ten_years = 24h * 3650;
    const lh::renew_at_fraction late{999, 1000};
    for (const lh::duration granted : {lh::duration{0}, ten_years, lh::duration::max()}) {
        const auto next = late.next({.granted = granted, .ttl = ten_years, .attempt = std::numeric_limits<unsigned>::max()});
        BOOST_TEST(next.value() > ten_years);
    }
    BOOST_TEST(late.next({.granted = {}, .ttl = 1ms, .attempt = std::numeric_limits<unsigned>::max()}).value() > 1ms);
}

BOOST_AUTO_TEST_SUITE_END()
