// error: deleted.*try_acquire
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::basic_lease lease{store, "n"};
    auto guard = lease.try_acquire();
#else
    auto guard = lh::basic_lease{store, "n"}.try_acquire();
#endif
}
