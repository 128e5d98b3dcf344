// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEW_POLICY_NO_RENEWAL_HPP
#define LEASEHOLD_RENEW_POLICY_NO_RENEWAL_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/renew_policy/concept.hpp>

#include <optional>

namespace leasehold::inline v0 {

/// Never renews by itself: the term lasts one ttl unless guard.renew() is called.
struct no_renewal {
    /// See never_renewing_policy.
    static constexpr bool never_renews = true;

    /// See renew_policy.
    [[nodiscard]] constexpr std::optional<duration> next(renewal_state) const noexcept { return std::nullopt; }
};

}  // namespace leasehold::inline v0

#endif
