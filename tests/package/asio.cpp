// SPDX-License-Identifier: BSL-1.0
#include <leasehold/asio.hpp>
#include <leasehold/leasehold.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <iostream>
#include <system_error>

int main()
{
    leasehold::memory_store store;
    leasehold::basic_lease lease{store, "nightly-report"};
    boost::asio::io_context io;
    leasehold::async_acquire(lease, boost::asio::bind_executor(io, [](std::error_code, auto guard) {
        if (guard) std::cout << "held under token " << guard.token() << '\n';
    }));
    io.run();
}
