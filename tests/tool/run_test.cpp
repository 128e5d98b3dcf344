// SPDX-License-Identifier: BSL-1.0
// `leasehold run`: the real program, on SQLite.
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

using namespace leasehold_test;

namespace {

// A command that says when it is there, and then works until it is told to end.
const std::vector<std::string> worker{"sh", "-c", "echo $$; exec sleep 60"};
// One that SIGTERM doesn't end.
const std::vector<std::string> stubborn{"sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.1; done"};

std::vector<std::string> run_with(std::vector<std::string> arguments, const std::vector<std::string>& command)
{
    arguments.insert(arguments.begin(), "run");
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), command.begin(), command.end());
    return arguments;
}

pid_t process_in(const std::optional<std::string>& line) { return line && !line->empty() ? std::stoi(*line) : -1; }

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_run)

BOOST_FIXTURE_TEST_CASE(the_command_s_output_and_status_are_its_own, tool_fixture)
{
    const auto result = run({"run", "job", "--", "sh", "-c", "echo out; echo err >&2; exit 7"});
    BOOST_TEST(result.status == (exit_status{.code = 7}));
    BOOST_TEST(result.out == "out\n");
    BOOST_TEST(result.err == "err\n");
    BOOST_TEST(!held("job"));
}

BOOST_FIXTURE_TEST_CASE(the_command_reads_the_tool_s_input, tool_fixture)
{
    auto tool = start({"run", "job", "--", "cat"});
    tool.write("through\n");
    tool.close_input();
    BOOST_TEST(tool.read_all() == "through\n");
    BOOST_TEST(tool.wait().success());
}

