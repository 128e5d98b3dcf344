// SPDX-License-Identifier: BSL-1.0
// Another process for exit_test: static_holder CONNECTION-STRING
#include <leasehold/odbc/odbc_store.hpp>
#include <support/static_holder.hpp>

#include <chrono>

int main(int, char** arguments)
{
    return leasehold_test::hold_by_static_objects(
        [&] { return leasehold::odbc_store{arguments[1], leasehold::odbc_options{.call_timeout = std::chrono::seconds{2}}}; });
}
