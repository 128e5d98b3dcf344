// SPDX-License-Identifier: BSL-1.0
// Another process for exit_test: leaver CONNECTION-STRING. It ends while a call that it has given up is carried out by the driver.
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <system_error>

int main(int, char** arguments)
{
    using namespace std::chrono_literals;
    leasehold::odbc_store store{arguments[1], leasehold::odbc_options{.call_timeout = 100ms}};
    store.create_schema();
    ::setenv("LYING_DRIVER_DELAY", "300", 1);
    std::error_code ec;
    static_cast<void>(store.inspect("n", ec));
    std::cout << ec.message() << std::endl;
}
