// first error: constraint failure|constraints not satisfied
// note: store_can_try_acquire|s\.try_acquire
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

// The type is spelled out: where the arguments are deduced, clang++ 14 says that the constraint fails, but not why.
namespace lh = leasehold;

struct my_store {
#ifdef LEASEHOLD_COMPILE_OK
    lh::acquire_result try_acquire(std::string_view, std::string_view, lh::duration, std::error_code&);
#else
    bool try_acquire(std::string_view, std::string_view, lh::duration, std::error_code&);
#endif
    bool renew(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
    bool release(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
    std::optional<lh::lease_record> inspect(std::string_view, std::error_code&);
};

void use(my_store& store) { lh::basic_lease<my_store> lease{store, "n"}; }
