// SPDX-License-Identifier: BSL-1.0
// needs: program
// A host that does not count the time it was suspended (CLOCK_BOOTTIME fails, as under some sandboxes and emulators): leases
// run by the monotonic clock there, and end. The decision is one for the process, so this is a program of its own.
#include <support/environment.hpp>

#include <leasehold/leasehold.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <ctime>
#include <thread>

#if defined(__linux__)
#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

bool refuses_boot_time = true;

}  // namespace

// In place of the C library's, for the whole program.
extern "C" int clock_gettime(clockid_t which, std::timespec* time) noexcept
{
    if (which == CLOCK_BOOTTIME && refuses_boot_time) {
        errno = EINVAL;
        return -1;
    }
    const auto result = static_cast<int>(::syscall(SYS_clock_gettime, which, time));
    if (which == CLOCK_BOOTTIME) time->tv_sec += 3600;  // as after a suspend
    return result;
}

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

lh::time_point monotonic_time()
{
    std::timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return lh::time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(boot_time_test)

BOOST_AUTO_TEST_CASE(without_boot_time_the_clock_is_the_monotonic_one)
{
    const lh::time_point before = monotonic_time();
    const lh::time_point now = lh::steady_clock{}.now();
    BOOST_TEST((before <= now && now <= monotonic_time()));
}

BOOST_AUTO_TEST_CASE(a_term_ends_there_too)
{
    lh::memory_store store;
    lh::basic_lease lease{store, "n", lh::lease_terms{.ttl = 50ms}, lh::steady_clock{}, lh::random_owner_id{}, lh::no_renewal{}};
    const auto guard = lease.try_acquire();
    BOOST_TEST(guard.held());
    std::this_thread::sleep_for(60ms);
    BOOST_TEST(!guard.held());
}

// After a suspend the two clocks are hours apart: to change over would end terms, or revive them.
BOOST_AUTO_TEST_CASE(the_clock_is_chosen_once)
{
    (void)lh::steady_clock{}.now();
    refuses_boot_time = false;
    const lh::time_point before = monotonic_time();
    const lh::time_point now = lh::steady_clock{}.now();
    BOOST_TEST((before <= now && now <= monotonic_time()));
    refuses_boot_time = true;
}

BOOST_AUTO_TEST_SUITE_END()

#else
BOOST_AUTO_TEST_CASE(boot_time_is_of_linux) { throw leasehold_test::missing_requirement{"CLOCK_BOOTTIME is Linux's"}; }
#endif
