// first error: constraint failure|constraints not satisfied
// note: c\.now
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

// The type is spelled out: where the arguments are deduced, clang++ 14 says that the constraint fails, but not why.
namespace lh = leasehold;

struct my_clock {
#ifdef LEASEHOLD_COMPILE_OK
    lh::time_point now() const noexcept { return {}; }
#endif
};

void use(lh::memory_store& store) { lh::basic_lease<lh::memory_store, my_clock, lh::random_owner_id, lh::no_renewal> lease{store, "n"}; }
