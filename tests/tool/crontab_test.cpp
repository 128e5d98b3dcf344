// SPDX-License-Identifier: BSL-1.0
// The lines for a crontab that the pages, the manual page and the help print, each started by five hosts as five clocks start it.
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace leasehold_test;

namespace crontab_scene {

const std::filesystem::path repository = REPOSITORY;
const std::string unless_done = "/opt/report-unless-done";

/// The commands of the lines that begin with the five fields of 03:00.
std::set<std::string> cron_commands(const std::string& text)
{
    const std::string three_o_clock = "0 3 * * * ";
    std::set<std::string> commands;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
        if (line.compare(indent, three_o_clock.size(), three_o_clock) == 0) commands.insert(line.substr(indent + three_o_clock.size()));
    }
    return commands;
}

void replace_once(std::string& text, const std::string& part, const std::string& with)
{
    const std::size_t at = text.find(part);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, "no " << part << " in " << text);
    text.replace(at, part.size(), with);
}

/// A shell script block of docs/command.md that has `words` in it.
std::string script_of_page(const std::string& words)
{
    const std::string page = read_file(repository / "docs/command.md");
    const std::size_t at = page.find(words);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, "docs/command.md no longer has " << words);
    const std::size_t begin = page.rfind("```sh\n", at) + 6;
    return page.substr(begin, page.find("```", begin) - begin);
}

struct hosts : tool_fixture {
    hosts()
    {
        std::filesystem::create_directory(path("bin"));
        std::filesystem::create_symlink(LEASEHOLD_TOOL, path("bin/leasehold"));
    }

    /// Starts it as cron does. The shell becomes the last program of the line.
    child_process start_on_a_host(const std::string& line)
    {
        return child_process{{"env", "-u", "LEASEHOLD_STORE", "-u", "LEASEHOLD_STORE_FILE",
                              "PATH=" + path("bin") + ":" + std::getenv("PATH"), "sh", "-c", "exec " + line},
                             {.environment = {{"LEASEHOLD_DEFAULT_STORE_FILE", store_file()}}, .output_file = path("mail")}};
    }

    std::string script(const std::string& name, const std::string& text)
    {
        std::ofstream{path(name)} << text;
        std::filesystem::permissions(path(name), std::filesystem::perms::owner_all);
        return path(name);
    }
};

}  // namespace crontab_scene

using namespace crontab_scene;

BOOST_AUTO_TEST_SUITE(tool_crontab)

BOOST_FIXTURE_TEST_CASE(each_printed_line_for_a_crontab_runs_a_short_job_once_on_five_hosts_whose_clocks_differ, hosts)
{
    std::set<std::string> commands = cron_commands(run_words("--help").out);
    BOOST_TEST(commands.size() == 1U);
    std::vector<std::filesystem::path> pages{"README.md", "README.ko.md", "examples/leasehold/leasehold.1"};
    for (const auto& page : std::filesystem::directory_iterator{repository / "docs"})
        if (page.path().extension() == ".md") pages.push_back(std::filesystem::relative(page.path(), repository));
    for (const auto& page : pages) {
        const auto found = cron_commands(read_file(repository / page));
        BOOST_TEST((!found.empty() || page.string().starts_with("docs/")), page << " has no line for a crontab");
        commands.insert(found.begin(), found.end());
    }

    const std::string job = script("job", "echo ran >> " + path("report") + "; sleep 0.1\n");
    for (std::string command : commands) {
        if (command.find(unless_done) != std::string::npos) continue;  // the next case
        BOOST_TEST_CONTEXT(command)
        {
            if (command.starts_with("/usr/local/bin/")) command.erase(0, std::string{"/usr/local/bin/"}.size());
            replace_once(command, "/opt/report", job);
            std::vector<child_process> started;
            for (int host = 1; host <= 5; ++host) {
                if (host > 1) std::this_thread::sleep_for(400ms);
                started.push_back(start_on_a_host(command));
            }
            std::vector<int> ended;
            for (auto& host : started) ended.push_back(host.wait().code);
            BOOST_TEST(file("report") == "ran\n");
            BOOST_TEST(std::count(ended.begin(), ended.end(), 0) == 1);
            BOOST_TEST(std::count(ended.begin(), ended.end(), 75) == 4);
            BOOST_TEST(file("mail") == "");
            std::filesystem::remove(path("report"));
            BOOST_TEST(run_words("release nightly-report --force").status.success());
        }
    }
}

// What the line with --nowait doesn't do: the first host's leasehold is killed in the middle of the report.
BOOST_FIXTURE_TEST_CASE(the_page_s_line_that_waits_gets_the_report_done_once_though_the_first_host_dies, hosts)
{
    std::string script_text = script_of_page("/srv/shared/");
    replace_once(script_text, "/srv/shared", folder().string());
    replace_once(script_text, "/opt/report ",
                 script("report-of-night", "echo began >> " + path("report") + "\nmkdir " + path("first") +
                                               " 2>/dev/null && exec sleep 60\necho ended >> " + path("report") + "\n") +
                     " ");
    std::string line;
    for (const std::string& command : cron_commands(read_file(repository / "docs/command.md")))
        if (command.find(unless_done) != std::string::npos) line = command;
    replace_once(line, unless_done, script("report-unless-done", script_text));
    replace_once(line, "run nightly-report", "run nightly-report --ttl 2s");  // the page's reader has 30 seconds for that, the test hasn't

    std::vector<child_process> started;
    started.push_back(start_on_a_host(line));
    BOOST_REQUIRE(file_gets("report", "began"));
    for (int host = 2; host <= 5; ++host) started.push_back(start_on_a_host(line));
    started.front().signal(SIGKILL);
    started.front().wait();
    for (std::size_t host = 1; host < started.size(); ++host) BOOST_TEST(started[host].wait().success());
    BOOST_TEST(file("report") == "began\nbegan\nended\n");
}

BOOST_AUTO_TEST_SUITE_END()
