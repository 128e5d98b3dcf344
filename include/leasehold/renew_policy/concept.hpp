// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEW_POLICY_CONCEPT_HPP
#define LEASEHOLD_RENEW_POLICY_CONCEPT_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/duration.hpp>

#include <concepts>
#include <optional>

namespace leasehold::inline v0 {

/// What a renew policy decides from. All times are the holder's monotonic ones.
struct renewal_state {
    duration granted{};    ///< how old the term was when it was last granted or extended (start of that attempt); 0 for the grant
    duration ttl{};        ///< how long the store keeps it from there
    unsigned attempt = 0;  ///< renewals that have failed since then without an answer
};

/// Says when to renew.
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
/// An instant at or after the deadline is as good as none: by then the term is over.
template <class P>
concept renew_policy = std::copy_constructible<P> && requires(const P& p, renewal_state state) {
    { p.next(state) } -> std::same_as<std::optional<duration>>;
};

/// A policy that says of itself, by `static constexpr bool never_renews = true`, that next() never gives an instant.
template <class P>
concept never_renewing_policy = renew_policy<P> && requires { requires P::never_renews; };

/// Whether leases on this clock can have this policy: renewals in the background, and a loss that is signalled, need a clock
/// that can be waited on (waitable_clock); a lease on any other has no_renewal, is renewed by guard.renew() alone, and its guard
/// gives a stop token that can't be stopped.
template <class P, class Clock>
concept renew_policy_on_clock = renew_policy<P> && lease_clock<Clock> && (waitable_clock<Clock> || never_renewing_policy<P>);

}  // namespace leasehold::inline v0

#endif
