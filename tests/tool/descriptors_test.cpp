// SPDX-License-Identifier: BSL-1.0
// `leasehold` with standard streams that are closed, or that nobody reads, and with very many open files.
#include <message.hpp>
#include <tool/run_commands.hpp>
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
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

/// A command that fails, after it has said which process it leaves behind.
const std::vector<std::string> leaves_one{"--", "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!; exit 1"};

/// The tool as the command of another one, with `redirections` of the shell.
std::vector<std::string> redirected(const std::string& redirections, const std::vector<std::string>& arguments)
{
    std::vector<std::string> command{"sh", "-c", "exec \"$0\" \"$@\" " + redirections, LEASEHOLD_TOOL};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_with({"outer"}, command);
}

/// A pipe with a name. It is full, and nobody reads it but read().
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

    /// All that is in it.
    std::string read() const
    {
        std::string text;
        std::array<char, 4096> page{};
        for (ssize_t size = 0; (size = ::read(end_, page.data(), page.size())) > 0;)
            text.append(page.data(), static_cast<std::size_t>(size));
        return text;
    }

private:
    int end_ = -1;
};

/// This process's standard error is that file meanwhile.
class redirected_errors {
public:
    explicit redirected_errors(const std::string& path)
    {
        const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        if (file < 0) throw std::system_error{errno, std::generic_category(), path};
        before_ = ::dup(STDERR_FILENO);
        ::dup2(file, STDERR_FILENO);
        ::close(file);
    }
    redirected_errors(const redirected_errors&) = delete;
    redirected_errors& operator=(const redirected_errors&) = delete;
    ~redirected_errors()
    {
        ::dup2(before_, STDERR_FILENO);
        ::close(before_);
    }

private:
    int before_ = -1;
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
    const full_pipe errors{path("errors")};
    for (auto arguments : {std::vector<std::string>{"run", "job"}, std::vector<std::string>{"elect", "job", "--restart", "never"}}) {
        arguments.insert(arguments.end(), leaves_one.begin(), leaves_one.end());
        auto tool = start(arguments);
        const pid_t left = process_in(tool.read_line());
        BOOST_TEST(tool.wait(20s).code == 1, arguments.front());
        BOOST_TEST(!held("job"), arguments.front());
        ::kill(left, SIGKILL);
    }
}

BOOST_FIXTURE_TEST_CASE(shards_are_handed_over_though_nobody_reads_messages, tool_fixture)
{
    const full_pipe errors{path("errors")};
    std::vector<std::string> arguments{"shard", "job", "--of", "1", "--pause", "10m"};
    arguments.insert(arguments.end(), leaves_one.begin(), leaves_one.end());
    auto host = start(arguments);
    const pid_t left = process_in(host.read_line());
    BOOST_TEST(eventually([&] { return !held("job/0"); }, 20s));
    host.signal(SIGTERM);
    BOOST_TEST(host.wait(20s).success());
    BOOST_TEST(run_words("ps job").out == "job has no members\n");
    ::kill(left, SIGKILL);
}

BOOST_FIXTURE_TEST_CASE(other_leases_of_a_set_are_released_after_a_loss_though_nobody_reads_messages, tool_fixture)
{
    const full_pipe errors{path("errors")};
    auto tool = start(run_with({"--all", "a,b", "--ttl", "3s"}, worker));
    BOOST_REQUIRE(tool.read_line());
    BOOST_TEST(run_words("release a --force").status.success());
    BOOST_TEST(tool.wait(20s).code == 76);
    BOOST_TEST(!held("b"));
}

BOOST_FIXTURE_TEST_CASE(missed_run_is_left_out_though_nobody_reads_messages, tool_fixture)
{
    const full_pipe errors{path("errors")};
    const auto end_at = [this](const std::string& time) {
        auto environment = faketime_environment("@2027-01-" + time);
        environment["TZ"] = "UTC";
        return start(run_with({"job", "--once-per", "24h", "--at", "03:00", "--catch-up", "none"}, {"true"}), environment).wait(20s);
    };
    BOOST_TEST(end_at("01 03:05:00").success());
    BOOST_TEST(end_at("02 03:05:00").code == 75);
}

BOOST_FIXTURE_TEST_CASE(messages_that_nobody_reads_take_the_time_of_one_and_those_after_them_are_read, tool_fixture)
{
    const full_pipe errors{path("errors")};
    const redirected_errors meanwhile{path("errors")};
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) tool::complain("dropped");
    BOOST_TEST(std::chrono::steady_clock::now() - begun < 10s);
    static_cast<void>(errors.read());
    tool::complain("read");
    BOOST_TEST(errors.read() == "leasehold: read\n");
}

BOOST_FIXTURE_TEST_CASE(message_that_finds_room_for_a_part_of_it_is_cut, tool_fixture)
{
    const full_pipe errors{path("errors")};
    const std::size_t size = errors.read().size();
    const redirected_errors meanwhile{path("errors")};
    tool::complain(std::string(2 * size, 'x'));
    const std::string text = errors.read();
    BOOST_TEST(text.starts_with("leasehold: xxx"));
    BOOST_TEST(text.size() == size);
}

BOOST_FIXTURE_TEST_CASE(files_beyond_an_fd_set_keep_nothing_from_running, tool_fixture)
{
    const many_open_files inherited;
    const auto result = run({"run", "job", "--", "echo", "on"});
    BOOST_TEST(result.out == "on\n");
    BOOST_TEST(result.status.success());
}

BOOST_AUTO_TEST_SUITE_END()
