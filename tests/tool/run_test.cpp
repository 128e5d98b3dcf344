// SPDX-License-Identifier: BSL-1.0
// `leasehold run`: the real program, on SQLite.
#include <contract/odbc_connection.hpp>
#include <tool/run_commands.hpp>
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

using namespace leasehold_test;

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

namespace {

/// Whether that line of the process's status has the signal.
bool has_signal(pid_t process, const std::string& line, int signal)
{
    std::ifstream status{"/proc/" + std::to_string(process) + "/status"};
    for (std::string word; status >> word;)
        if (word == line + ":" && status >> word) return (std::stoull(word, nullptr, 16) >> (signal - 1) & 1U) != 0;
    return false;
}

/// In a command under the tool: saves $1 of the lease $0, and says what became of it.
const std::string save_and_tell = std::string{"'"} + LEASEHOLD_TOOL + "' checkpoint \"$0\" --save \"$1\"; echo $?";

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_command_gets_the_last_checkpoint_and_saves_the_next, tool_fixture)
{
    const std::vector<std::string> show{"run", "job", "--", "sh", "-c", "echo \"${LEASEHOLD_CHECKPOINT-none}.\""};
    BOOST_TEST(run(show, {{"LEASEHOLD_CHECKPOINT", "somebody else's"}}).out == "none.\n");
    const std::string long_text(4096, 'x');
    for (const std::string& text :
         {std::string{"offset=12"}, std::string{"12345678"}, std::string{}, std::string{"gr\u00fc\u00dfe"}, long_text}) {
        BOOST_TEST(run({"run", "job", "--", "sh", "-c", save_and_tell, "job", text}).out == "0\n");
        BOOST_TEST(run(show).out == text + ".\n");
    }
    BOOST_TEST(run({"elect", "job", "--restart", "never", "--", "sh", "-c", "echo ${LEASEHOLD_CHECKPOINT-none}"}).out == long_text + "\n");
    BOOST_TEST(run({"run", "--all", "other,job", "--", "sh", "-c", "echo ${LEASEHOLD_CHECKPOINT-none};" + save_and_tell, "job", "y"}).out ==
               "none\n0\n");
    BOOST_TEST(run({"checkpoint", "job"}).out == "y\n");
    BOOST_TEST(run({"checkpoint", "other"}).status.code == 1);
}

BOOST_FIXTURE_TEST_CASE(a_command_whose_lease_is_lost_saves_no_checkpoint, tool_fixture)
{
    const std::string lose_and_save = "trap '' TERM; '" + std::string{LEASEHOLD_TOOL} + "' release job --force >&2; " + save_and_tell;
    BOOST_TEST(run({"run", "job", "--", "sh", "-c", lose_and_save, "job", "late"}).out == "76\n");
    BOOST_TEST(run({"checkpoint", "job"}).status.code == 1);
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

BOOST_FIXTURE_TEST_CASE(a_command_is_found_in_the_folder_it_is_started_in_where_a_path_says_so_by_an_empty_part, tool_fixture)
{
    std::ofstream{path("report.sh")} << "#!/bin/sh\necho on\n";
    std::filesystem::permissions(path("report.sh"), std::filesystem::perms::owner_all);
    for (const std::string& folders : {std::string{"$PATH:"}, std::string{"/nowhere::$PATH"}, std::string{":$PATH"}, std::string{}}) {
        const auto result = run(run_with({"outer"}, {"sh", "-c", "cd \"$1\"; PATH=" + folders + " exec \"$0\" run job -- report.sh",
                                                     LEASEHOLD_TOOL, folder().string()}));
        BOOST_TEST(result.out == "on\n", folders << ": " << result.err);
    }
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

BOOST_FIXTURE_TEST_CASE(waiting_run_starts_when_the_holder_has_ended, tool_fixture)
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

BOOST_FIXTURE_TEST_CASE(command_is_not_told_the_fire_permit_and_shard_of_a_command_around_it, tool_fixture)
{
    const std::vector<std::string> tells{"sh", "-c", "echo ${LEASEHOLD_FIRE-no} ${LEASEHOLD_PERMIT-no} ${LEASEHOLD_SHARD-no}"};
    const auto inner = run(run_with({"job"}, tells), {{"LEASEHOLD_FIRE", "2026-01-01T00:00:00Z"}, {"LEASEHOLD_PERMIT", "3"},
                                                      {"LEASEHOLD_SHARD", "17"}});
    BOOST_TEST(inner.out == "no no no\n");
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
                           "trap 'echo cleaning; until test -e \"$0\"; do sleep 0.05; done; exit 9' INT TERM;"
                           " echo on; while :; do sleep 0.05; done",
                           path("cleaned up")});
        BOOST_REQUIRE(tool.read_line().value_or("") == "on");
        tool.signal(signal);
        BOOST_TEST(tool.read_line().value_or("") == "cleaning");
        BOOST_TEST(held("job"));
        std::ofstream{path("cleaned up")} << "\n";
        BOOST_TEST(tool.wait().code == 9);
        BOOST_TEST(!held("job"));
        std::filesystem::remove(path("cleaned up"));
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
    BOOST_TEST(waiter.wait().code == 128 + SIGTERM);
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

BOOST_FIXTURE_TEST_CASE(min_hold_keeps_it_closed_after_a_short_command, tool_fixture)
{
    BOOST_TEST(run_words("run job --min-hold 1m -- true").status.success());
    BOOST_TEST(run_words("run job --nowait -- true").status.code == 75);
    BOOST_TEST(run_words("show job").out.find("(kept closed)") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(min_hold_keeps_nothing_closed_after_a_command_that_could_not_be_started, tool_fixture)
{
    std::ofstream{path("script")} << "#!/no/such/interpreter\n";
    std::filesystem::permissions(path("script"), std::filesystem::perms::owner_all);
    BOOST_TEST(run({"run", "job", "--min-hold", "1m", "--", path("script")}).status.code == 127);
    BOOST_TEST(!held("job"));
    BOOST_TEST(run_words("run job --nowait -- true").status.success());
}

BOOST_FIXTURE_TEST_CASE(min_hold_keeps_nothing_closed_after_a_signal_that_came_before_the_command, tool_fixture)
{
    odbc_connection somebody{sqlite_connection_string(path("leases.db"))};
    somebody.execute("begin immediate");  // who writes has to wait
    auto tool = start({"run", "job", "--nowait", "--min-hold", "1m", "--", "sh", "-c", "echo ran >> " + path("runs")});
    BOOST_REQUIRE(eventually([&] { return has_signal(tool.pid(), "SigBlk", SIGTERM); }));
    tool.signal(SIGTERM);
    BOOST_REQUIRE(eventually([&] { return !has_signal(tool.pid(), "ShdPnd", SIGTERM); }));
    somebody.execute("commit");
    BOOST_TEST(tool.wait() == (exit_status{.code = 128 + SIGTERM}));
    BOOST_TEST(file("runs") == "");
    BOOST_TEST(run_words("run job --nowait -- true").status.success());
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

BOOST_AUTO_TEST_SUITE_END()
