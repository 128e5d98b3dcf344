// SPDX-License-Identifier: BSL-1.0
// `leasehold run` as a service of systemd's Type=notify: what it tells the manager, which here is a socket of the test's own.
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(tool_service)

using namespace leasehold_test;

namespace {

class manager {
public:
    // As in NOTIFY_SOCKET: a path, or an abstract name after an @.
    explicit manager(const std::string& name) : socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)}
    {
        address_.sun_family = AF_UNIX;
        std::copy(name.begin(), name.end(), address_.sun_path);
        if (name.front() == '@') address_.sun_path[0] = '\0';
        length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (name.front() == '@' ? 0 : 1));
        if (::bind(socket_, address(), length_) != 0) throw std::system_error{errno, std::generic_category(), "bind " + name};
    }
    manager(const manager&) = delete;
    manager& operator=(const manager&) = delete;
    ~manager() { ::close(socket_); }

    // The next message; nothing where there is none.
    std::optional<std::string> heard(std::chrono::milliseconds within = 30s) const
    {
        pollfd watched{socket_, POLLIN, 0};
        if (::poll(&watched, 1, static_cast<int>(within.count())) != 1) return std::nullopt;
        std::array<char, 4096> text{};
        const ssize_t size = ::recv(socket_, text.data(), text.size(), 0);
        return std::string{text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
    }

    std::string hears() const { return heard().value_or("nothing"); }

    // Until nobody gets a message through.
    void fill() const
    {
        const int from = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        while (::sendto(from, "x", 1, MSG_DONTWAIT, address(), length_) == 1) {}
        ::close(from);
    }

private:
    const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }

    int socket_;
    sockaddr_un address_{};
    socklen_t length_ = 0;
};

const std::vector<std::string> under_job{"run", "job", "--", "sh", "-c", "echo on; exec sleep 60"};

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_manager_is_told_when_the_lease_is_held_and_when_the_command_has_ended, tool_fixture)
{
    const std::string abstract = "@leasehold-test-" + std::to_string(::getpid());
    for (const std::string& name : {path("notify"), abstract}) {
        const manager told{name};
        auto tool = start({"run", "job", "--nowait", "--", "sh", "-c", "echo \"<$NOTIFY_SOCKET>\"; read line"}, {{"NOTIFY_SOCKET", name}});
        BOOST_TEST(told.hears().starts_with("READY=1\nSTATUS='job' is held by this host, with token "), name);
        BOOST_TEST(tool.read_line().value_or("") == "<>");  // the command is not the service
        tool.write("go\n");
        BOOST_TEST(told.hears() == "STOPPING=1\nSTATUS=the command has ended\n");
        BOOST_TEST(tool.wait().success());
        BOOST_TEST(!told.heard(0ms).has_value());
    }
}

BOOST_FIXTURE_TEST_CASE(a_service_that_waits_for_its_lease_is_not_ready, tool_fixture)
{
    const manager told{path("notify")};
    auto holder = start(under_job);
    BOOST_REQUIRE(holder.read_line());
    auto waiter = start(under_job, {{"NOTIFY_SOCKET", path("notify")}});
    BOOST_TEST(told.hears() == "STATUS=waiting for 'job'\n");
    holder.signal(SIGTERM);
    holder.wait();
    BOOST_TEST(told.hears() == "READY=1\nSTATUS='job' is held by this host, with token 2\n");
}

BOOST_FIXTURE_TEST_CASE(the_manager_is_told_of_a_loss_and_of_a_signal_once, tool_fixture)
{
    const manager told{path("notify")};
    auto loses = start({"run", "job", "--nowait", "--ttl", "6s", "--", "sh", "-c", "exec sleep 60"}, {{"NOTIFY_SOCKET", path("notify")}});
    BOOST_TEST(told.hears().starts_with("READY=1\n"));
    BOOST_TEST(run_words("release job --force").status.success());
    BOOST_TEST(told.hears() == "STOPPING=1\nSTATUS=the lease 'job' is lost: it ran out or was taken away; the command is asked to end\n");
    BOOST_TEST(loses.wait().code == 76);
    BOOST_TEST(!told.heard(0ms).has_value());

    auto ends = start({"run", "job", "--nowait", "--", "sh", "-c", "exec sleep 60"}, {{"NOTIFY_SOCKET", path("notify")}});
    BOOST_TEST(told.hears().starts_with("READY=1\n"));
    ends.signal(SIGTERM);
    BOOST_TEST(told.hears() == "STOPPING=1\nSTATUS=asked to end by a signal\n");
    BOOST_TEST(ends.wait().code == 128 + SIGTERM);
    BOOST_TEST(!told.heard(0ms).has_value());
}

