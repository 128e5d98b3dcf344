// SPDX-License-Identifier: BSL-1.0
// How the command of `leasehold run` ends when the lease is lost, or the program is killed or stopped.
#include <tool/run_commands.hpp>
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

using namespace leasehold_test;

BOOST_AUTO_TEST_SUITE(tool_run_ends)

// Between two renewals: the command has ended before the loss was known.
BOOST_FIXTURE_TEST_CASE(a_lease_that_turns_out_to_be_lost_at_the_release_is_76_too, tool_fixture)
{
    auto tool = start({"run", "job", "--", "sh", "-c", "echo on; read line; exit 3"});
    BOOST_REQUIRE(tool.read_line());
    BOOST_TEST(run({"release", "job", "--force"}).status.success());
    tool.write("go\n");
    BOOST_TEST(tool.wait().code == 76);
    BOOST_TEST(errors() == "leasehold: 'job' was taken away or ran out before the command ended with status 3\n");
}

BOOST_FIXTURE_TEST_CASE(a_lease_taken_away_ends_the_command_s_whole_group_with_sigterm_at_the_next_renewal, tool_fixture)
{
    auto tool = start({"run", "job", "--ttl", "12s", "--", "sh", "-c", "sleep 60 & echo $!; echo $$; wait"});
    const pid_t grandchild = process_in(tool.read_line());
    const pid_t child = process_in(tool.read_line());
    BOOST_REQUIRE(alive(grandchild));
    const auto taken = std::chrono::steady_clock::now();
    BOOST_TEST(run({"release", "job", "--force"}).status.success());
    BOOST_TEST(tool.wait().code == 76);
    BOOST_TEST(std::chrono::steady_clock::now() - taken < 9s);  // a renewal is 4 s after the grant, the deadline 9.6 s
    BOOST_TEST(!alive(child));
    BOOST_TEST(!alive(grandchild));
    BOOST_TEST(errors() ==
               "leasehold: the lease 'job' is lost: it ran out or was taken away; the command is asked to end\n");
}

BOOST_FIXTURE_TEST_CASE(a_command_that_runs_for_too_long_is_ended_with_124_under_each_right, tool_fixture)
{
    const std::vector<std::vector<std::string>> rights{{"job"}, {"pool", "--permits", "2"}, {"pool", "--permits", "2", "--take", "2"},
                                                       {"catalog", "--shared"}, {"catalog", "--exclusive"}, {"--all", "a,b"}};
    for (const auto& right : rights) {
        std::vector<std::string> limited = right;
        limited.insert(limited.end(), {"--max-hold", "3s"});
        auto tool = start(run_with(limited, worker));
        const pid_t child = process_in(tool.read_line());
        BOOST_TEST(tool.wait().code == 124, right.front());
        BOOST_TEST(!alive(child));
        BOOST_TEST(file_gets("errors", "leasehold: the command ran for longer than --max-hold, and was ended\n"));
        std::filesystem::remove(path("errors"));
        std::vector<std::string> at_once = right;
        at_once.emplace_back("--nowait");
        BOOST_TEST(run(run_with(at_once, {"true"})).status.success(), right.front() << ": what it had is free again");
    }
    BOOST_TEST(run(run_with({"job", "--max-hold", "1h"}, {"sh", "-c", "exit 3"})).status.code == 3);
}

BOOST_FIXTURE_TEST_CASE(a_command_that_runs_for_too_long_and_ignores_sigterm_gets_sigkill, tool_fixture)
{
    auto tool = start(run_with({"job", "--max-hold", "3s", "--kill-after", "300ms"}, stubborn));
    const pid_t child = process_in(tool.read_line());
    BOOST_TEST(tool.wait().code == 124);
    BOOST_TEST(!alive(child));
    BOOST_TEST(errors() == "leasehold: the command ran for longer than --max-hold, and was ended\n"
                           "leasehold: the command did not end in time, and was killed\n");
    BOOST_TEST(run(run_with({"job", "--nowait"}, {"true"})).status.success());
}

