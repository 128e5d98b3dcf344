// error: deleted.*held
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

bool use(lh::recurring<lh::memory_store, lh::every>& nightly)
{
#ifdef LEASEHOLD_COMPILE_OK
    auto run = nightly.try_begin();
    return run.held();
#else
    return nightly.try_begin().held();
#endif
}
