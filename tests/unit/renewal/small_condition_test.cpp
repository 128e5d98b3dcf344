// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renewal/small_condition.hpp>

#include <support/eventually.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>

namespace small_condition_test {

using namespace std::chrono_literals;
using leasehold_test::eventually;

// Threads that wait until each of them may go.
struct fixture {
    fixture()
    {
        for (std::size_t i = 0; i < threads.size(); ++i) threads[i] = std::thread{[this, i] { wait(i); }};
    }
    ~fixture()
    {
        for (std::size_t i = 0; i < threads.size(); ++i) let(i);
        for (auto& each : threads) each.join();
    }

    void wait(std::size_t i)
    {
        std::unique_lock lock{mutex};
        ++waiting;
        while (!may_go[i]) {
            changed.wait(lock);
            ++wakes;
        }
        --waiting;
    }

    void let(std::size_t i)
    {
        const std::lock_guard lock{mutex};
        may_go[i] = true;
        changed.notify_all();
    }

    bool wait_now(int expected)
    {
        const std::lock_guard lock{mutex};
        return waiting == expected;
    }

    std::mutex mutex;
    leasehold::renewal::small_condition<std::condition_variable> changed;
    std::array<bool, 3> may_go{};
    int waiting = 0;
    int wakes = 0;
    std::array<std::thread, 3> threads;
};

}  // namespace small_condition_test

BOOST_FIXTURE_TEST_SUITE(small_condition_test, fixture)

BOOST_AUTO_TEST_CASE(waiters_leave_in_any_order)
{
    for (const auto& [goes, left] : {std::pair{1U, 2}, std::pair{0U, 1}, std::pair{2U, 0}}) {
        BOOST_TEST_REQUIRE(eventually([&, left = left] { return wait_now(left + 1); }));
        let(goes);
        BOOST_TEST_REQUIRE(eventually([&, left = left] { return wait_now(left); }));
    }
    const std::lock_guard lock{mutex};
    changed.notify_all();  // nobody is left in the list
}

BOOST_AUTO_TEST_CASE(everybody_who_waits_is_woken)
{
    BOOST_TEST_REQUIRE(eventually([&] { return wait_now(3); }));
    {
        const std::lock_guard lock{mutex};
        changed.notify_all();
    }
    const auto woken = [&] {
        const std::lock_guard lock{mutex};
        return wakes;
    };
    BOOST_TEST(eventually([&] { return woken() >= 3; }));
}

BOOST_AUTO_TEST_SUITE_END()
