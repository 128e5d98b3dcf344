// error: after the number of shards come shard_options
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <chrono>

namespace lh = leasehold;
using namespace std::chrono_literals;

void use(lh::memory_store& store)
{
#ifdef LEASEHOLD_COMPILE_OK
    lh::shard_group shards{store, "n", 12, lh::shard_options{.ttl = 10s}};
#else
    lh::shard_group shards{store, "n", 12, 10s};
#endif
}
