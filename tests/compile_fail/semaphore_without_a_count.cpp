// error: after the name comes the number of permits
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <chrono>

namespace lh = leasehold;
using namespace std::chrono_literals;

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::lease_semaphore permits{store, "n", 5, 30s};
#else
    lh::lease_semaphore permits{store, "n", 30s};
#endif
}
