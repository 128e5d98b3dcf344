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
    bool held = false;
    leasehold::async_acquire(lease, boost::asio::bind_executor(io, [&held](std::error_code, auto guard) { held = guard.held(); }));
    io.run();
    std::cout << "leasehold::asio: " << (held ? "held" : "not held") << '\n';
    return held ? 0 : 1;
}