BOOST_FIXTURE_TEST_CASE(a_command_that_ignores_sigterm_gets_sigkill, tool_fixture)
{
    auto tool = start(run_with({"job", "--ttl", "3s"}, stubborn));
    const pid_t child = process_in(tool.read_line());
    BOOST_TEST(run({"release", "job", "--force"}).status.success());
    BOOST_TEST(tool.wait().code == 76);
    BOOST_TEST(!alive(child));
    BOOST_TEST(errors().find("leasehold: the command did not end in time, and was killed\n") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(grandchildren_that_ignore_sigterm_don_t_outlive_the_term_of_a_child_that_does_not, tool_fixture)
{
    auto tool =
        start({"run", "job", "--ttl", "3s", "--", "sh", "-c", "(trap '' TERM; exec sleep 60) & echo $!; exec sleep 60"});
    const pid_t grandchild = process_in(tool.read_line());
    BOOST_TEST(run({"release", "job", "--force"}).status.success());
    BOOST_TEST(tool.wait().code == 76);
    BOOST_TEST(!alive(grandchild));
}

BOOST_FIXTURE_TEST_CASE(grandchildren_that_ignore_sigterm_don_t_outlive_the_lease_of_a_command_that_runs_for_too_long, tool_fixture)
{
    auto tool = start({"run", "job", "--max-hold", "3s", "--kill-after", "300ms", "--", "sh", "-c",
                       "(trap '' TERM; exec sleep 60) & echo $!; exec sleep 60"});
    const pid_t grandchild = process_in(tool.read_line());
    BOOST_TEST(tool.wait().code == 124);
    BOOST_TEST(!alive(grandchild));
    BOOST_TEST(errors() == "leasehold: the command ran for longer than --max-hold, and was ended\n"
                           "leasehold: the command did not end in time, and was killed\n");
}

// By a leasehold around it, for example, whose lease is lost: its margin is for one --kill-after.
BOOST_FIXTURE_TEST_CASE(command_of_a_tool_that_was_asked_to_end_and_is_killed_gets_no_more_time, tool_fixture)
{
    auto tool = start(run_with({"job", "--ttl", "1h", "--kill-after", "10m"},
                               {"sh", "-c", "trap 'echo asked' TERM; echo $$; while :; do sleep 0.1; done"}));
    const pid_t child = process_in(tool.read_line());
    tool.signal(SIGTERM);
    BOOST_REQUIRE(tool.read_line().value_or("") == "asked");
    tool.kill();
    BOOST_TEST(eventually([&] { return !alive(child); }, 60s));
}

BOOST_FIXTURE_TEST_CASE(a_tool_that_is_killed_takes_its_command_along_at_once, tool_fixture)
{
    auto tool = start(run_with({"job", "--kill-after", "500ms"}, stubborn));
    const pid_t child = process_in(tool.read_line());
    const auto tree = process_tree(tool.pid());
    BOOST_REQUIRE(tree.size() > 2);
    tool.kill();
    BOOST_TEST(eventually([&] { return !alive(child); }, 30s));    // long before the deadline
    BOOST_TEST(eventually([&] { return !alive(tree[1]); }, 30s));  // who reads our output isn't kept waiting
    BOOST_TEST(errors().find("the process that renews the lease is gone") != std::string::npos);
}

// Or it would keep those waiting who read the command's output to its end.
BOOST_FIXTURE_TEST_CASE(nothing_stays_behind_of_a_tool_that_is_killed, tool_fixture)
{
    auto tool = start(run_with({"job"}, worker));
    BOOST_REQUIRE(tool.read_line());
    const auto tree = process_tree(tool.pid());
    BOOST_REQUIRE(tree.size() > 2);
    tool.kill();
    BOOST_TEST(eventually([&] { return std::none_of(tree.begin(), tree.end(), alive); }, 30s));
    BOOST_TEST(tool.read_all(30s) == "");
}

// What a runner of jobs does to one that takes too long. The tool inside is the leader of a group of its own.
BOOST_FIXTURE_TEST_CASE(a_tool_whose_whole_group_is_killed_takes_its_command_s_group_along, tool_fixture)
{
    auto outer = start(run_with({"outer"}, {LEASEHOLD_TOOL, "run", "job", "--kill-after", "500ms", "--", "sh", "-c",
                                            "(trap '' TERM; exec sleep 60) & echo $!; wait"}));
    const pid_t grandchild = process_in(outer.read_line());
    const auto tree = process_tree(outer.pid());
    BOOST_REQUIRE(tree.size() > 2);
    BOOST_REQUIRE(::getpgid(tree[2]) == tree[2]);
    ::kill(-tree[2], SIGKILL);
    BOOST_TEST(outer.wait().code == 128 + SIGKILL);
    BOOST_TEST(eventually([&] { return !alive(grandchild); }, 30s));
}

// Nobody renews: the command must be gone before the store lets somebody else in.
BOOST_FIXTURE_TEST_CASE(a_tool_that_is_stopped_has_its_command_ended_before_the_next_can_have_the_lease, tool_fixture)
{
    auto tool = start(run_with({"job", "--ttl", "6s"}, stubborn));
    const pid_t child = process_in(tool.read_line());
    ::kill(tool.pid(), SIGSTOP);
    auto next = start(
        {"run", "job", "--", "sh", "-c", "kill -0 " + std::to_string(child) + " 2>/dev/null && echo overlap || echo alone"});
    BOOST_TEST(next.read_line(60s).value_or("") == "alone");
    ::kill(tool.pid(), SIGCONT);
    BOOST_TEST(tool.wait().code == 76);
}

BOOST_FIXTURE_TEST_CASE(a_keeper_that_is_killed_takes_the_command_along, tool_fixture)
{
    auto tool = start({"run", "job", "--", "sh", "-c", "sleep 60 & echo $!; echo $$; wait"});
    const pid_t grandchild = process_in(tool.read_line());
    const pid_t child = process_in(tool.read_line());
    const auto tree = process_tree(tool.pid());
    BOOST_REQUIRE(tree.size() >= 3);
    ::kill(tree[1], SIGKILL);
    BOOST_TEST(tool.wait().code == 70);
    BOOST_TEST(eventually([&] { return !alive(child) && !alive(grandchild); }));
    BOOST_TEST(!held("job"));
}

// As early as it can be: the command has only just become one.
BOOST_FIXTURE_TEST_CASE(a_keeper_that_its_command_kills_at_once_takes_the_command_s_group_along, tool_fixture)
{
    for (int i = 0; i < 5; ++i) {
        auto tool = start({"run", "job", "--", "sh", "-c", "sleep 60 & echo $!; kill -9 $PPID; wait"});
        const pid_t grandchild = process_in(tool.read_line());
        BOOST_TEST(tool.wait().code == 70);
        BOOST_TEST(eventually([&] { return !alive(grandchild); }));
    }
}

BOOST_FIXTURE_TEST_CASE(processes_that_a_command_leaves_running_are_left_and_told_of, tool_fixture)
{
    const auto result = run({"run", "job", "--", "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"});
    const pid_t left = std::stoi(result.out);
    BOOST_TEST(result.status.success());
    BOOST_TEST(alive(left));
    BOOST_TEST(result.err == "leasehold: the command has left processes running, which continue without the lease 'job'\n");
    ::kill(left, SIGKILL);
}

BOOST_FIXTURE_TEST_CASE(process_that_ends_a_moment_after_the_command_by_the_same_signal_is_not_left, tool_fixture)
{
    auto tool = start({"run", "job", "--", "sh", "-c",
                       "(trap 'sleep 0.1; exit' TERM; echo on; while :; do sleep 0.01; done) 2>/dev/null & exec sleep 60"});
    BOOST_REQUIRE(tool.read_line().value_or("") == "on");
    tool.signal(SIGTERM);
    BOOST_TEST(tool.wait().code == 128 + SIGTERM);
    BOOST_TEST(errors() == "");
}

// A daemon has left the command's group, and so gets none of its signals.
BOOST_FIXTURE_TEST_CASE(processes_outside_the_command_s_group_are_told_of_too, tool_fixture)
{
    const std::string daemon =
        "mkfifo \"$0\"; setsid sh -c 'echo $$ >\"$0\"; exec sleep 60' \"$0\" >/dev/null 2>&1 & cat \"$0\"; rm \"$0\"";
    const std::string told = "leasehold: the command has left processes running, which continue without the lease 'job'\n";
    const auto result = run({"run", "job", "--", "sh", "-c", daemon, path("number")});
    const pid_t left = std::stoi(result.out);
    BOOST_TEST(result.status.success());
    BOOST_TEST(alive(left));
    BOOST_TEST(result.err == told);
    ::kill(left, SIGKILL);

    auto tool = start({"run", "job", "--ttl", "3s", "--", "sh", "-c", daemon + "; exec sleep 60", path("number")});
    const pid_t left_at_loss = process_in(tool.read_line());
    BOOST_TEST(run({"release", "job", "--force"}).status.success());
    BOOST_TEST(tool.wait().code == 76);
    BOOST_TEST(alive(left_at_loss));
    BOOST_TEST(errors().find(told) != std::string::npos, errors());
    ::kill(left_at_loss, SIGKILL);
}

BOOST_AUTO_TEST_SUITE_END()
