// first error: constraint failure|constraints not satisfied
// note: o\.id
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

// The type is spelled out: where the arguments are deduced, clang++ 14 says that the constraint fails, but not why.
namespace lh = leasehold;

struct my_owner {
#ifdef LEASEHOLD_COMPILE_OK
    std::string id() const { return "me"; }
#endif
};

void use(lh::memory_store& store) { lh::basic_lease<lh::memory_store, lh::steady_clock, my_owner> lease{store, "n"}; }
