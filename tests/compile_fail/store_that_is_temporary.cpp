// error: a temporary store would be gone
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

void use()
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::memory_store store;
    lh::basic_lease lease{store, "n"};
#else
    lh::basic_lease lease{lh::memory_store{}, "n"};
#endif
}
