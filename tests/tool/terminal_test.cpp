// SPDX-License-Identifier: BSL-1.0
// The tool at a real terminal: what a person types, and sees.
#include <tool/tmux_session.hpp>
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <sstream>
#include <string>

using namespace leasehold_test;

namespace {

struct terminal_fixture : tool_fixture {
    tmux_session terminal{folder(),
                          {"-u", "LEASEHOLD_STORE", "-u", "LEASEHOLD_STORE_FILE", "-u", "LEASEHOLD_TABLE",
                           "LEASEHOLD_DEFAULT_STORE_FILE=" + store_file(), "HISTFILE="}};

    // Returns when what was on the screen can't be taken for what comes next.
    void clear()
    {
        terminal.type_line("clear; echo em''pty");
        BOOST_REQUIRE(terminal.shows("empty\n"));
    }

    // Ends with a word that is not in what was typed.
    void type_tool(const std::string& arguments)
    {
        terminal.type_line(std::string{LEASEHOLD_TOOL} + " " + arguments + "; echo st''atus=$?");
    }

    child_process holder(const std::string& owner)
    {
        auto made = start({"run", "shard/1", "--owner", owner, "--ttl", "20s", "--", "sh", "-c", "echo on; exec sleep 60"});
        BOOST_REQUIRE(made.read_line().value_or("") == "on");
        return made;
    }

