// error: a temporary store would be gone
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <chrono>

namespace lh = leasehold;
using namespace std::chrono_literals;

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::lease_semaphore permits{store, "n", 5};
#else
    lh::lease_semaphore permits{lh::memory_store{}, "n", 5};
#endif
}
