// SPDX-License-Identifier: BSL-1.0
// --metrics-file: the real program, on SQLite.
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(tool_metrics)

using namespace leasehold_test;

namespace {

const std::vector<std::string> until_told{"sh", "-c", "echo on; exec sleep 60"};

}  // namespace

struct metrics_fixture : tool_fixture {
    const std::string metrics = path("job.prom");

    std::vector<std::string> counted(std::vector<std::string> words, const std::vector<std::string>& command = until_told) const
    {
        for (const std::string& each : {std::string{"--metrics-file"}, metrics, std::string{"--"}}) words.push_back(each);
        words.insert(words.end(), command.begin(), command.end());
        return words;
    }

    // Whether the file comes to have a line for this, in the labels' order.
    bool counts(const std::string& family, const std::string& labels, const std::string& value) const
    {
        return file_gets("job.prom", "\n" + family + "{" + labels + ",file=\"job.prom\"} " + value + "\n");
    }

    std::ptrdiff_t files_like_it() const
    {
        return std::count_if(std::filesystem::directory_iterator{folder()}, std::filesystem::directory_iterator{},
                             [](const auto& each) { return each.path().filename().string().starts_with("job.prom"); });
    }
};

BOOST_FIXTURE_TEST_CASE(the_metrics_file_shows_the_lease_held_and_then_not_and_nothing_is_left_beside_it, metrics_fixture)
{
    for (const char* subcommand : {"run", "elect"}) {
        auto tool = start(counted({subcommand, "job"}));
        BOOST_REQUIRE(tool.read_line().value_or("") == "on");
        BOOST_TEST(counts("leasehold_held", "lease=\"job\"", "1"), file("job.prom"));
        tool.signal(SIGTERM);
        static_cast<void>(tool.wait());
        BOOST_TEST(counts("leasehold_held", "lease=\"job\"", "0"), file("job.prom"));
        BOOST_TEST(counts("leasehold_releases_total", "lease=\"job\",outcome=\"released\"", "1"), file("job.prom"));
        BOOST_TEST(files_like_it() == 1);
    }
    BOOST_TEST(counts("leasehold_fencing_token", "lease=\"job\"", "2"), file("job.prom"));
}

BOOST_FIXTURE_TEST_CASE(a_loss_is_in_the_metrics_file, metrics_fixture)
{
    auto tool = start(counted({"run", "job", "--ttl", "6s"}));
    BOOST_REQUIRE(tool.read_line());
    BOOST_TEST(run_words("release job --force").status.success());
    BOOST_TEST(tool.wait().code == 76);
    BOOST_TEST(counts("leasehold_lost_total", "lease=\"job\",reason=\"over\"", "1"), file("job.prom"));
    BOOST_TEST(counts("leasehold_held", "lease=\"job\"", "0"), file("job.prom"));
}

BOOST_FIXTURE_TEST_CASE(waiting_run_writes_metrics_too, metrics_fixture)
{
    auto holder = start({"run", "job", "--", "sh", "-c", "echo on; exec sleep 60"});
    BOOST_REQUIRE(holder.read_line());
    auto waiter = start(counted({"run", "job"}));
    BOOST_TEST(file_gets("job.prom", "leasehold_attempts_total{lease=\"job\",outcome=\"busy\""));
    BOOST_TEST(counts("leasehold_held", "lease=\"job\"", "0"), file("job.prom"));
    holder.signal(SIGTERM);
    holder.wait();
    BOOST_REQUIRE(waiter.read_line());
    BOOST_TEST(counts("leasehold_held", "lease=\"job\"", "1"), file("job.prom"));
}

BOOST_FIXTURE_TEST_CASE(rights_of_every_kind_are_counted, metrics_fixture)
{
    const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> rights{
        {{"run", "--permits", "2", "licences"}, {"licences/0", "licences/1"}},
        {{"run", "--shared", "catalog"}, {"catalog/r"}},
        {{"run", "--exclusive", "catalog"}, {"catalog/writer"}},
        {{"run", "--all", "a,b"}, {"a"}},
    };
    for (const auto& [words, any_of] : rights) {
        BOOST_TEST(run(counted(words, {"true"})).status.success());
        const std::string text = file("job.prom");
        BOOST_TEST(std::ranges::any_of(any_of,
                                       [&](const std::string& name) {
                                           return text.find("\nleasehold_fencing_token{lease=\"" + name) != std::string::npos;
                                       }),
                   any_of.front());
    }
}

BOOST_FIXTURE_TEST_CASE(renewals_reach_the_metrics_file_and_nobody_reads_half_of_it, metrics_fixture)
{
    auto tool = start(counted({"run", "job", "--ttl", "6s"}));
    BOOST_REQUIRE(tool.read_line());
    const std::string last = "\nleasehold_store_errors_total{code=\"other\",file=\"job.prom\"} 0\n";
    bool whole = true;
    const auto renewed = [&] {
        const std::string text = file("job.prom");
        whole = whole && text.ends_with(last);
        const std::string sample = "\nleasehold_renewals_total{lease=\"job\",outcome=\"renewed\",file=\"job.prom\"} ";
        const std::size_t at = text.find(sample);
        return at != std::string::npos && std::stoi(text.substr(at + sample.size())) >= 1;
    };
    BOOST_TEST(eventually(renewed, 30s));
    BOOST_TEST(whole);
}

BOOST_FIXTURE_TEST_CASE(a_metrics_file_that_can_t_be_written_is_an_error_before_the_lease_is_acquired, metrics_fixture)
{
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"", "--metrics-file is empty"},
        {path("missing/job.prom"), "No such file or directory"},
        {path("leases.db/job.prom"), "Not a directory"},
        {folder().string(), "not a regular file"},
        {path("new/"), "it ends with a folder"},
        {"/dev/null", "not a regular file"},
        {path("job\xff.prom"), "not UTF-8"},
    };
    for (const char* subcommand : {"run", "elect"}) {
        for (const auto& [where, expected] : wrong) {
            const auto result = run({subcommand, "job", "--metrics-file", where, "--", "touch", path("ran")});
            BOOST_TEST(result.status.code == 64, where << ": " << result.err);
            BOOST_TEST(result.err.find(expected) != std::string::npos, where << ": " << result.err);
        }
    }
    BOOST_TEST(!std::filesystem::exists(path("ran")));
    BOOST_TEST(!std::filesystem::is_regular_file("/dev/null"));
    BOOST_TEST(run({"run", "job", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN"}).out == "1\n");
}

BOOST_FIXTURE_TEST_CASE(a_metrics_file_that_can_no_longer_be_written_is_told_of_once_and_ends_nothing, metrics_fixture)
{
    std::filesystem::create_directory(path("folder"));
    const std::string there = path("folder/job.prom");
    auto tool = start({"run", "job", "--ttl", "6s", "--metrics-file", there, "--", "sh", "-c", "echo on; read line; exit 3"});
    BOOST_REQUIRE(tool.read_line());
    // Again and again: it may be written into meanwhile.
    BOOST_REQUIRE(eventually([&] {
        std::error_code ec;
        std::filesystem::remove_all(path("folder"), ec);
        return !std::filesystem::exists(path("folder"));
    }));
    const std::string complaint = "leasehold: can't write the metrics file '" + there + "': No such file or directory\n";
    BOOST_TEST(file_gets("errors", complaint));
    tool.write("go\n");
    BOOST_TEST(tool.wait().code == 3);  // after another write that failed
    BOOST_TEST(errors() == complaint);
}

BOOST_AUTO_TEST_SUITE_END()
