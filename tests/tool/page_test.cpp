// SPDX-License-Identifier: BSL-1.0
// docs/command.md: what it says can be typed is typed, in the order of the page, by three hosts that share a PostgreSQL.
#include <support/postgresql_server.hpp>
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

using namespace leasehold_test;

namespace {

std::vector<std::string> blocks_of(const std::string& language)
{
    std::vector<std::string> blocks;
    std::istringstream page{read_file(COMMAND_PAGE)};
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
        const std::string text = line.substr(indent);
        if (!inside && text == "```" + language) {
            inside = true;
            blocks.emplace_back();
        } else if (inside && text == "```") {
            inside = false;
        } else if (inside) {
            blocks.back() += text + "\n";
        }
    }
    return blocks;
}

void replace(std::string& text, const std::string& what, const std::string& with)
{
    BOOST_REQUIRE_MESSAGE(text.find(what) != std::string::npos, "the page no longer has " << what << " in " << text);
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
}

/// What the page's reader has: a database, and the command in the path.
struct reader : tool_fixture {
    static constexpr const char* database_of_page =
        "Driver=PostgreSQL Unicode;Server=db.example.com;Database=ops;UID=ops;PWD=secret";

    postgresql_server server;

    reader()
    {
        std::filesystem::create_directory(path("bin"));
        std::filesystem::create_symlink(LEASEHOLD_TOOL, path("bin/leasehold"));
    }

    tool_result type(const std::string& lines)
    {
        const std::string path_variable = "PATH=" + path("bin") + ":" + std::getenv("PATH");
        child_process shell{
            {"env", "-u", "LEASEHOLD_STORE", "-u", "LEASEHOLD_STORE_FILE", path_variable, "bash", "-c", lines + "\n"},
            {.environment = {{"LEASEHOLD_DEFAULT_STORE_FILE", path("store")}}, .capture = true}};
        std::string out = shell.read_all();
        return {shell.wait(), std::move(out), {}};
    }

    std::string here(std::string text)
    {
        replace(text, database_of_page, server.connection_string());
        replace(text, "/etc/leasehold.store", path("store"));
        return text;
    }
};

// Everything after the five fields of the time.
std::string command_of(std::string line)
{
    for (int field = 0; field < 5; ++field) line = line.substr(line.find(' ') + 1);
    return line;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_page)

BOOST_FIXTURE_TEST_CASE(a_reader_gets_a_cron_job_onto_three_hosts_and_every_line_of_the_page_runs, reader)
{
    const auto shell = blocks_of("sh");
    BOOST_REQUIRE(shell.size() == 8U);
    const std::string set_up = here(shell[0]);
    BOOST_TEST(type("set -e; " + set_up).status.success());
    BOOST_TEST((std::filesystem::status(path("store")).permissions() ==
                (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)));
    const auto checked = type(shell[1]);
    BOOST_TEST(checked.out.find("a lease can be acquired, renewed and released") != std::string::npos, checked.out);

    // Cron's part: the line with an = is a variable, the other one the job. The second block is a service.
    const auto crontab = blocks_of("crontab");
    BOOST_REQUIRE(crontab.size() == 2U);
    std::istringstream lines{crontab[0]};
    std::string job;
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("0 ")) job = command_of(line);
    replace(job, "/usr/local/bin/", "");
    replace(job, "/opt/report", "sh -c 'echo ran >> " + path("report") + "'");
    const auto night = type("for host in 1 2 3; do { " + job + "; echo $? >> " + path("statuses") + "; } 2>&1 & done; wait");
    BOOST_TEST(night.out == "");  // nothing for cron to mail
    BOOST_TEST(file("report") == "ran\n");
    std::istringstream statuses{file("statuses")};
    std::vector<int> ended{std::istream_iterator<int>{statuses}, {}};
    std::sort(ended.begin(), ended.end());
    BOOST_TEST((ended == std::vector{0, 0, 0}));
    const auto last = type(shell[2]);
    BOOST_TEST(last.out.starts_with("the run of 20"), last.out);
    BOOST_TEST(last.out.find("tidy: the run of 20") != std::string::npos, last.out);

    BOOST_TEST(type(shell[3]).out == "importing from 0\n100\n");
    BOOST_TEST(type(shell[3]).out == "importing from 100\n200\n");
    BOOST_TEST(type(shell[4]).out ==
               "at most five at a time\ntwo of them at once\nbeside other readers\nnobody reads now\nboth, or neither\n");
    BOOST_TEST(type(shell[5]).out == "I lead\n");
    // Something to look at, for which the page's reader would have to wait.
    BOOST_TEST(type("leasehold run nightly-report --min-hold 1m -- true").status.success());
    std::string looks = shell[6];
    replace(looks, "leasehold run nightly-report", "leasehold release nightly-report --force; leasehold run nightly-report");
    const auto looked = type("set -e\n" + looks);
    BOOST_TEST(looked.status.success(), looked.out);
    for (const char* words :
         {"nightly-report  (kept closed)", "\"name\": \"nightly-report\"", "nobody schedules", "after the others"})
        BOOST_TEST(looked.out.find(words) != std::string::npos, looked.out);
    const auto held = type("set -e\n" + shell[7]);
    BOOST_TEST(held.status.success(), held.out);
    BOOST_TEST(held.out.find("(held closed: migration)") != std::string::npos, held.out);
}

BOOST_FIXTURE_TEST_CASE(the_unit_of_the_page_starts_a_leader_and_ends_it, reader)
{
    BOOST_REQUIRE(type(here(blocks_of("sh")[0]) + "leasehold init").status.success());
    const auto units = blocks_of("ini");
    BOOST_REQUIRE(units.size() == 1U);
    std::istringstream lines{units[0]};
    std::string start_line;
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("ExecStart=")) start_line = line.substr(line.find('=') + 1);
    replace(start_line, "/usr/local/bin/leasehold", LEASEHOLD_TOOL);
    replace(start_line, "/opt/scheduler --foreground", "sh -c 'echo leads; exec sleep 60'");
    child_process service{
        {"env", "-u", "LEASEHOLD_STORE", "-u", "LEASEHOLD_STORE_FILE", "sh", "-c", "exec " + start_line},
        {.environment = {{"LEASEHOLD_DEFAULT_STORE_FILE", path("store")}}, .capture = true, .death_signal = SIGTERM}};
    BOOST_TEST(service.read_line().value_or("") == "leads");
    service.signal(SIGTERM);
    BOOST_TEST(service.wait().success());
}

BOOST_AUTO_TEST_SUITE_END()
