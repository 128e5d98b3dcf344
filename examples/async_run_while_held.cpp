// SPDX-License-Identifier: BSL-1.0
// ctest:

// A coroutine runs while a lease is held, without a thread for the wait: a loss of the lease cancels it, and its end releases the lease.
#include <leasehold/asio.hpp>
#include <leasehold/leasehold.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <utility>

namespace lh = leasehold;
namespace net = boost::asio;
using namespace std::chrono_literals;

int main()
{
    lh::memory_store store;
    lh::basic_lease lease{store, "nightly-report"};
    net::io_context io;
    const auto report = [&]() -> net::awaitable<void> {
        net::steady_timer page_printed{io, 10ms};
        co_await page_printed.async_wait(net::use_awaitable);  // a loss ends each wait
        std::cout << "the report is printed\n";
    };
    const auto report_once = [&]() -> net::awaitable<void> {
        auto guard = co_await lh::async_acquire(lease, net::use_awaitable);
        co_await lh::async_run_while_held(std::move(guard), report, net::use_awaitable);  // throws lh::lease_lost after a loss
    };
    net::co_spawn(io, report_once(), [](const std::exception_ptr& failed) {
        if (failed) std::rethrow_exception(failed);
    });
    io.run();
    return lease.inspect() ? 1 : 0;  // released
}
