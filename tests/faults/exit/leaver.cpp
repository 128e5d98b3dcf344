// SPDX-License-Identifier: BSL-1.0
// Another process for exit_test: leaver CONNECTION-STRING [fork]. It ends while a call that it has given up is carried out by the driver.
// Or its child does, by a store of its own, after this process has used one; and it ends as the child did.
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <system_error>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

void give_up_a_call(const std::string& connection_string)
{
    leasehold::odbc_store store{connection_string, leasehold::odbc_options{.call_timeout = 100ms}};
    store.create_schema();
    ::setenv("LYING_DRIVER_DELAY", "300", 1);
    std::error_code ec;
    static_cast<void>(store.inspect("n", ec));
    std::cout << ec.message() << std::endl;
}

}  // namespace

int main(int count, char** arguments)
{
    if (count == 2) {
        give_up_a_call(arguments[1]);
        return 0;
    }
    leasehold::odbc_store{arguments[1]}.create_schema();
    const pid_t child = ::fork();
    if (child == 0) {
        give_up_a_call(arguments[1]);
        return 0;
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
