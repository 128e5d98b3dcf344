// first error: constraint failure|constraints not satisfied
// note: p\.next
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

// The type is spelled out: where the arguments are deduced, clang++ 14 says that the constraint fails, but not why.
namespace lh = leasehold;

struct my_policy {
#ifdef LEASEHOLD_COMPILE_OK
    std::optional<lh::duration> next(lh::renewal_state s) const noexcept { return s.ttl / 2; }
#else
    lh::duration next(lh::renewal_state s) const noexcept { return s.ttl / 2; }
#endif
};

void use(lh::memory_store& store)
{
    lh::basic_lease<lh::memory_store, lh::steady_clock, lh::random_owner_id, my_policy> lease{store, "n"};
}
