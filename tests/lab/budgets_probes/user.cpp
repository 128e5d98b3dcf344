// SPDX-License-Identifier: BSL-1.0
// What a user's file may look like; see tests/lab/budgets, which measures how long it takes to compile.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <string>

bool hold_for_a_while(const std::string& connection_string);

bool hold_for_a_while(const std::string& connection_string)
{
    leasehold::odbc_store store{connection_string};
    leasehold::basic_lease lease{store, "nightly report"};
    auto guard = lease.acquire();
    guard.renew(std::chrono::minutes{1});
    return guard.release() == leasehold::release_outcome::released;
}
