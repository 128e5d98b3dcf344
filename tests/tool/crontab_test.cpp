// SPDX-License-Identifier: BSL-1.0
// The lines for a crontab that the pages, the manual page and the help print, each started by five hosts as five clocks start it.
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
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

/// The commands of the lines that begin with the five fields of 03:00. Cron starts each with its own PATH, so the command is found by its
/// whole path.
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

struct hosts : tool_fixture {
    hosts()
    {
        std::filesystem::create_directory(path("bin"));
        std::filesystem::create_symlink(LEASEHOLD_TOOL, path("bin/leasehold"));
    }

    /// Starts it as cron does, with the command installed in path("bin") instead of /usr/local/bin. The shell becomes the last program of
    /// the line.
    child_process start_on_a_host(std::string line)
    {
        replace_once(line, "/usr/local/bin", path("bin"));
        return child_process{{"env", "-u", "LEASEHOLD_STORE", "-u", "LEASEHOLD_STORE_FILE", "PATH=/usr/bin:/bin",
                              "sh", "-c", "exec " + line},
                             {.environment = {{"LEASEHOLD_DEFAULT_STORE_FILE", store_file()}}, .output_file = path("mail")}};
    }

    /// Whether this one has started the job: beside its keeper there is the job itself.
    static bool holds(const child_process& host) { return process_tree(host.pid()).size() >= 3; }

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
    int number = 0;
    for (std::string command : commands) {
        BOOST_TEST_CONTEXT(command)
        {
            replace_once(command, "/opt/report", job);
            replace_once(command, "run report ", "run report-" + std::to_string(++number) + " ");  // whose record is empty yet
            std::vector<child_process> started;
            for (int host = 1; host <= 5; ++host) {
                if (host > 1) std::this_thread::sleep_for(400ms);
                started.push_back(start_on_a_host(command));
            }
            for (auto& host : started) BOOST_TEST(host.wait().success());
            BOOST_TEST(file("report") == "ran\n");
            BOOST_TEST(file("mail") == "");
            std::filesystem::remove(path("report"));
        }
    }
}

// The README's line, three seconds around its time. Nothing but the store's clock says what time it is, so a host whose clock is fast is
// one that starts early.
BOOST_FIXTURE_TEST_CASE(the_readme_s_line_completes_the_report_once_though_the_first_host_dies_and_the_second_fails, hosts)
{
    const auto lines = cron_commands(read_file(repository / "README.md"));
    BOOST_REQUIRE(lines.size() == 1U);
    std::string line = *lines.begin();
    const auto fire = std::chrono::ceil<std::chrono::seconds>(std::chrono::system_clock::now()) + 2s;
    const auto of_day = std::chrono::duration_cast<std::chrono::seconds>(fire - std::chrono::floor<std::chrono::days>(fire)).count();
    replace_once(line, "--at 03:00", "--at " + std::to_string(of_day) + "s");
    replace_once(line, "run report", "run report --ttl 2s");  // the page's reader has 30 seconds for that, the test hasn't
    replace_once(line, "/opt/report", script("job", "echo began >> " + path("report") + "\nmkdir " + path("first") +
                                                        " 2>/dev/null && exec sleep 60\nmkdir " + path("second") +
                                                        " 2>/dev/null && exit 3\necho done $LEASEHOLD_FIRE >> " + path("report") + "\n"));

    std::vector<child_process> started;
    for (int host = 1; host <= 2; ++host) started.push_back(start_on_a_host(line));  // early
    BOOST_TEST(file("report") == "");
    BOOST_REQUIRE(file_gets("report", "began"));
    // Killed before it has made its mark, it would leave that to the second.
    BOOST_REQUIRE(eventually([&] { return std::filesystem::exists(path("first")); }, 60s));
    BOOST_TEST((std::chrono::system_clock::now() >= fire));
    for (int host = 3; host <= 5; ++host) started.push_back(start_on_a_host(line));  // late

    const auto first = std::ranges::find_if(started, holds);
    BOOST_REQUIRE((first != started.end()));
    first->signal(SIGKILL);
    first->wait();
    started.erase(first);
    std::vector<int> ended;
    for (auto& host : started) ended.push_back(host.wait().code);
    std::ranges::sort(ended);
    BOOST_TEST((ended == std::vector{0, 0, 0, 3}));
    const std::string report = file("report");
    BOOST_TEST(report.starts_with("began\nbegan\nbegan\ndone 20"), report);
    BOOST_TEST(std::ranges::count(report, '\n') == 4);
    BOOST_TEST(run_words("last report").out.find("was completed") != std::string::npos);
    auto late = start_on_a_host(line);
    BOOST_TEST(late.wait().success());
    BOOST_TEST(file("report") == report);
}

BOOST_AUTO_TEST_SUITE_END()
