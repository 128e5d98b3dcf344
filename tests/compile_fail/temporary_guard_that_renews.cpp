// error: deleted.*renew
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

int main()
{
    lh::memory_store store;
    lh::basic_lease lease{store, "report"};
#ifdef LEASEHOLD_COMPILE_OK
    if (auto guard = lease.acquire()) return guard.renew() ? 0 : 1;
#else
    if (lease.acquire().renew()) return 0;
#endif
}
