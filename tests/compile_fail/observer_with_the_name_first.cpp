// error: the store comes first, then the name
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::group_observer watch{store, "n", [](const lh::member_change&) {}};
#else
    lh::group_observer watch{"n", store, [](const lh::member_change&) {}};
#endif
}
