// SPDX-License-Identifier: BSL-1.0
#include <checkup.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace tool;

namespace {

constexpr trial well{.held = true,
                     .shown = true,
                     .excludes = true,
                     .renewed = true,
                     .still_excludes = true,
                     .released = true,
                     .handed_over = true,
                     .token_grew = true,
                     .late_refused = true};

}  // namespace

BOOST_AUTO_TEST_SUITE(checkup_test)

BOOST_AUTO_TEST_CASE(lease_that_was_kept_is_one_good_finding)
{
    const auto says = judge(well);
    BOOST_TEST_REQUIRE(says.size() == 1U);
    BOOST_TEST((says.front().how == finding::kind::good));
}

BOOST_AUTO_TEST_CASE(each_step_that_went_wrong_is_a_warning_of_its_own)
{
    std::vector<std::string> texts;
    for (bool trial::*step : {&trial::held, &trial::shown, &trial::excludes, &trial::renewed, &trial::still_excludes,
                              &trial::released, &trial::handed_over, &trial::token_grew, &trial::late_refused}) {
        trial tried = well;
        tried.*step = false;
        const auto says = judge(tried);
        BOOST_TEST_REQUIRE(says.size() == 2U);  // and what may be the cause
        for (const finding& each : says) BOOST_TEST((each.how == finding::kind::warning));
        for (const std::string& before : texts) BOOST_TEST(before != says.front().text);
        texts.push_back(says.front().text);
    }
    BOOST_TEST(judge(trial{}).size() == texts.size() + 1);
}

// Leases are as good without them, and doctor's status is a readiness.
BOOST_AUTO_TEST_CASE(database_whose_session_locks_are_refused_is_well)
{
    checkup found;
    found.facts.database = "PostgreSQL";
    const auto on_waiting = [&] {
        for (const finding& each : judge(found))
            if (each.text.find("poll") != std::string::npos) return each;
        return finding{finding::kind::warning, ""};
    };
    BOOST_TEST((on_waiting().how == finding::kind::note), on_waiting().text);
    found.one_call_at_a_time = true;
    BOOST_TEST((on_waiting().how == finding::kind::note));
    BOOST_TEST(on_waiting().text.find("Threading = 3") != std::string::npos, on_waiting().text);
}

BOOST_AUTO_TEST_SUITE_END()
