// error: deleted function
// note: a temporary guard has released
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

int main()
{
    lh::memory_store store;
    lh::basic_lease a{store, "a"}, b{store, "b"};
#ifndef LEASEHOLD_COMPILE_OK
    if (lh::try_acquire_all(a, b)) return 0;
#endif
    if (auto both = lh::try_acquire_all(a, b)) return 0;
    return 1;
}
