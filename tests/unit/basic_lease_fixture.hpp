// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_BASIC_LEASE_FIXTURE_HPP
#define LEASEHOLD_TESTS_UNIT_BASIC_LEASE_FIXTURE_HPP

#include <leasehold/leasehold.hpp>

#include <support/scripted_store.hpp>

#include <chrono>
#include <string_view>
#include <system_error>

namespace leasehold_test {

/// Leases of one owner on a scripted store, with a clock that stands still; nothing renews them.
struct basic_lease_fixture {
    auto lease(std::string_view name = "n", leasehold::lease_terms terms = {.ttl = std::chrono::seconds{30}})
    {
        return leasehold::basic_lease{store, name, terms, clock, leasehold::fixed_owner_id{"o"}, leasehold::no_renewal{}};
    }

    /// Whether the store says that nobody holds it.
    bool free()
    {
        std::error_code none;
        return !store.leases.inspect("n", none).has_value();
    }

    leasehold::manual_clock clock;
    scripted_store store{clock};
    std::error_code ec;
};

}  // namespace leasehold_test

#endif
