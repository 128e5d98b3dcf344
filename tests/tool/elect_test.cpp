// SPDX-License-Identifier: BSL-1.0
// `leasehold elect`: the real program, on SQLite.
#include <contract/odbc_connection.hpp>
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <sstream>
#include <string>
#include <thread>

using namespace leasehold_test;

namespace {

// Writes down when it begins, ends, and who it is; two at once would show as two begins in a row.
std::string leader(const std::string& log)
{
    return "echo begin >> " + log + "; trap 'echo end >> " + log +
           "; exit 0' TERM INT; echo $$; while :; do sleep 0.02; done";
}

std::size_t count(const std::string& text, const std::string& what)
{
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_elect)

BOOST_FIXTURE_TEST_CASE(the_next_takes_over_from_one_that_is_asked_to_end, tool_fixture)
{
    const std::vector<std::string> candidate{"elect", "job", "--", "sh", "-c", leader(path("log"))};
    auto first = start(candidate);
    BOOST_REQUIRE(first.read_line());
    auto second = start(candidate);
    first.signal(SIGTERM);
    BOOST_TEST(first.wait().success());
    BOOST_REQUIRE(second.read_line());
    BOOST_TEST(file("log") == "begin\nend\nbegin\n");
    second.signal(SIGINT);
    BOOST_TEST(second.wait().code == 128 + SIGINT);
    BOOST_TEST(file("log") == "begin\nend\nbegin\nend\n");
}

BOOST_FIXTURE_TEST_CASE(the_next_takes_over_from_one_that_is_killed_and_its_command_is_gone_by_then, tool_fixture)
{
    auto first =
        start({"elect", "job", "--ttl", "6s", "--", "sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.05; done"});
    const pid_t child = std::stoi(first.read_line().value_or("-1"));
    auto second = start({"elect", "job", "--", "sh", "-c",
                         "kill -0 " + std::to_string(child) + " 2>/dev/null && echo overlap || echo alone; exec sleep 60"});
    first.kill();
    BOOST_TEST(second.read_line(60s).value_or("") == "alone");
    second.signal(SIGTERM);
    BOOST_TEST(second.wait().success());
}

#if defined(__linux__)
BOOST_FIXTURE_TEST_CASE(leader_for_whose_command_there_was_no_descriptor_stands_again, tool_fixture)
{
    auto holder = start({"run", "job", "--", "sh", "-c", "echo on; exec sleep 60"});
    BOOST_REQUIRE(holder.read_line());
    auto candidate = start({"elect", "job", "--pause", "100ms", "--verbose", "--", "sh", "-c", "echo leads; exec sleep 60"});
    BOOST_REQUIRE_MESSAGE(file_gets("errors", "'job' is held by "), errors());  // so that it has started its keeper
    BOOST_REQUIRE(process_tree(candidate.pid()).size() == 2U);
    limited_descriptors none{process_tree(candidate.pid())[1], 0};
    holder.signal(SIGTERM);
    BOOST_REQUIRE_MESSAGE(file_gets("errors", "can't run sh: "), errors());
    none.lift();
    BOOST_TEST(candidate.read_line(60s).value_or("") == "leads");
    candidate.signal(SIGTERM);
    BOOST_TEST(candidate.wait().success());
}
#endif

BOOST_FIXTURE_TEST_CASE(the_next_has_its_turn_when_a_command_ends_of_its_own_accord, tool_fixture)
{
    const auto candidate = [this](const std::string& who) {
        return std::vector<std::string>{
            "elect", "job", "--pause", "300ms",
            "--",    "sh",  "-c",      "echo " + who + " >> " + path("turns") + "; sleep 0.1; exit 3"};
    };
    auto a = start(candidate("a"));
    auto b = start(candidate("b"));
    BOOST_TEST(eventually([&] {
        const std::string turns = file("turns");
        return count(turns, "a") >= 2 && count(turns, "b") >= 2;
    }, 60s));
    a.signal(SIGTERM);
    b.signal(SIGTERM);
    a.wait();
    b.wait();
    BOOST_TEST(errors().find("leasehold: the command has ended with status 3; 'job' is free for the next host\n") !=
               std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(others_have_the_pause_for_their_turn_which_grows_for_a_command_that_ends_at_once, tool_fixture)
{
    auto tool = start({"elect", "job", "--pause", "200ms", "--", "sh", "-c", "date +%s%N >> " + path("begun")});
    BOOST_REQUIRE(eventually([&] { return count(file("begun"), "\n") >= 3; }, 60s));
    tool.signal(SIGTERM);
    tool.wait();
    std::istringstream begun{file("begun")};
    long long first = 0, second = 0, third = 0;
    begun >> first >> second >> third;
    BOOST_TEST(second - first >= 200'000'000);
    BOOST_TEST(third - second >= 400'000'000);
}

BOOST_FIXTURE_TEST_CASE(a_restart_on_failure_goes_on_until_the_command_succeeds, tool_fixture)
{
    const auto result = run({"elect", "job", "--restart", "on-failure", "--pause", "10ms", "--", "sh", "-c",
                             "echo x >> " + path("tries") + "; test $(grep -c x " + path("tries") + ") -ge 3"});
    BOOST_TEST(result.status.success());
    BOOST_TEST(count(file("tries"), "x") == 3U);
}

BOOST_FIXTURE_TEST_CASE(without_restart_it_ends_with_the_command_s_status, tool_fixture)
{
    BOOST_TEST(run({"elect", "job", "--restart", "never", "--", "sh", "-c", "exit 5"}).status.code == 5);
    BOOST_TEST(!held("job"));
}

BOOST_FIXTURE_TEST_CASE(an_outage_is_told_with_what_the_database_says_and_what_to_do, tool_fixture)
{
    auto tool = start({"elect", "job", "--table", "nowhere", "--", "true"});
    const auto told = [this](const std::string& words) { return eventually([&] { return errors().find(words) != std::string::npos; }); };
    BOOST_TEST(told("create it with 'leasehold init'"), errors());
    BOOST_TEST(told("[SQLSTATE "), errors());
    BOOST_TEST(told("; leasehold will try again\n"), errors());
    tool.signal(SIGTERM);
    BOOST_TEST(tool.wait().success());
}

BOOST_FIXTURE_TEST_CASE(a_leader_that_loses_the_lease_ends_its_command_and_stands_again, tool_fixture)
{
    auto tool = start({"elect", "job", "--ttl", "4s", "--", "sh", "-c", leader(path("log"))});
    BOOST_REQUIRE(tool.read_line());
    BOOST_TEST(run({"release", "job", "--force"}).status.success());
    BOOST_TEST(tool.read_line(60s).has_value());
    BOOST_TEST(file("log") == "begin\nend\nbegin\n");
    tool.signal(SIGTERM);
    BOOST_TEST(tool.wait().success());
}

BOOST_FIXTURE_TEST_CASE(a_candidate_that_cannot_read_the_checkpoint_pauses_for_longer_each_time, tool_fixture)
{
    auto tool = start({"elect", "job", "--verbose", "--pause", "200ms", "--", "sh", "-c", "echo ran >> " + path("runs")});
    BOOST_REQUIRE(file_gets("runs", "ran"));
    odbc_connection operations{sqlite_connection_string(path("leases.db"))};
    operations.execute("alter table leasehold drop column checkpoint");
    BOOST_REQUIRE(eventually([this] { return count(errors(), "; leasehold will try again\n") >= 2; }));
    const std::size_t before = count(errors(), "; leasehold will try again\n");
    std::this_thread::sleep_for(1s);
    BOOST_TEST(count(errors(), "; leasehold will try again\n") <= before + 4, errors());
    operations.execute("alter table leasehold add column checkpoint text");
    const std::size_t ran = count(file("runs"), "ran");
    BOOST_TEST(eventually([&] { return count(file("runs"), "ran") > ran; }), "and goes on when it can");
    tool.signal(SIGTERM);
    BOOST_TEST(tool.wait().success());
}

BOOST_FIXTURE_TEST_CASE(hangup_is_for_the_command_and_no_end_for_those_who_wait, tool_fixture)
{
    auto leads = start({"elect", "job", "--", "sh", "-c",
                        "trap 'echo again' HUP; trap 'exit 0' TERM; echo on; while :; do sleep 0.02; done"});
    BOOST_REQUIRE(leads.read_line().value_or("") == "on");
    auto follows = start({"elect", "job", "--verbose", "--", "echo", "led"});
    BOOST_REQUIRE(file_gets("errors", "'job' is held by"));
    follows.signal(SIGHUP);
    leads.signal(SIGHUP);
    BOOST_TEST(leads.read_line().value_or("") == "again");
    leads.signal(SIGTERM);
    BOOST_TEST(leads.wait().success());
    BOOST_TEST(follows.read_line().value_or("") == "led");
    follows.signal(SIGTERM);
    BOOST_TEST(follows.wait().success());
}

BOOST_FIXTURE_TEST_CASE(a_command_that_can_t_be_run_ends_it, tool_fixture)
{
    BOOST_TEST(run_words("elect job -- no-such-command").status.code == 127);
    BOOST_TEST(run_words("elect job -- /etc/passwd").status.code == 126);
}

BOOST_AUTO_TEST_SUITE_END()
