// SPDX-License-Identifier: BSL-1.0
// Another process for exit_test: leaver CONNECTION-STRING [connect | late | fork]. It ends while a call that it has given up is carried
// out by the driver; with connect, while it still connects for the first time; with late, some time after that was given up. With fork
// its child does, by a store of its own, after this process has used one; and it ends as the child did.
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

void give_up_a_call(const std::string& connection_string, bool connected)
{
    std::error_code ec;
    if (connected) leasehold::odbc_store{connection_string}.create_schema();
    leasehold::odbc_store store{connection_string, leasehold::odbc_options{.call_timeout = 100ms}};
    if (connected) static_cast<void>(store.inspect("n", ec));
    ::setenv("LYING_DRIVER_DELAY", "300", 1);
    static_cast<void>(store.inspect("n", ec));
    std::cout << ec.message() << std::endl;
}

}  // namespace

int main(int count, char** arguments)
{
    const std::string_view how = count < 3 ? "" : arguments[2];
    if (how != "fork") {
        give_up_a_call(arguments[1], how.empty());
        if (how == "late") std::this_thread::sleep_for(300ms);
        return 0;
    }
    leasehold::odbc_store{arguments[1]}.create_schema();
    const pid_t child = ::fork();
    if (child == 0) {
        give_up_a_call(arguments[1], true);
        return 0;
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
