// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_EXPLAINING_STORE_HPP
#define LEASEHOLD_TESTS_SUPPORT_EXPLAINING_STORE_HPP

#include <leasehold/store/concept.hpp>
#include <leasehold/store/memory_store.hpp>

#include <atomic>
#include <optional>
#include <string_view>
#include <system_error>

namespace leasehold_test {

/// A store that says why its attempts fail, to the thread that made them, while there is an outage.
class explaining_store {
public:
    std::atomic<bool> outage = false;

    leasehold::acquire_result try_acquire(std::string_view name, std::string_view owner, leasehold::duration ttl, std::error_code& ec)
    {
        failed_here = outage;
        if (!outage) return leases_.try_acquire(name, owner, ttl, ec);
        ec = leasehold::errc::store_unavailable;
        return {};
    }
    bool renew(std::string_view name, std::string_view owner, leasehold::fencing_token token, leasehold::duration ttl, std::error_code& ec)
    {
        return leases_.renew(name, owner, token, ttl, ec);
    }
    bool release(std::string_view name, std::string_view owner, leasehold::fencing_token token, leasehold::duration min_hold_left,
                 std::error_code& ec)
    {
        return leases_.release(name, owner, token, min_hold_left, ec);
    }
    std::optional<leasehold::lease_record> inspect(std::string_view name, std::error_code& ec) { return leases_.inspect(name, ec); }

    [[nodiscard]] leasehold::store_diagnostics diagnostics() const
    {
        if (!failed_here) return {};
        return {.sqlstate = "08S01", .native_error = 7, .advice = "start the server", .server_message = "connection refused"};
    }

private:
    inline static thread_local bool failed_here = false;
    leasehold::memory_store leases_;
};
static_assert(leasehold::diagnosing_store<explaining_store>);

}  // namespace leasehold_test

#endif
