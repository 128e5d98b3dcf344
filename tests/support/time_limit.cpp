// SPDX-License-Identifier: BSL-1.0
#include <support/time_limit.hpp>

#include <boost/test/unit_test.hpp>

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace leasehold_test {

std::optional<std::chrono::seconds> time_limit::from_environment()
{
    const char* const seconds = std::getenv("LEASEHOLD_TIME_LIMIT");
    if (!seconds) return std::nullopt;
    return std::chrono::seconds{std::strtol(seconds, nullptr, 10)};
}

time_limit::time_limit(std::chrono::seconds limit) : limit_{limit}
{
    // Signals are for the tests' threads.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    watches_ = std::thread{[this] { watch(); }};
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

time_limit::~time_limit()
{
    {
        const std::lock_guard lock{mutex_};
        has_ended_ = true;
    }
    ended_.notify_one();
    watches_.join();
}

void time_limit::test_unit_start(const boost::unit_test::test_unit& unit)
{
    const std::lock_guard lock{mutex_};
    test_ = unit.full_name();
}

void time_limit::watch()
{
    std::unique_lock lock{mutex_};
    if (ended_.wait_until(lock, std::chrono::steady_clock::now() + limit_, [this] { return has_ended_; })) return;
    std::cerr << "\nHUNG: after " << limit_.count() << " s this program is still in the test " << test_ << ". Its threads:" << std::endl;
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // otherwise a child may not look at its parent where ptrace is restricted
    const std::string show = "eu-stack -p " + std::to_string(::getpid()) + " >&2 || echo 'eu-stack (Debian: elfutils) shows nothing' >&2";
    [[maybe_unused]] const int status = std::system(show.c_str());
    std::_Exit(EXIT_FAILURE);
}

}  // namespace leasehold_test
