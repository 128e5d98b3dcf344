// first error: deleted
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

void use(lh::basic_lease<lh::memory_store>& lease)
{
    auto guard = lease.try_acquire();
#ifdef LEASEHOLD_COMPILE_OK
    auto other = std::move(guard);
#else
    auto other = guard;
#endif
}
