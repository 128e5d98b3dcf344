// SPDX-License-Identifier: BSL-1.0
// Which signals the library's own threads take.
#include <leasehold/detail/thread_without_signals.hpp>
#include <leasehold/leasehold.hpp>
#include <support/eventually.hpp>
#include <support/thread_signals.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>

#if defined(__linux__)
#include <pthread.h>

BOOST_AUTO_TEST_SUITE(thread_without_signals_test)

namespace lh = leasehold;
using namespace leasehold_test;

BOOST_AUTO_TEST_CASE(a_quiet_thread_blocks_what_is_sent_and_takes_what_it_causes)
{
    sigset_t before, inside, after;
    pthread_sigmask(SIG_BLOCK, nullptr, &before);
    lh::detail::thread_without_signals([&] { pthread_sigmask(SIG_BLOCK, nullptr, &inside); }).join();
    pthread_sigmask(SIG_BLOCK, nullptr, &after);
    for (const int signal : sent_signals) BOOST_TEST(sigismember(&inside, signal) == 1, "signal " << signal);
    for (const int signal : caused_signals) BOOST_TEST(sigismember(&inside, signal) == 0, "signal " << signal);
    for (int signal = 1; signal < NSIG; ++signal)
        BOOST_TEST(sigismember(&before, signal) == sigismember(&after, signal), "the caller's mask of signal " << signal);
}

BOOST_AUTO_TEST_CASE(the_threads_behind_a_lease_are_quiet)
{
    const auto before = blocked_signals_of_threads();
    lh::memory_store store;
    lh::basic_lease lease{store, "n"};
    const auto guard = lease.try_acquire();
    // A thread blocks everything until it runs.
    BOOST_TEST(leasehold_test::eventually([&before] {
        const auto masks = blocked_signals_of_threads();
        return std::ranges::none_of(masks, [&](const auto& each) { return !before.contains(each.first) && blocks(each.second, SIGSEGV); });
    }));
    int threads = 0;
    for (const auto& [thread, mask] : blocked_signals_of_threads()) {
        if (before.contains(thread)) continue;
        ++threads;
        for (const int signal : sent_signals) BOOST_TEST(blocks(mask, signal), "signal " << signal);
        for (const int signal : caused_signals) BOOST_TEST(!blocks(mask, signal), "signal " << signal);
    }
    BOOST_TEST(threads >= 2);  // the watchdog and a worker
}

BOOST_AUTO_TEST_SUITE_END()
#endif
