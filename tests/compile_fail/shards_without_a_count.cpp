// error: after the name comes the number of shards
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::shard_group shards{store, "n", 12, lh::shard_options{}};
#else
    lh::shard_group shards{store, "n", lh::shard_options{}};
#endif
}
