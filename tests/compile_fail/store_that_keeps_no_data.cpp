// error: it has to be a handover_store
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <optional>
#include <string_view>
#include <system_error>

namespace lh = leasehold;

struct plain_store {
    lh::acquire_result try_acquire(std::string_view, std::string_view, lh::duration, std::error_code&);
    bool renew(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
    bool release(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
    std::optional<lh::lease_record> inspect(std::string_view, std::error_code&);
};

#ifdef LEASEHOLD_COMPILE_OK
using store_type = lh::memory_store;
#else
using store_type = plain_store;
#endif

void use(store_type& store)
{
    lh::basic_lease lease{store, "n"};
    auto guard = lease.try_acquire();
    guard.publish("10.0.0.7:8443");
}
