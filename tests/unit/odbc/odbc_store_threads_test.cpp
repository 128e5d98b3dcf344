// SPDX-License-Identifier: BSL-1.0
// Which signals the threads of the store's sessions take.
#include <leasehold/odbc/odbc_store.hpp>
#include <support/thread_signals.hpp>

#include <boost/test/unit_test.hpp>

#include <system_error>

#if defined(__linux__)

BOOST_AUTO_TEST_SUITE(odbc_store_threads_test)

namespace lh = leasehold;
using namespace leasehold_test;

BOOST_AUTO_TEST_CASE(the_threads_of_sessions_are_quiet)
{
    const auto before = blocked_signals_of_threads();
    lh::odbc_store store{"Driver=/no/such/driver.so;Server=nowhere"};
    std::error_code ec;
    (void)store.inspect("n", ec);
    BOOST_TEST(static_cast<bool>(ec));
    int threads = 0;
    for (const auto& [thread, mask] : blocked_signals_of_threads()) {
        if (before.contains(thread)) continue;
        ++threads;
        for (const int signal : sent_signals) BOOST_TEST(blocks(mask, signal), "signal " << signal);
        for (const int signal : caused_signals) BOOST_TEST(!blocks(mask, signal), "signal " << signal);
    }
    BOOST_TEST(threads >= 1);
}

BOOST_AUTO_TEST_SUITE_END()
#endif
