// SPDX-License-Identifier: BSL-1.0
// The processes of the test support: servers, contenders and tools are started by it.
#include <support/child_process.hpp>
#include <support/eventually.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(child_processes)

using namespace leasehold_test;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(a_process_outlives_the_thread_that_started_it)
{
    std::optional<child_process> echo;
    std::thread{[&] { echo.emplace(std::vector<std::string>{"cat"}, process_options{.capture = true}); }}.join();
    BOOST_TEST(!echo->wait_for(200ms).has_value());
    BOOST_TEST(echo->write("still here\n"));
    BOOST_TEST(echo->read_line().value_or("") == "still here");
}

// Also one that another process of the test has started, which is a copy of it without its threads.
BOOST_AUTO_TEST_CASE(a_process_does_not_outlive_the_one_that_started_it)
{
    std::array<int, 2> told{};
    BOOST_REQUIRE(::pipe2(told.data(), O_CLOEXEC) == 0);
    const pid_t starter = ::fork();
    if (starter == 0) {
        const child_process started{{"sleep", "600"}};
        const pid_t pid = started.pid();
        if (::write(told[1], &pid, sizeof pid) == sizeof pid) ::pause();
        ::_exit(1);
    }
    BOOST_REQUIRE(starter > 0);
    pid_t started = 0;
    BOOST_REQUIRE(::read(told[0], &started, sizeof started) == sizeof started);
    BOOST_TEST(::kill(started, 0) == 0);
    ::kill(starter, SIGKILL);
    ::waitpid(starter, nullptr, 0);
    // Nobody's child now: the process that takes it over may be slow to reap it.
    const auto runs = [&] {
        std::string stat;
        std::getline(std::ifstream{"/proc/" + std::to_string(started) + "/stat"}, stat);
        const std::size_t bracket = stat.rfind(')');
        return bracket != std::string::npos && stat.substr(bracket + 2, 1) != "Z";
    };
    BOOST_TEST(eventually([&] { return !runs(); }, 10s));
    for (const int descriptor : told) ::close(descriptor);
}

BOOST_AUTO_TEST_CASE(program_that_cannot_be_run_is_an_error)
{
    BOOST_CHECK_THROW(child_process({"no-such-program-here"}), std::system_error);
}

BOOST_AUTO_TEST_CASE(many_threads_may_start_processes_at_once)
{
    std::array<std::thread, 8> threads;
    std::array<bool, threads.size()> well{};
    for (std::size_t i = 0; i < threads.size(); ++i)
        threads[i] = std::thread{[&well, i] {
            child_process echo{{"cat"}, {.capture = true}};
            well[i] = echo.write("here\n");
            echo.close_input();
            well[i] = well[i] && echo.read_all() == "here\n" && echo.wait().success();
        }};
    for (std::thread& thread : threads) thread.join();
    for (const bool each : well) BOOST_TEST(each);
}

BOOST_AUTO_TEST_SUITE_END()
