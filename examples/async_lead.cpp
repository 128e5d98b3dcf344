// SPDX-License-Identifier: BSL-1.0
// ctest:

// A leader election without a thread: a coroutine runs while this process leads, and is cancelled when the leadership ends.
// asio_service is a whole service that does this.
#include <leasehold/asio.hpp>
#include <leasehold/leasehold.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <exception>
#include <iostream>

namespace lh = leasehold;
namespace net = boost::asio;
using namespace std::chrono_literals;

int main()
{
    lh::memory_store store;
    lh::basic_lease lease{store, "scheduler"};
    lh::leader_election election{lease};
    net::cancellation_signal stop;  // emitted after SIGTERM in a service
    net::io_context io;
    const auto lead = [&](auto& term) -> net::awaitable<void> {
        for (int round = 1; term.held(); ++round) {
            std::cout << "round " << round << " under token " << term.token() << '\n';
            if (round == 3) stop.emit(net::cancellation_type::terminal);
            net::steady_timer pause{io, 10ms};
            co_await pause.async_wait(net::use_awaitable);  // the end of the term ends it
        }
    };
    const auto ended = [](const std::exception_ptr& failed) {
        if (failed) std::rethrow_exception(failed);
    };
    lh::async_lead(election, lead, net::bind_cancellation_slot(stop.slot(), net::bind_executor(io, ended)));
    io.run();
    return lease.inspect() ? 1 : 0;  // released
}
