// error: which one counts
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::basic_lease lease{store, "n", lh::lease_terms{}};
#else
    lh::basic_lease lease{store, "n", lh::lease_terms{}, std::chrono::seconds{30}};
#endif
}
