// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEW_POLICY_CONCEPT_HPP
#define LEASEHOLD_RENEW_POLICY_CONCEPT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/duration.hpp>

#include <concepts>
#include <optional>

namespace leasehold::inline v0 {

/// The input of a renew policy. All times are by the holder's monotonic clock.
struct renewal_state {
    duration granted{};    ///< age of the term when it was last granted or extended (start of that attempt); 0 for the grant
    duration ttl{};        ///< how long the store keeps the term from then on
    unsigned attempt = 0;  ///< renewals that have failed since then without an answer
};

/// Decides when to renew.
///
/// | expression | returns | does |
/// |---|---|---|
/// | p.next(renewal_state) | std::optional<duration> | how long after the last grant or extension to renew next; 0 or in the past means at once, but never within ttl/128; empty: don't renew any more, the term runs to its deadline. A pure function; must not throw; called from any thread |
///
/// Minimal model:
///
///     struct halfway {
///         std::optional<lh::duration> next(lh::renewal_state s) const noexcept { return s.ttl / 2; }
///     };
///
/// An instant at or after the deadline has the same effect as none: by then the term is over.
template <class P>
concept renew_policy = std::copy_constructible<P> && requires(const P& p, renewal_state state) {
    { p.next(state) } noexcept -> std::same_as<std::optional<duration>>;
};

/// A policy whose next() never returns an instant, and which says so by `static constexpr bool never_renews = true`.
template <class P>
concept never_renewing_policy = renew_policy<P> && requires { requires P::never_renews; };

/// Whether leases on this clock can have this policy. Renewals in the background, and the signal of a loss, need a clock
/// that can be waited on (waitable_clock). A lease on any other clock must have no_renewal: only guard.renew() renews it,
/// and the stop token of its guard is never asked to stop.
template <class P, class Clock>
concept renew_policy_on_clock = renew_policy<P> && lease_clock<Clock> && (waitable_clock<Clock> || never_renewing_policy<P>);

}  // namespace leasehold::inline v0

#endif
