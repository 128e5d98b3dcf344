// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_POLICY_HPP
#define LEASEHOLD_TESTS_SIMULATION_POLICY_HPP

#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/renew_policy/renew_for.hpp>

#include <cstdint>
#include <optional>

namespace sim {

// One of the library's policies, chosen when a schedule is drawn.
struct any_policy {
    enum class kind : std::uint8_t { fraction, none, until };

    kind which = kind::fraction;
    leasehold::renew_at_fraction fraction{};
    leasehold::duration max{};

    [[nodiscard]] std::optional<leasehold::duration> next(leasehold::renewal_state state) const noexcept
    {
        switch (which) {
        case kind::none: return leasehold::no_renewal{}.next(state);
        case kind::until: return leasehold::renew_for{max, fraction}.next(state);
        default: return fraction.next(state);
        }
    }
};

}  // namespace sim

#endif
