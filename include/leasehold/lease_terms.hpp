// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_TERMS_HPP
#define LEASEHOLD_LEASE_TERMS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>

#include <chrono>
#include <optional>

namespace leasehold::inline v0 {

/// The shortest ttl that is accepted: no database answers faster.
inline constexpr duration min_ttl = std::chrono::milliseconds{1};
/// The longest ttl and min_hold that are accepted: ten years, so that no sum of times overflows.
inline constexpr duration max_ttl = std::chrono::hours{24 * 3650};

/// The durations of a lease.
///
///     constexpr lh::lease_terms terms{.ttl = 30s};
///     lh::basic_lease lease{store, "job", lh::checked_terms(terms)};   // wrong terms don't compile
struct lease_terms {
    /// How long the store keeps the lease for a holder from which it no longer hears.
    duration ttl = std::chrono::seconds{30};
    /// How long before the store's expiry the holder stops believing. It covers the drift between the two clocks, and the
    /// time that the work takes to stop. Unset: a tenth of whatever ttl is set; see margin(). A guard
    /// that is renewed by another ttl keeps its margin.
    std::optional<duration> safety_margin{};
    /// If a release comes earlier than this after the grant, the lease stays closed to everybody until then. This is for
    /// short jobs that must run at most once per interval. May be longer than the ttl. It does not count after a failure, so
    /// that somebody else can do the work: the term of a crashed holder ends with its ttl, and a release frees the lease at once
    /// after a loss, or by a thread that leaves the scope for an exception (basic_static_lease does not look for exceptions).
    duration min_hold{};

    /// The safety_margin that counts.
    [[nodiscard]] constexpr duration margin() const noexcept { return safety_margin.value_or(ttl / 10); }

    /// The rule these terms break, in words, or nullptr if they can work.
    [[nodiscard]] constexpr const char* broken_rule() const noexcept
    {
        if (ttl < min_ttl) return "ttl must be at least 1 ms";
        if (ttl > max_ttl) return "ttl must be at most 10 years (3650 days)";
        if (margin() < duration::zero()) return "safety_margin must not be negative";
        if (margin() >= ttl) return "safety_margin must be shorter than ttl: nothing would be left to hold";
        if (min_hold < duration::zero()) return "min_hold must not be negative";
        if (min_hold > max_ttl) return "min_hold must be at most 10 years (3650 days)";
        return nullptr;
    }

    /// Whether they break no rule.
    [[nodiscard]] constexpr bool valid() const noexcept { return broken_rule() == nullptr; }

    friend constexpr bool operator==(const lease_terms&, const lease_terms&) = default;
};

/// Throws std::system_error with errc::invalid_terms, naming the broken rule.
constexpr void validate(const lease_terms& terms)
{
    if (const char* rule = terms.broken_rule()) detail::raise_invalid(errc::invalid_terms, rule);
}

namespace detail::rules {

// What checked_terms() calls for terms that break a rule. No constant expression may, so the compiler names the function.
inline void ttl_must_be_at_least_1_ms() {}
inline void ttl_must_be_at_most_10_years() {}
inline void safety_margin_must_not_be_negative() {}
inline void safety_margin_must_be_shorter_than_ttl() {}
inline void min_hold_must_be_0_to_10_years() {}

}  // namespace detail::rules

/// Returns the same terms. If they break a rule, the program does not compile, and the error names the rule.
consteval lease_terms checked_terms(lease_terms terms)
{
    if (terms.ttl < min_ttl) detail::rules::ttl_must_be_at_least_1_ms();
    if (terms.ttl > max_ttl) detail::rules::ttl_must_be_at_most_10_years();
    if (terms.margin() < duration::zero()) detail::rules::safety_margin_must_not_be_negative();
    if (terms.margin() >= terms.ttl) detail::rules::safety_margin_must_be_shorter_than_ttl();
    if (terms.min_hold < duration::zero() || terms.min_hold > max_ttl) detail::rules::min_hold_must_be_0_to_10_years();
    validate(terms);
    return terms;
}

}  // namespace leasehold::inline v0

#endif
