// SPDX-License-Identifier: BSL-1.0
// `leasehold` with standard streams that are closed, or that nobody reads, and with very many open files.
#include <tool/run_commands.hpp>
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace leasehold_test;

BOOST_AUTO_TEST_SUITE(tool_descriptors)

namespace {

/// The tool as the command of another one, with `redirections` of the shell.
std::vector<std::string> redirected(const std::string& redirections, const std::vector<std::string>& arguments)
{
    std::vector<std::string> command{"sh", "-c", "exec \"$0\" \"$@\" " + redirections, LEASEHOLD_TOOL};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_with({"outer"}, command);
}

/// A pipe with a name. It is full, and nobody reads it until the test ends.
class full_pipe {
public:
    explicit full_pipe(const std::string& path)
    {
        if (::mkfifo(path.c_str(), 0600) != 0 || (end_ = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0)
            throw std::system_error{errno, std::generic_category(), path};
        const std::array<char, 4096> page{};
        while (::write(end_, page.data(), page.size()) > 0) {}
    }
    full_pipe(const full_pipe&) = delete;
    full_pipe& operator=(const full_pipe&) = delete;
    ~full_pipe() { ::close(end_); }

private:
    int end_ = -1;
};

/// All numbers that fit into an fd_set are taken, and those who are started inherit them.
class many_open_files {
public:
    many_open_files()
    {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit more = before_;
        more.rlim_cur = std::min<rlim_t>(2 * FD_SETSIZE, before_.rlim_max);
        ::setrlimit(RLIMIT_NOFILE, &more);
        while (files_.empty() || files_.back() < FD_SETSIZE) {
            files_.push_back(::open("/dev/null", O_RDONLY));
            if (files_.back() < 0) throw std::system_error{errno, std::generic_category(), "/dev/null"};
        }
    }
    many_open_files(const many_open_files&) = delete;
    many_open_files& operator=(const many_open_files&) = delete;
    ~many_open_files()
    {
        for (const int each : files_) ::close(each);
        ::setrlimit(RLIMIT_NOFILE, &before_);
    }

private:
    rlimit before_{};
    std::vector<int> files_;
};

}  // namespace

// What is said goes nowhere then; above all not to what is opened next and would get the stream's number.
BOOST_FIXTURE_TEST_CASE(closed_standard_streams_are_nobody_else_s, tool_fixture)
{
    BOOST_TEST(run(redirected("2>&-", {"run", "job", "--verbose", "--", "echo", "on"})).out == "on\n");
    const auto again = run(redirected("2>&-", {"elect", "job", "--restart", "on-failure", "--pause", "1ms", "--", "sh", "-c",
                                               "echo on; test -e \"$0\" || { touch \"$0\"; exit 1; }", path("again")}));
    BOOST_TEST(again.out == "on\non\n");
    BOOST_TEST(again.status.success());
    BOOST_TEST(run(redirected("<&- >&-", {"list"})).status.code == 70);
}

BOOST_FIXTURE_TEST_CASE(streams_that_are_closed_are_so_for_the_command_too, tool_fixture)
{
    const std::string which = "for each in 0 1 2; do test -e /proc/self/fd/$each && echo $each; done >\"$0\"; true";
    BOOST_TEST(run(redirected("<&- 2>&-", {"run", "job", "--", "sh", "-c", which, path("open")})).status.success());
    BOOST_TEST(file("open") == "1\n");
}

// As where the reader of a log hangs, or a terminal is held with Ctrl-S.
BOOST_FIXTURE_TEST_CASE(a_tool_that_is_killed_takes_its_command_along_though_nobody_reads_its_messages, tool_fixture)
{
    const full_pipe errors{path("errors")};
    auto tool = start(run_with({"job", "--kill-after", "500ms"}, stubborn));
    const pid_t child = process_in(tool.read_line());
    const auto tree = process_tree(tool.pid());
    BOOST_REQUIRE(tree.size() > 2);
    tool.kill();
    BOOST_TEST(eventually([&] { return !alive(child); }, 30s));
    BOOST_TEST(eventually([&] { return !alive(tree[1]); }, 30s));
}

BOOST_FIXTURE_TEST_CASE(the_lease_is_released_though_nobody_reads_messages, tool_fixture)
{
    const std::vector<std::string> leaves_one{"sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!; exit 1"};
    const full_pipe errors{path("errors")};
    for (const char* subcommand : {"run", "elect"}) {
        auto arguments = run_with({"job"}, leaves_one);
        arguments.front() = subcommand;
        auto tool = start(arguments);
        const pid_t left = process_in(tool.read_line());
        BOOST_TEST(eventually([&] { return !held("job"); }, 10s), subcommand);
        BOOST_TEST(tool.running());
        ::kill(left, SIGKILL);
    }
}

BOOST_FIXTURE_TEST_CASE(files_beyond_an_fd_set_keep_nothing_from_running, tool_fixture)
{
    const many_open_files inherited;
    const auto result = run({"run", "job", "--", "echo", "on"});
    BOOST_TEST(result.out == "on\n");
    BOOST_TEST(result.status.success());
}

BOOST_AUTO_TEST_SUITE_END()
