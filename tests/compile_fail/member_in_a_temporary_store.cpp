// error: a temporary store would be gone
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

void use([[maybe_unused]] lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::group_member member{store, "n"};
#else
    lh::group_member member{lh::memory_store{}, "n"};
#endif
}