    [[nodiscard]] bool at_prompt() const { return terminal.variable("alternate_on") == "0"; }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_terminal)

BOOST_FIXTURE_TEST_CASE(watch_draws_a_live_table_and_gives_the_screen_back, terminal_fixture)
{
    auto first = holder("web-1");
    terminal.type_line("echo be''fore");
    type_tool("watch --interval 50ms");
    BOOST_REQUIRE(terminal.shows("shard/1  web-1/"));
    BOOST_TEST(terminal.variable("alternate_on") == "1");
    BOOST_TEST(terminal.variable("cursor_flag") == "0");
    BOOST_TEST(terminal.shows("██"));
    BOOST_TEST(terminal.coloured_screen().find("\033[32m") != std::string::npos);

    first.signal(SIGTERM);
    first.wait();
    BOOST_TEST(terminal.shows("shard/1  free, after web-1/"));
    auto second = holder("web-2");
    BOOST_TEST(terminal.shows("shard/1  taken by web-2/"));
    BOOST_TEST(terminal.shows("shard/1  web-2/"));
    BOOST_TEST(terminal.screen().find("> ") != std::string::npos);  // just changed hands

    terminal.key("q");
    BOOST_TEST(terminal.shows("status=0"));
    BOOST_TEST(terminal.screen().find("before") != std::string::npos);
    BOOST_TEST(at_prompt());
    BOOST_TEST(terminal.variable("cursor_flag") == "1");
    second.signal(SIGTERM);
    second.wait();
}

BOOST_FIXTURE_TEST_CASE(watch_follows_the_size_of_the_terminal, terminal_fixture)
{
    auto first = holder("web-with-a-long-name-that-needs-some-room-of-its-own");
    type_tool("watch --interval 50ms");
    BOOST_REQUIRE(terminal.shows("web-with-a-long-name-that-needs-some-room-of-its-own/"));
    terminal.resize(50, 10);
    BOOST_TEST(terminal.shows("…"));
    std::istringstream lines{terminal.screen()};
    std::string title, heading;
    std::getline(lines, title);
    std::getline(lines, heading);
    std::getline(lines, heading);
    BOOST_TEST(title.starts_with("leasehold watch"));
    BOOST_TEST(heading.starts_with("NAME"));
    terminal.resize(140, 30);
    BOOST_TEST(eventually([this] {
        return terminal.screen().find("web-with-a-long-name-that-needs-some-room-of-its-own/") != std::string::npos;
    }));
    terminal.key("C-c");
    BOOST_TEST(terminal.shows("status=0"));
    BOOST_TEST(at_prompt());
    first.signal(SIGTERM);
    first.wait();
}

BOOST_FIXTURE_TEST_CASE(watch_can_be_suspended_and_comes_back, terminal_fixture)
{
    auto first = holder("web-1");
    type_tool("watch");
    BOOST_REQUIRE(terminal.shows("shard/1  web-1/"));
    terminal.key("C-z");
    BOOST_TEST(terminal.shows("Stopped"));
    BOOST_TEST(at_prompt());
    terminal.type_line("fg");
    BOOST_TEST(terminal.shows("shard/1  web-1/"));
    BOOST_TEST(terminal.variable("alternate_on") == "1");
    terminal.key("q");
    BOOST_TEST(eventually([this] { return at_prompt(); }));
    first.signal(SIGTERM);
    first.wait();
}

BOOST_FIXTURE_TEST_CASE(watch_leaves_colours_out_where_none_are_wanted, terminal_fixture)
{
    auto first = holder("web-1");
    terminal.type_line("export NO_COLOR=1");
    type_tool("watch");
    BOOST_REQUIRE(terminal.shows("shard/1  web-1/"));
    BOOST_TEST(terminal.coloured_screen().find("\033[") == std::string::npos);
    terminal.key("q");
    first.signal(SIGTERM);
    first.wait();
}

BOOST_FIXTURE_TEST_CASE(a_command_has_the_terminal, terminal_fixture)
{
    type_tool("run job -- sh -c 'read line; echo got-$line; exit 4'");
    BOOST_REQUIRE(eventually([this] { return held("job"); }));
    terminal.type_line("words");
    BOOST_TEST(terminal.shows("got-words"));
    BOOST_TEST(terminal.shows("status=4"));
    terminal.type_line("echo again-$((1+1))");  // the shell has it back
    BOOST_TEST(terminal.shows("again-2"));
}

// Unlike an interactive shell, a script doesn't take the terminal back by itself.
BOOST_FIXTURE_TEST_CASE(a_script_has_the_terminal_again_after_the_command, terminal_fixture)
{
    terminal.type_line(std::string{"sh -c '"} + LEASEHOLD_TOOL +
                       " run job -- true; echo aft\"\"er; read line; echo got-$line'");
    BOOST_REQUIRE(terminal.shows("after\n"));
    terminal.type_line("words");
    BOOST_TEST(terminal.shows("got-words"));
}

BOOST_FIXTURE_TEST_CASE(a_command_in_a_pipeline_gets_the_terminal_when_it_asks_for_it, terminal_fixture)
{
    terminal.type_line(std::string{LEASEHOLD_TOOL} +
                       " run job -- sh -c 'read line </dev/tty; echo got-$line' | cat; echo do''ne");
    BOOST_REQUIRE(eventually([this] { return held("job"); }));
    terminal.type_line("words");
    BOOST_TEST(terminal.shows("got-words"));
    BOOST_TEST(terminal.shows("done"));
}

BOOST_FIXTURE_TEST_CASE(ctrl_c_ends_the_command_and_the_lease, terminal_fixture)
{
    type_tool("run job -- sh -c 'echo o''n; exec sleep 60'");
    BOOST_REQUIRE(terminal.shows("on\n"));
    terminal.key("C-c");
    BOOST_TEST(terminal.shows("status=130"));
    BOOST_TEST(!held("job"));
}

BOOST_FIXTURE_TEST_CASE(ctrl_c_ends_an_election_too, terminal_fixture)
{
    type_tool("elect job -- sh -c 'echo o''n; exec sleep 60'");
    BOOST_REQUIRE(terminal.shows("on\n"));
    terminal.key("C-c");
    BOOST_TEST(terminal.shows("status=130"));
    BOOST_TEST(!held("job"));
}

BOOST_FIXTURE_TEST_CASE(ctrl_z_suspends_both_and_fg_continues_them, terminal_fixture)
{
    type_tool("run job -- sh -c 'echo o''n; read line; echo got-$line'");
    BOOST_REQUIRE(terminal.shows("on\n"));
    terminal.key("C-z");
    BOOST_REQUIRE(terminal.shows("Stopped"));
    BOOST_TEST(held("job"));
    terminal.type_line("fg");
    terminal.type_line("words");
    BOOST_TEST(terminal.shows("got-words"));
    BOOST_TEST(eventually([this] { return !held("job"); }));
}

BOOST_FIXTURE_TEST_CASE(ctrl_z_suspends_one_that_waits, terminal_fixture)
{
    auto first = holder("web-1");
    type_tool("run shard/1 -- echo mi''ne");
    BOOST_REQUIRE(eventually([this] { return terminal.variable("pane_current_command") == "leasehold"; }));
    terminal.key("C-z");
    BOOST_REQUIRE(terminal.shows("Stopped"));
    terminal.type_line("fg");
    first.signal(SIGTERM);
    first.wait();
    BOOST_TEST(terminal.shows("mine\n"));
}

// Nobody renews while the tool is suspended.
BOOST_FIXTURE_TEST_CASE(run_suspended_for_too_long_loses_the_lease_and_the_command, terminal_fixture)
{
    type_tool("run job --ttl 4s -- sh -c 'echo o''n; read line'");
    BOOST_REQUIRE(terminal.shows("on\n"));
    terminal.key("C-z");
    BOOST_REQUIRE(terminal.shows("Stopped"));
    BOOST_TEST(run({"wait", "job", "--free", "--timeout", "60s"}).status.success());
    terminal.type_line("fg");
    BOOST_TEST(terminal.shows("the lease 'job' is lost"));
}

BOOST_FIXTURE_TEST_CASE(a_wait_shows_who_holds_and_how_long_still_in_one_line, terminal_fixture)
{
    auto first = holder("web-1");
    clear();
    type_tool("run shard/1 -- echo mi''ne");
    BOOST_REQUIRE(terminal.shows("leasehold: waiting 1s for 'shard/1': held by web-1/"));
    BOOST_TEST(terminal.shows("leasehold: waiting 2s for 'shard/1': held by web-1/"));
    BOOST_TEST(terminal.screen().find("waiting 1s") == std::string::npos);  // it was drawn over
    BOOST_TEST(terminal.screen().find("s more\n") != std::string::npos);
    first.signal(SIGTERM);
    first.wait();
    BOOST_TEST(terminal.shows("status=0"));
    BOOST_TEST(terminal.shows("\nmine\n"));
    BOOST_TEST(terminal.screen().find("waiting") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_wait_with_a_limit_says_when_it_gives_up, terminal_fixture)
{
    auto first = holder("web-1");
    for (const char* words : {"run shard/1 --wait 2s -- true", "wait shard/1 --free --timeout 2s"}) {
        clear();
        type_tool(words);
        BOOST_TEST(terminal.shows("leasehold: waiting 1s of 2s for 'shard/1': held by web-1/"));
        BOOST_TEST(terminal.shows("\nleasehold: 'shard/1' is held by web-1/"));
        BOOST_TEST(terminal.shows("status=75"));
        BOOST_TEST(terminal.screen().find("waiting") == std::string::npos);
    }
    clear();
    type_tool("wait other --held --timeout 2s");
    BOOST_TEST(terminal.shows("waiting 1s of 2s for somebody to hold 'other'"));
    BOOST_TEST(terminal.shows("status=75"));
    first.signal(SIGTERM);
    first.wait();
}

BOOST_FIXTURE_TEST_CASE(a_candidate_shows_who_leads, terminal_fixture)
{
    auto first = holder("web-1");
    clear();
    type_tool("elect shard/1 --restart never -- echo le''ads");
    BOOST_TEST(terminal.shows("leasehold: waiting 1s for 'shard/1': held by web-1/"));
    first.signal(SIGTERM);
    first.wait();
    BOOST_TEST(terminal.shows("leads\n"));
    BOOST_TEST(terminal.shows("status=0"));
    BOOST_TEST(terminal.screen().find("waiting") == std::string::npos);
}

// A prompt isn't drawn over, and a long line takes no second one.
BOOST_FIXTURE_TEST_CASE(a_wait_in_the_background_is_silent_and_in_a_narrow_terminal_cut, terminal_fixture)
{
    auto first = holder("web-1");
    clear();
    terminal.type_line(std::string{LEASEHOLD_TOOL} + " run shard/1 --wait 4s -- true & sleep 2; echo sle''pt");
    BOOST_REQUIRE(terminal.shows("slept\n"));
    BOOST_TEST(terminal.screen().find("waiting") == std::string::npos);
    terminal.type_line("wait; clear");
    terminal.resize(40, 24);
    type_tool("run shard/1 --wait 3s -- true");
    BOOST_REQUIRE(terminal.shows("…"));
    BOOST_TEST(terminal.shows("status=75"));
    BOOST_TEST(terminal.screen().find("waiting") == std::string::npos);
    first.signal(SIGTERM);
    first.wait();
}

BOOST_FIXTURE_TEST_CASE(a_wait_says_nothing_where_nobody_looks_unless_it_is_told_to, terminal_fixture)
{
    auto first = holder("web-1");
    BOOST_TEST(run_words("run shard/1 --wait 1s -- true").err == "");
    const std::string verbose = run_words("run shard/1 --wait 1s -v -- true").err;
    BOOST_TEST(verbose.find("leasehold: waiting for 'shard/1': held by web-1/") != std::string::npos, verbose);
    BOOST_TEST(verbose.find('\r') == std::string::npos);
    clear();
    type_tool("run shard/1 --wait 1s --quiet -- true");
    BOOST_TEST(terminal.shows("status=75"));
    BOOST_TEST(terminal.screen().find("leasehold: ") == std::string::npos);
    first.signal(SIGTERM);
    first.wait();
}

BOOST_FIXTURE_TEST_CASE(purge_asks_who_types_it, terminal_fixture)
{
    type_tool("purge --unused-for 1h");
    BOOST_REQUIRE(terminal.shows("[y/N]"));
    BOOST_TEST(terminal.screen().find("that nobody has held for 1h from Driver=") != std::string::npos);
    terminal.key("Enter");
    BOOST_TEST(terminal.shows("nothing was removed"));
    BOOST_TEST(terminal.shows("status=1"));
    clear();
    type_tool("purge --unused-for 1h");
    BOOST_REQUIRE(terminal.shows("[y/N]"));
    terminal.type_line("y");
    BOOST_TEST(terminal.shows("0 names that nobody has held for 1h were removed"));
    BOOST_TEST(terminal.shows("status=0"));
}

BOOST_FIXTURE_TEST_CASE(a_narrow_watch_tells_all_names_apart, terminal_fixture)
{
    for (int i = 101; i <= 112; ++i)
        BOOST_REQUIRE(run_words("run invoices/eu/shard-" + std::to_string(i) + " --min-hold 10m -- true").status.success());
    terminal.resize(38, 24);
    type_tool("watch");
    for (int i = 101; i <= 112; ++i) BOOST_TEST(terminal.shows("shard-" + std::to_string(i)));
    terminal.key("q");
}

BOOST_FIXTURE_TEST_CASE(zsh_completes_subcommands_options_and_names, terminal_fixture)
{
    const std::string zsh = find_program({"zsh"}).string();
    BOOST_TEST(run_words("run held-job --min-hold 10m -- true").status.success());
    terminal.type_line("PATH=" + std::filesystem::path{LEASEHOLD_TOOL}.parent_path().string() + ":$PATH; exec " + zsh +
                       " -f -i");
    terminal.type_line(std::string{"PROMPT='z''sh> '; fpath=("} + COMPLETIONS +
                       " $fpath); autoload -U compinit; compinit -u -D; clear");
    BOOST_REQUIRE(terminal.shows("zsh>"));
    for (const char* typed : {"leasehold ele", "C-i", "x --rest", "C-i", "on", "C-i"}) terminal.key(typed);
    BOOST_TEST(terminal.shows("leasehold elect x --restart on-failure"));
    terminal.key("C-u");
    for (const char* typed : {"leasehold", "Space", "show", "Space", "hel", "C-i"}) terminal.key(typed);
    BOOST_TEST(terminal.shows("leasehold show held-job"));
    terminal.key("C-u");
}

BOOST_AUTO_TEST_SUITE_END()
