// error: try_acquire_for
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <chrono>

namespace lh = leasehold;
using namespace std::chrono_literals;

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::basic_lease lease{store, "n"};
    const auto guard = lease.try_acquire_for(10s);
#else
    lh::basic_lease lease{store, "n"};
    const auto guard = lease.try_acquire_for(10);
#endif
}
