// error: deleted function
// note: several terms, so use each of its guards
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

int main()
{
    lh::memory_store store;
    lh::basic_lease a{store, "a"}, b{store, "b"};
    auto both = lh::try_acquire_all(a, b);
#ifndef LEASEHOLD_COMPILE_OK
    return lh::to_text(both).empty();
#endif
    for (const auto& guard : both.guards())
        if (lh::to_text(guard).empty()) return 1;
    return 0;
}
