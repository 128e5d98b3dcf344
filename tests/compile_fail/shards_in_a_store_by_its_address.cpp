// error: give the store itself, not its address
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::shard_group shards{store, "n", 12};
#else
    lh::shard_group shards{&store, "n", 12};
#endif
}
