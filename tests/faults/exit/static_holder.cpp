// SPDX-License-Identifier: BSL-1.0
// Another process for exit_test: static_holder CONNECTION-STRING, or: static_holder CONNECTION-STRING at_once, which leaves by std::_Exit()
// while a guard on the stack holds a lease of a static store.
#include <leasehold/odbc/odbc_store.hpp>
#include <support/static_holder.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

int main(int count, char** arguments)
{
    const auto make = [&] {
        return leasehold::odbc_store{arguments[1], leasehold::odbc_options{.call_timeout = std::chrono::seconds{2}}};
    };
    if (count == 2) return leasehold_test::hold_by_static_objects(make);
    static leasehold::odbc_store store = make();
    leasehold::basic_lease lease{store, "held on the stack", std::chrono::seconds{2}};
    const auto guard = lease.try_acquire();
    std::cout << guard.token() << std::endl;
    std::string line;
    std::getline(std::cin, line);
    std::_Exit(guard.held() ? 0 : 1);
}
