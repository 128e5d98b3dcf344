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

BOOST_AUTO_TEST_CASE(replication_that_can_lose_a_grant_is_a_warning)
{
    const auto warnings = [](const std::string& commit, const std::string& names, const std::string& standbys) {
        checkup found;
        found.facts.database = "PostgreSQL";
        found.settings = {{"synchronous_commit", commit}, {"synchronous_standby_names", names}, {"standbys", standbys}};
        std::string texts;
        for (const finding& each : judge(found))
            if (each.how == finding::kind::warning) texts += each.text + "; ";
        return texts;
    };
    BOOST_TEST(warnings("on", "", "0") == "");
    BOOST_TEST(warnings("local", "", "0") == "");  // there is no standby to wait for
    BOOST_TEST(warnings("on", "standby", "1") == "");
    BOOST_TEST(warnings("remote_apply", "standby", "1") == "");
    for (const char* commit : {"off", "local"})
        BOOST_TEST(warnings(commit, "standby", "1").starts_with("synchronous_commit is " + std::string{commit}));
    BOOST_TEST(warnings("on", "", "2").starts_with("standbys follow this server (2), but none is synchronous"));
}

BOOST_AUTO_TEST_SUITE_END()