BOOST_FIXTURE_TEST_CASE(the_command_knows_its_lease, tool_fixture)
{
    const auto result =
        run({"run", "job", "--owner", "web-1", "--", "sh", "-c", "echo $LEASEHOLD_NAME $LEASEHOLD_TOKEN $LEASEHOLD_OWNER"});
    BOOST_TEST(result.out.starts_with("job 1 web-1/"));
    BOOST_TEST(run({"run", "job", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN"}).out == "2\n");
}

BOOST_FIXTURE_TEST_CASE(a_command_killed_by_a_signal_is_128_and_its_number, tool_fixture)
{
    BOOST_TEST(run({"run", "job", "--", "sh", "-c", "kill -KILL $$"}).status.code == 128 + SIGKILL);
}

BOOST_FIXTURE_TEST_CASE(a_command_that_is_not_there_is_127_and_one_that_can_t_be_run_126_and_no_lease_is_taken, tool_fixture)
{
    const auto missing = run({"run", "job", "--", "no-such-command"});
    BOOST_TEST(missing.status.code == 127);
    BOOST_TEST(missing.err == "leasehold: no-such-command: command not found\n");
    BOOST_TEST(run({"run", "job", "--", "/etc/passwd"}).status.code == 126);
    BOOST_TEST(run({"run", "job", "--", "/etc"}).status.code == 126);
    std::ofstream{path("script")} << "#!/no/such/interpreter\n";
    std::filesystem::permissions(path("script"), std::filesystem::perms::owner_all);
    BOOST_TEST(run({"run", "job", "--", path("script")}).status.code == 127);  // found out by exec itself
    BOOST_TEST(run({"run", "job", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN"}).out == "2\n");
}

BOOST_FIXTURE_TEST_CASE(a_lease_that_is_held_is_busy_with_a_status_to_choose_and_not_a_word_to_cron, tool_fixture)
{
    auto holder = start(run_with({"job"}, worker));
    BOOST_REQUIRE(holder.read_line());
    const auto once = run({"run", "job", "--nowait", "--", "echo", "no"});
    BOOST_TEST(once.status.code == 75);
    BOOST_TEST(once.out == "");
    BOOST_TEST(once.err == "");
    BOOST_TEST(run({"run", "job", "-n", "-E", "0", "--", "echo", "no"}).status.code == 0);
    BOOST_TEST(run({"run", "job", "--wait", "100ms", "--", "echo", "no"}).status.code == 75);
    const auto verbose = run({"run", "job", "-n", "-v", "--", "echo", "no"});
    BOOST_TEST(verbose.err.find("leasehold: 'job' is held by ") != std::string::npos);
    holder.signal(SIGTERM);
    holder.wait();
}

BOOST_FIXTURE_TEST_CASE(who_waits_runs_when_the_holder_has_ended, tool_fixture)
{
    auto holder = start(run_with({"job"}, worker));
    BOOST_REQUIRE(holder.read_line());
    auto waiter = start({"run", "job", "--", "echo", "mine"});
    holder.signal(SIGTERM);
    BOOST_TEST(holder.wait().code == 128 + SIGTERM);
    BOOST_TEST(waiter.read_line().value_or("") == "mine");
    BOOST_TEST(waiter.wait().success());
}

BOOST_FIXTURE_TEST_CASE(a_request_to_hand_over_is_passed_on_as_a_signal_of_choice, tool_fixture)
{
    for (const char* subcommand : {"run", "elect"}) {
        auto tool = start({subcommand, "job", "--ttl", "3s", "--handover-signal", "USR1", "--", "sh", "-c",
                           "trap 'echo asked; exit 9' USR1; echo on; while :; do sleep 0.05; done"});
        BOOST_REQUIRE(tool.read_line().value_or("") == "on");
        BOOST_TEST(run_words("ask job").status.success());
        BOOST_TEST(tool.read_line().value_or("") == "asked");
        if (subcommand == std::string{"elect"}) tool.signal(SIGTERM);
        static_cast<void>(tool.wait());
    }
    BOOST_TEST(run_words("run job --handover-signal KILL -- true").status.code == 64);
}

BOOST_FIXTURE_TEST_CASE(a_request_that_is_not_passed_on_changes_nothing, tool_fixture)
{
    auto tool = start({"run", "job", "--ttl", "3s", "--", "sh", "-c", "echo on; sleep 1.5; echo done"});
    BOOST_REQUIRE(tool.read_line().value_or("") == "on");
    BOOST_TEST(run_words("ask job").status.success());
    BOOST_TEST(tool.read_line().value_or("") == "done");
    BOOST_TEST(tool.wait().success());
}

BOOST_FIXTURE_TEST_CASE(sigint_and_sigterm_are_passed_on_and_the_lease_is_released_after_the_command, tool_fixture)
{
    for (const int signal : {SIGINT, SIGTERM}) {
        auto tool = start({"run", "job", "--", "sh", "-c",
                           "trap 'echo cleaning; sleep 0.3; exit 9' INT TERM; echo on; while :; do sleep 0.05; done"});
        BOOST_REQUIRE(tool.read_line().value_or("") == "on");
        tool.signal(signal);
        BOOST_TEST(tool.read_line().value_or("") == "cleaning");
        BOOST_TEST(held("job"));
        BOOST_TEST(tool.wait().code == 9);
        BOOST_TEST(!held("job"));
    }
}

BOOST_FIXTURE_TEST_CASE(user_signals_and_hangup_reach_the_command, tool_fixture)
{
    auto tool = start({"run", "job", "--", "sh", "-c",
                       "trap 'echo one' USR1; trap 'echo two' USR2; trap 'echo hup' HUP; trap 'exit 0' TERM; echo on; while "
                       ":; do sleep 0.02; done"});
    BOOST_REQUIRE(tool.read_line().value_or("") == "on");
    for (const auto& [signal, word] : {std::pair{SIGUSR1, "one"}, {SIGUSR2, "two"}, {SIGHUP, "hup"}}) {
        tool.signal(signal);
        BOOST_TEST(tool.read_line().value_or("") == word);
    }
    tool.signal(SIGTERM);
    BOOST_TEST(tool.wait().success());
}

BOOST_FIXTURE_TEST_CASE(a_signal_ends_the_waiting, tool_fixture)
{
    auto holder = start(run_with({"job"}, worker));
    BOOST_REQUIRE(holder.read_line());
    auto waiter = start(run_with({"job"}, {"echo", "no"}));
    BOOST_TEST(eventually([&] { return process_tree(waiter.pid()).size() > 1; }));
    waiter.signal(SIGTERM);
    BOOST_TEST(waiter.wait(10s).code == 128 + SIGTERM);
    holder.signal(SIGTERM);
    holder.wait();
}

BOOST_FIXTURE_TEST_CASE(a_signal_from_before_the_command_is_not_for_it, tool_fixture)
{
    auto holder = start(run_with({"job"}, worker));
    BOOST_REQUIRE(holder.read_line());
    auto waiter = start(run_with({"job"}, {"sh", "-c", "sleep 0.3; echo mine"}));
    BOOST_REQUIRE(eventually([&] { return process_tree(waiter.pid()).size() > 1; }));
    waiter.signal(SIGUSR1);
    holder.signal(SIGTERM);
    BOOST_TEST(waiter.read_line().value_or("") == "mine");
    holder.wait();
}

// Between two renewals: the command has ended before the loss was known.
BOOST_FIXTURE_TEST_CASE(a_lease_that_turns_out_to_be_lost_at_the_release_is_76_too, tool_fixture)
{
    auto tool = start({"run", "job", "--", "sh", "-c", "echo on; read line; exit 3"});
    BOOST_REQUIRE(tool.read_line());
    BOOST_TEST(run({"release", "job", "--force"}).status.success());
    tool.write("go\n");
    BOOST_TEST(tool.wait(20s).code == 76);
    BOOST_TEST(errors() == "leasehold: 'job' was taken away or ran out before the command ended with status 3\n");
}

BOOST_FIXTURE_TEST_CASE(a_lease_taken_away_ends_the_command_s_whole_group_with_sigterm_at_the_next_renewal, tool_fixture)
{
    auto tool = start({"run", "job", "--ttl", "6s", "--", "sh", "-c", "sleep 60 & echo $!; echo $$; wait"});
    const pid_t grandchild = process_in(tool.read_line());
    const pid_t child = process_in(tool.read_line());
    BOOST_REQUIRE(alive(grandchild));
    const auto taken = std::chrono::steady_clock::now();
    BOOST_TEST(run({"release", "job", "--force"}).status.success());
    BOOST_TEST(tool.wait(10s).code == 76);
    BOOST_TEST(std::chrono::steady_clock::now() - taken < 4s);  // a renewal is 2 s after the grant, the deadline 4.8 s
    BOOST_TEST(!alive(child));
    BOOST_TEST(!alive(grandchild));
    BOOST_TEST(errors() ==
               "leasehold: the lease 'job' is lost: it ran out or was taken away; the command is asked to end\n");
}

BOOST_FIXTURE_TEST_CASE(a_command_that_ignores_sigterm_gets_sigkill, tool_fixture)
{
    auto tool = start(run_with({"job", "--ttl", "3s"}, stubborn));
    const pid_t child = process_in(tool.read_line());
    BOOST_TEST(run({"release", "job", "--force"}).status.success());
    BOOST_TEST(tool.wait(10s).code == 76);
    BOOST_TEST(!alive(child));
    BOOST_TEST(errors().find("leasehold: the command did not end in time, and was killed\n") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(grandchildren_that_ignore_sigterm_don_t_outlive_the_term_of_a_child_that_does_not, tool_fixture)
{
    auto tool =
        start({"run", "job", "--ttl", "3s", "--", "sh", "-c", "(trap '' TERM; exec sleep 60) & echo $!; exec sleep 60"});
    const pid_t grandchild = process_in(tool.read_line());
    BOOST_TEST(run({"release", "job", "--force"}).status.success());
    BOOST_TEST(tool.wait(10s).code == 76);
    BOOST_TEST(!alive(grandchild));
}

BOOST_FIXTURE_TEST_CASE(a_tool_that_is_killed_takes_its_command_along_at_once, tool_fixture)
{
    auto tool = start(run_with({"job", "--kill-after", "500ms"}, stubborn));
    const pid_t child = process_in(tool.read_line());
    const auto tree = process_tree(tool.pid());
    BOOST_REQUIRE(tree.size() > 2);
    tool.kill();
    BOOST_TEST(eventually([&] { return !alive(child); }, 10s));    // long before the deadline
    BOOST_TEST(eventually([&] { return !alive(tree[1]); }, 10s));  // who reads our output isn't kept waiting
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
    BOOST_TEST(eventually([&] { return std::none_of(tree.begin(), tree.end(), alive); }, 10s));
    BOOST_TEST(tool.read_all(10s) == "");
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
    BOOST_TEST(outer.wait(10s).code == 128 + SIGKILL);
    BOOST_TEST(eventually([&] { return !alive(grandchild); }, 10s));
}

// Nobody renews: the command must be gone before the store lets somebody else in.
BOOST_FIXTURE_TEST_CASE(a_tool_that_is_stopped_has_its_command_ended_before_the_next_can_have_the_lease, tool_fixture)
{
    auto tool = start(run_with({"job", "--ttl", "3s"}, stubborn));
    const pid_t child = process_in(tool.read_line());
    ::kill(tool.pid(), SIGSTOP);
    auto next = start(
        {"run", "job", "--", "sh", "-c", "kill -0 " + std::to_string(child) + " 2>/dev/null && echo overlap || echo alone"});
    BOOST_TEST(next.read_line(20s).value_or("") == "alone");
    ::kill(tool.pid(), SIGCONT);
    BOOST_TEST(tool.wait(10s).code == 76);
}

BOOST_FIXTURE_TEST_CASE(a_keeper_that_is_killed_takes_the_command_along, tool_fixture)
{
    auto tool = start({"run", "job", "--", "sh", "-c", "sleep 60 & echo $!; echo $$; wait"});
    const pid_t grandchild = process_in(tool.read_line());
    const pid_t child = process_in(tool.read_line());
    const auto tree = process_tree(tool.pid());
    BOOST_REQUIRE(tree.size() >= 3);
    ::kill(tree[1], SIGKILL);
    BOOST_TEST(tool.wait(10s).code == 70);
    BOOST_TEST(eventually([&] { return !alive(child) && !alive(grandchild); }));
    BOOST_TEST(!held("job"));
}

// As early as it can be: the command has only just become one.
BOOST_FIXTURE_TEST_CASE(a_keeper_that_its_command_kills_at_once_takes_the_command_s_group_along, tool_fixture)
{
    for (int i = 0; i < 5; ++i) {
        auto tool = start({"run", "job", "--", "sh", "-c", "sleep 60 & echo $!; kill -9 $PPID; wait"});
        const pid_t grandchild = process_in(tool.read_line());
        BOOST_TEST(tool.wait(10s).code == 70);
        BOOST_TEST(eventually([&] { return !alive(grandchild); }));
    }
}

BOOST_FIXTURE_TEST_CASE(what_a_command_leaves_running_is_left_and_told_of, tool_fixture)
{
    const auto result = run({"run", "job", "--", "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"});
    const pid_t left = std::stoi(result.out);
    BOOST_TEST(result.status.success());
    BOOST_TEST(alive(left));
    BOOST_TEST(result.err == "leasehold: the command has left processes running, which continue without the lease 'job'\n");
    ::kill(left, SIGKILL);
}

BOOST_FIXTURE_TEST_CASE(min_hold_keeps_it_closed_after_a_short_command, tool_fixture)
{
    BOOST_TEST(run_words("run job --min-hold 1m -- true").status.success());
    BOOST_TEST(run_words("run job --nowait -- true").status.code == 75);
    BOOST_TEST(run_words("show job").out.find("(kept closed)") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(three_hosts_with_one_cron_line_run_it_once, tool_fixture)
{
    std::vector<child_process> hosts;
    for (const char* host : {"host-1", "host-2", "host-3"})
        hosts.push_back(start({"run", "report", "--nowait", "--min-hold", "1m", "--owner", host, "--", "sh", "-c",
                               "echo ran >> " + path("report")}));
    std::vector<int> ended;
    for (auto& host : hosts) ended.push_back(host.wait().code);
    BOOST_TEST(file("report") == "ran\n");
    BOOST_TEST(std::count(ended.begin(), ended.end(), 0) == 1);
    BOOST_TEST(std::count(ended.begin(), ended.end(), 75) == 2);
    BOOST_TEST(errors() == "");
}

BOOST_FIXTURE_TEST_CASE(two_with_one_owner_s_name_exclude_each_other, tool_fixture)
{
    auto holder = start(run_with({"job", "--owner", "same"}, worker));
    BOOST_REQUIRE(holder.read_line());
    BOOST_TEST(run_words("run job --nowait --owner same -- true").status.code == 75);
    holder.signal(SIGTERM);
    holder.wait();
}

BOOST_FIXTURE_TEST_CASE(files_that_are_passed_on_by_number_are_and_the_store_s_are_not, tool_fixture)
{
    auto tool = start({"run", "job", "--", "sh", "-c",
                       "ls -l /proc/self/fd | grep -v /proc/ | grep -c -e socket -e leases.db -e anon; true"});
    BOOST_TEST(tool.read_line().value_or("") == "1");  // its standard input, a socket of the test's
    BOOST_TEST(tool.wait().success());
}

BOOST_FIXTURE_TEST_CASE(at_most_so_many_run_at_a_time_with_permits, tool_fixture)
{
    auto first = start(run_with({"--permits", "2", "job"}, worker));
    BOOST_REQUIRE(first.read_line());
    const auto second = run({"run", "--permits", "2", "job", "--", "sh", "-c", "echo $LEASEHOLD_NAME $LEASEHOLD_PERMIT $LEASEHOLD_TOKEN"});
    BOOST_TEST(second.status.success());
    BOOST_TEST((second.out == "job/0 0 1\n" || second.out == "job/1 1 1\n"), second.out);
    auto third = start(run_with({"--permits", "2", "job"}, worker));
    BOOST_REQUIRE(third.read_line());
    const auto busy = run({"run", "--permits", "2", "job", "--nowait", "--verbose", "--", "true"});
    BOOST_TEST(busy.status.code == 75);
    BOOST_TEST(busy.err.find("all 2 permits of 'job' are held") != std::string::npos, busy.err);
    auto waits = start(run_with({"--permits", "2", "job"}, {"echo", "had its turn"}));
    first.signal(SIGTERM);
    first.wait();
    BOOST_TEST(waits.read_line().value_or("") == "had its turn");
    third.signal(SIGTERM);
    third.wait();
}

BOOST_FIXTURE_TEST_CASE(another_number_of_permits_is_an_error_with_both, tool_fixture)
{
    auto holder = start(run_with({"--permits", "2", "job"}, worker));
    BOOST_REQUIRE(holder.read_line());
    const auto other = run({"run", "--permits", "3", "job", "--", "touch", path("ran")});
    BOOST_TEST(!other.status.success());
    BOOST_TEST(other.err.find("3 permits") != std::string::npos, other.err);
    BOOST_TEST(other.err.find("2 permits") != std::string::npos, other.err);
    BOOST_TEST(!std::filesystem::exists(path("ran")));
}

BOOST_FIXTURE_TEST_CASE(many_share_a_name_or_one_has_it_alone, tool_fixture)
{
    auto reader = start(run_with({"--shared", "catalog"}, worker));
    BOOST_REQUIRE(reader.read_line());
    const auto beside = run({"run", "--shared", "catalog", "--", "sh", "-c", "echo $LEASEHOLD_NAME"});
    BOOST_TEST(beside.out.starts_with("catalog/r"));
    BOOST_TEST(run({"run", "--exclusive", "catalog", "-n", "--", "true"}).status.code == 75);
    BOOST_TEST(!held("catalog/writer"));
    reader.signal(SIGTERM);
    reader.wait();
    auto writer = start(run_with({"--exclusive", "catalog"}, {"sh", "-c", "echo $LEASEHOLD_NAME; exec sleep 60"}));
    BOOST_TEST(writer.read_line().value_or("") == "catalog/writer");
    const auto busy = run({"run", "--shared", "catalog", "-n", "--verbose", "--", "true"});
    BOOST_TEST(busy.status.code == 75);
    BOOST_TEST(busy.err.find("'catalog/writer' is held by") != std::string::npos, busy.err);
    writer.signal(SIGTERM);
    writer.wait();
    BOOST_TEST(run({"run", "--shared", "catalog", "-n", "--", "true"}).status.success());
}

BOOST_FIXTURE_TEST_CASE(all_leases_are_held_or_none, tool_fixture)
{
    const auto both = run({"run", "--all", "b,a", "--", "sh", "-c", "echo $LEASEHOLD_NAME $LEASEHOLD_TOKEN"});
    BOOST_TEST(both.out == "b,a 1,1\n");
    auto holder = start(run_with({"b"}, worker));
    BOOST_REQUIRE(holder.read_line());
    const auto busy = run({"run", "--all", "a,b,c", "--nowait", "--verbose", "--", "true"});
    BOOST_TEST(busy.status.code == 75);
    BOOST_TEST(busy.err.find("'b' is held by") != std::string::npos, busy.err);
    for (const char* name : {"a", "c"}) BOOST_TEST(!held(name));
    auto waits = start(run_with({"--all", "a,b,c"}, {"sh", "-c", "echo $LEASEHOLD_TOKEN"}));
    BOOST_TEST(run({"run", "--all", "a,b,c", "--wait", "100ms", "--", "true"}).status.code == 75);
    holder.signal(SIGTERM);
    holder.wait();
    const std::string tokens = waits.read_line().value_or("");
    BOOST_TEST(std::ranges::count(tokens, ',') == 2, tokens);
    BOOST_TEST(waits.wait().success());
    for (const char* name : {"a", "b", "c"}) BOOST_TEST(!held(name));
}

BOOST_FIXTURE_TEST_CASE(loss_of_one_of_all_leases_ends_the_command, tool_fixture)
{
    auto holder = start(run_with({"--all", "a,b", "--ttl", "3s"}, worker));
    const pid_t command = process_in(holder.read_line());
    BOOST_TEST(run({"release", "--force", "b"}).status.success());
    BOOST_TEST(holder.wait().code == 76);
    BOOST_TEST(!alive(command));
    BOOST_TEST(!held("a"));
}

BOOST_FIXTURE_TEST_CASE(rights_that_can_t_be_say_what_can, tool_fixture)
{
    const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
        {{"--permits", "0", "job"}, "--permits must be a number from 1 to 1024, not '0'"},
        {{"--permits", "1025", "job"}, "from 1 to 1024, not '1025'"},
        {{"--permits", "five", "job"}, "not 'five'"},
        {{"--permits", "5"}, "NAME is required"},
        {{"--permits", "5", "--shared", "job"}, "excludes"},
        {{"--all", "a,,b"}, "one comma between them"},
        {{"--all", ""}, "one comma between them"},
        {{"--all", "a,b,a"}, "'a' is in the set twice"},
        {{"--all", "a,b", "job"}, "no NAME beside it"},
        {{"--all", "a", "--permits", "2"}, "excludes"},
        {{"--shared", "job", "--min-hold", "1m"}, "--min-hold can't be used with --shared"},
    };
    for (const auto& [words, expected] : wrong) {
        const auto result = run(run_with(words, {"touch", path("ran")}));
        BOOST_TEST(result.status.code == 64, words.front() << " " << words.at(1) << ": " << result.err);
        BOOST_TEST(result.err.find(expected) != std::string::npos, result.err);
    }
    BOOST_TEST(!std::filesystem::exists(path("ran")));
}

BOOST_AUTO_TEST_SUITE_END()
