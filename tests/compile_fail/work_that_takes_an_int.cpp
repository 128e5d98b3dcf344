// error: try_run needs something to call with the guard
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

void use(lh::memory_store& store)
{
    lh::basic_lease lease{store, "n"};
#ifdef LEASEHOLD_COMPILE_OK
    lease.try_run([] {});
#else
    lease.try_run([](int) {});
#endif
}
