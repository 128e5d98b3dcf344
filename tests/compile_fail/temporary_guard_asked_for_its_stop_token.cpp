// error: deleted.*stop_token
// note: a temporary guard has released
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

int main()
{
    lh::memory_store store;
    lh::basic_lease lease{store, "nightly-report"};
#ifndef LEASEHOLD_COMPILE_OK
    const auto stop = lease.acquire().stop_token();
#else
    const auto guard = lease.acquire();
    const auto stop = guard.stop_token();
#endif
    return stop.stop_requested() ? 1 : 0;
}