BOOST_FIXTURE_TEST_CASE(the_manager_is_told_of_the_end_of_a_schedule, tool_fixture)
{
    const manager told{path("notify")};
    const std::map<std::string, std::string> environment{{"NOTIFY_SOCKET", path("notify")}};
    const auto hears_of_stopping = [&told] {
        for (std::string text = told.hears(); text != "nothing"; text = told.hears())
            if (text.starts_with("STOPPING=1\n")) return text;
        return std::string{"nothing"};
    };
    for (const char* subcommand : {"every", "run"}) {  // a command that goes on after the signal
        const std::string name = std::string{"job of "} + subcommand;
        auto tool = start({subcommand, name, "--once-per", "1s", "--ttl", "10m", "--kill-after", "1m", "--", "sh", "-c",
                           "trap '' TERM; echo on; read line"},
                          environment);
        BOOST_REQUIRE(tool.read_line().value_or("") == "on");
        tool.signal(SIGTERM);
        BOOST_TEST(hears_of_stopping() == "STOPPING=1\nSTATUS=asked to end by a signal\n", subcommand);
        tool.write("go\n");
        tool.wait();
        BOOST_TEST(!told.heard(0ms).has_value());
    }
    auto waits = start({"every", "job", "--once-per", "365d", "--table", "nowhere", "--", "true"}, environment);
    BOOST_TEST(told.hears() == "READY=1\nSTATUS=waiting for the next run of 'job'\n", "without a database, too");
    waits.signal(SIGTERM);
    BOOST_TEST(waits.wait().success());
    BOOST_TEST(hears_of_stopping() == "STOPPING=1\nSTATUS=asked to end by a signal\n");
    BOOST_TEST(run({"run", "other", "--once-per", "365d", "--", "true"}, environment).status.success());
    BOOST_TEST(hears_of_stopping() == "STOPPING=1\nSTATUS=the command has ended\n");
}

BOOST_FIXTURE_TEST_CASE(the_manager_is_not_told_of_an_end_by_a_signal_after_which_commands_go_on, tool_fixture)
{
    const manager told{path("notify")};
    const std::string goes_on = "trap 'echo hup' HUP; echo on; until [ -e " + path("go") + " ]; do sleep 0.05; done";
    for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "job"}, {"run", "report", "--once-per", "365d"}}) {
        std::filesystem::remove(path("go"));
        std::vector<std::string> whole = words;
        whole.insert(whole.end(), {"--ttl", "10m", "--", "sh", "-c", goes_on});
        auto tool = start(whole, {{"NOTIFY_SOCKET", path("notify")}});
        BOOST_REQUIRE(tool.read_line().value_or("") == "on");
        while (told.heard(0ms)) {}  // that it is ready
        tool.signal(SIGHUP);
        BOOST_TEST(tool.read_line().value_or("") == "hup");
        BOOST_TEST(!told.heard(0ms).has_value(), words[1]);
        std::ofstream{path("go")};
        BOOST_TEST(told.hears() == "STOPPING=1\nSTATUS=the command has ended\n", words[1]);
        tool.wait();
    }
}

BOOST_FIXTURE_TEST_CASE(a_manager_that_is_not_there_or_does_not_read_keeps_nothing_from_running, tool_fixture)
{
    const manager full{path("full")};
    full.fill();
    for (const std::string& name :
         {path("full"), path("nobody"), std::string{}, std::string{"@"}, std::string{"vsock:2:1"}, "/" + std::string(200, 'x')}) {
        const auto result = run({"run", "job", "--", "echo", "ran"}, {{"NOTIFY_SOCKET", name}});
        BOOST_TEST(result.status.success(), name);
        BOOST_TEST(result.out == "ran\n", name);
        BOOST_TEST(result.err == "", name << ": " << result.err);
    }
}

BOOST_AUTO_TEST_SUITE_END()
