// error: a number is no time
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::basic_lease lease{store, "n", std::chrono::seconds{30}};
#else
    lh::basic_lease lease{store, "n", 30};
#endif
}
