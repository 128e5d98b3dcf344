// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_TIME_LIMIT_HPP
#define LEASEHOLD_TESTS_SUPPORT_TIME_LIMIT_HPP

#include <boost/test/tree/observer.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace leasehold_test {

/// Ends a test program that hangs, and says in which test and what its threads are doing. CTest would only kill it.
///
/// Register it as an observer of Boost.Test. The threads are shown if eu-stack is installed (Debian: elfutils).
class time_limit final : public boost::unit_test::test_observer {
public:
    /// What the environment variable LEASEHOLD_TIME_LIMIT says, in seconds. CTest sets it; without it there is no limit.
    [[nodiscard]] static std::optional<std::chrono::seconds> from_environment();

    /// Starts the thread that watches. The time counts from here.
    explicit time_limit(std::chrono::seconds limit);
    time_limit(const time_limit&) = delete;
    time_limit& operator=(const time_limit&) = delete;
    ~time_limit() override;

private:
    void test_unit_start(const boost::unit_test::test_unit& unit) override;
    void watch();

    const std::chrono::seconds limit_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool has_ended_ = false;
    std::string test_;
    std::thread watches_;
};

}  // namespace leasehold_test

#endif
