// error: deleted function
// note: several terms, so use each of its guards
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

int main()
{
    lh::memory_store store;
    lh::lease_semaphore licences{store, "licences", 5};
    auto three = licences.try_acquire(3);
#ifndef LEASEHOLD_COMPILE_OK
    return lh::to_text(three).empty();
#endif
    for (const auto& permit : three.guards())
        if (lh::to_text(permit).empty()) return 1;
    return 0;
}
