// SPDX-License-Identifier: BSL-1.0
// Built with hidden visibility: it shares no variable of the library with the program that loads it.
#include "plugin.hpp"

#include <leasehold/leasehold.hpp>

#include <chrono>
#include <string_view>
#include <system_error>

namespace {

namespace lh = leasehold;

struct holder {
    test_lease lease;
    test_lease::guard_type guard;
};

void* acquire(test_store& store, std::string_view name, const lh::manual_clock& clock)
{
    auto* const made = new holder{{store, name, std::chrono::hours{1}, clock}, {}};
    made->guard = made->lease.acquire();
    return made;
}

void release(void* made)
{
    delete static_cast<holder*>(made);
}

std::error_code lost()
{
    return lh::errc::lost;
}

bool is_lost(const std::error_code& ec)
{
    return ec == lh::errc::lost;
}

void throw_store_error()
{
    lh::store_diagnostics diagnostics;
    diagnostics.sqlstate = "08S01";
    throw lh::store_error{lh::errc::store_unavailable, "renew 'n'", diagnostics};
}

void throw_lease_lost()
{
    throw lh::lease_lost{"n"};
}

bool has_locked(const test_lease& lease)
{
    return lease.guard().held();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) plugin_functions leasehold_test_plugin()
{
    return {acquire, release, lost, is_lost, throw_store_error, throw_lease_lost, has_locked};
}
