// first error: constraint failure|constraints not satisfied
// note: store_can_renew|s\.renew
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

// The type is spelled out: where the arguments are deduced, clang++ 14 says that the constraint fails, but not why.
namespace lh = leasehold;

struct my_store {
    lh::acquire_result try_acquire(std::string_view, std::string_view, lh::duration, std::error_code&);
#ifdef LEASEHOLD_COMPILE_OK
    bool renew(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
#endif
    bool release(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
    std::optional<lh::lease_record> inspect(std::string_view, std::error_code&);
};

void use(my_store& store) { lh::basic_lease<my_store> lease{store, "n"}; }
