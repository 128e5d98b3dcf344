// error: the store lacks bool release
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

struct my_store {
    lh::acquire_result try_acquire(std::string_view, std::string_view, lh::duration, std::error_code&);
    bool renew(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
#ifdef LEASEHOLD_COMPILE_OK
    bool release(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
#endif
    std::optional<lh::lease_record> inspect(std::string_view, std::error_code&);
};

void use(my_store& store) { lh::basic_lease lease{store, "n"}; }
