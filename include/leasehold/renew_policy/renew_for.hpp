// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEW_POLICY_RENEW_FOR_HPP
#define LEASEHOLD_RENEW_POLICY_RENEW_FOR_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/error.hpp>
#include <leasehold/renew_policy/concept.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>

#include <optional>

namespace leasehold::inline v0 {

/// Renews like renew_at_fraction, but no longer once the term is older than `max`: a limit for work that hangs.
///
/// The term then runs to its deadline, at most one ttl after the last renewal, and its loss is signalled there.
class renew_for {
public:
    /// Throws std::system_error with errc::invalid_terms if `max` is negative.
    constexpr explicit renew_for(duration max, renew_at_fraction when = {}) : max_{max}, when_{when}
    {
        if (max < duration::zero()) detail::raise_invalid(errc::invalid_terms, "renew_for needs a duration that is not negative");
    }

    /// See renew_policy.
    [[nodiscard]] constexpr std::optional<duration> next(renewal_state state) const noexcept
    {
        const std::optional<duration> due = when_.next(state);
        if (!due || state.granted > max_ || *due > max_ - state.granted) return std::nullopt;
        return due;
    }

private:
    duration max_;
    renew_at_fraction when_;
};

}  // namespace leasehold::inline v0

#endif
