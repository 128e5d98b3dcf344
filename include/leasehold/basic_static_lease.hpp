// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_BASIC_STATIC_LEASE_HPP
#define LEASEHOLD_BASIC_STATIC_LEASE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/bounded_text.hpp>
#include <leasehold/clock/concept.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/plain_error.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renew_policy/concept.hpp>
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/renewal/broken_rule.hpp>
#include <leasehold/renewal/term_machine.hpp>
#include <leasehold/static_lease_guard.hpp>
#include <leasehold/store/plain_lease_store.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <concepts>
#include <optional>
#include <string_view>
#include <utility>

namespace leasehold::inline v0 {

/// Acquires one name, like basic_lease, but without heap, exceptions and threads: for microcontrollers.
///
///     lh::basic_static_lease lease{store, "pump", terms, tick_clock{}, lh::static_owner_id{"control"}};
///     lh::plain_error ec;
///     if (auto guard = lease.try_acquire(ec)) { ... }
///
/// It has the same arguments, names and rules, and the same code decides on a term (renewal/term_machine.hpp). It has
/// nothing that needs a thread: no waiting, no stop token, no renewal in the background; but guard.renew_if_due(ec) does
/// what the policy says. It has nothing that throws either: each operation reports in an `ec`, a plain_error or a
/// std::error_code. If a name, an owner or terms can't work, each attempt reports it (errc::invalid_*). If they are
/// constants, checked_name() and checked_terms() refuse them at compile time.
///
/// Thread safety: the lease and its guard belong to one task. Each task makes a lease, with an owner of its own, on a store
/// that all tasks share. Lifetime: the store must outlive the lease, and the lease its guard; the texts are copied.
template <plain_lease_store Store, lease_clock Clock, class OwnerId, renew_policy RenewPolicy = no_renewal>
    requires requires(const OwnerId& o) { { o.id() } -> std::convertible_to<std::string_view>; }
class basic_static_lease {
public:
    /// The store.
    using store_type = Store;
    /// The clock.
    using clock_type = Clock;
    /// Names the owner.
    using owner_id_type = OwnerId;
    /// Decides when to renew.
    using renew_policy_type = RenewPolicy;
    /// What an attempt returns.
    using guard_type = static_lease_guard<basic_static_lease>;

    /// Does not touch the store. If name, owner or terms are wrong, each attempt reports it.
    constexpr basic_static_lease(Store& store, std::string_view name, const lease_terms& terms, Clock clock, const OwnerId& owner,
                                 RenewPolicy policy = RenewPolicy{}) noexcept
        : store_{store}, terms_{terms}, clock_{std::move(clock)}, policy_{std::move(policy)}
    {
        const auto& text = owner.id();  // may be a temporary, which must live until the end of this constructor
        const std::string_view id = text;
        if (detail::broken_text_rule(name, Store::max_name_bytes) || !name_.assign(name)) defect_ = errc::invalid_name;
        if (detail::broken_owner_rule(id, Store::max_owner_bytes) || !owner_.assign(id)) defect_ = errc::invalid_owner;
        if (renewal::broken_rule(terms_, policy_)) defect_ = errc::invalid_terms;
    }

    basic_static_lease(const basic_static_lease&) = delete;
    basic_static_lease& operator=(const basic_static_lease&) = delete;

    /// The name that it acquires.
    [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }
    /// The owner of its terms.
    [[nodiscard]] constexpr std::string_view owner() const noexcept { return owner_; }
    /// Its durations.
    [[nodiscard]] constexpr const lease_terms& terms() const noexcept { return terms_; }
    /// The store in which the lease lives.
    [[nodiscard]] constexpr Store& store() const noexcept { return store_; }

    /// Makes one attempt. An empty guard without an error means busy: somebody else holds the lease, or a guard of this
    /// object does. errc::store_timeout means that the store's answer came when the term would already have been over.
    template <error_report Error>
    [[nodiscard]] guard_type try_acquire(Error& ec) noexcept
    {
        ec.clear();
        if (defect_) ec = defect_.code();
        if (ec || remaining() > duration::zero()) return {};
        const time_point sent = clock_.now();
        const acquire_result result = store_.try_acquire(name_, owner_, terms_.ttl, ec);
        if (ec || !result.granted()) return {};
        if (grant(result.token, sent)) return guard_type{term_type{*this, result.token}};
        // Release the term rather than hand it out.
        plain_error ignored;
        end_term(token_, ignored);
        ec = errc::store_timeout;
        return {};
    }

    /// What the store says about the name now; empty when it is free. The form with an `ec` lets code also work with a
    /// basic_lease.
    [[nodiscard]] auto inspect() const noexcept
        requires requires(const Store& s, std::string_view text) { s.look_up(text); }
    {
        return store_.look_up(name_);
    }

    /// The same, with an `ec`, which it clears.
    template <error_report Error>
    [[nodiscard]] auto inspect(Error& ec) const noexcept
        requires requires(const Store& s, std::string_view text) { s.look_up(text); }
    {
        ec.clear();
        return store_.look_up(name_);
    }

private:
    using term_type = detail::held_static_term<basic_static_lease>;
    friend term_type;

    bool grant(fencing_token token, time_point sent) noexcept
    {
        const time_point now = clock_.now();
        machine_ = renewal::term_machine{};
        refused_ = false;
        token_ = token;
        // Counted from the answer, which is later than the grant, so the name is never closed for too short a time.
        min_hold_until_ = now + terms_.min_hold;
        machine_.granted(sent, terms_.ttl, terms_.margin(), policy_);
        if (now < machine_.deadline()) return true;
        min_hold_until_ = now;  // nobody has worked under the term, so nobody has to be kept out
        return false;
    }

    // Once zero, it stays zero: the machine ignores later answers.
    duration remaining() noexcept
    {
        const time_point now = clock_.now();
        if (machine_.overrun(now) || machine_.phase() != renewal::term_phase::held) return duration::zero();
        return machine_.deadline() - now;
    }

    // A guard recognises its term by the token: after a loss, the lease may have another term.
    [[nodiscard]] bool is_newest(fencing_token token) const noexcept { return token == token_; }

    template <error_report Error>
    release_outcome end_term(fencing_token token, Error& ec) noexcept
    {
        ec.clear();
        if (!is_newest(token)) return release_outcome::lost;
        const bool was_lost = remaining() == duration::zero();
        machine_.ended();
        if (refused_) return release_outcome::lost;
        const duration min_hold_left = was_lost ? duration::zero() : std::max(min_hold_until_ - clock_.now(), duration::zero());
        const bool ours = store_.release(name_, owner_, token_, min_hold_left, ec);
        if (ec) return release_outcome::unknown;
        return ours ? release_outcome::released : release_outcome::lost;
    }

    template <error_report Error>
    bool extend(std::optional<duration> new_ttl, Error& ec) noexcept
    {
        ec.clear();
        if (new_ttl && renewal::broken_rule(lease_terms{*new_ttl, terms_.margin(), terms_.min_hold}, policy_)) {
            ec = errc::invalid_terms;
            return false;
        }
        const duration ttl = new_ttl.value_or(machine_.ttl());
        const time_point sent = clock_.now();
        if (machine_.phase() != renewal::term_phase::held || sent >= machine_.deadline()) return false;
        const bool extended = store_.renew(name_, owner_, token_, ttl, ec);
        if (ec) return false;
        if (extended) return machine_.renewed(sent, clock_.now(), ttl, policy_);
        refused_ = true;
        machine_.refused();
        return false;
    }

    template <error_report Error>
    bool extend_if_due(Error& ec) noexcept
    {
        ec.clear();
        if (machine_.step(clock_.now()).action == renewal::term_action::renew) {
            extend(std::nullopt, ec);
            if (ec) machine_.renewal_failed(clock_.now(), policy_);
        }
        return remaining() > duration::zero();
    }

    Store& store_;
    bounded_text<Store::max_name_bytes> name_;
    bounded_text<Store::max_owner_bytes> owner_;
    lease_terms terms_;
    [[no_unique_address]] Clock clock_;
    [[no_unique_address]] RenewPolicy policy_;
    plain_error defect_;
    renewal::term_machine machine_;
    fencing_token token_;
    time_point min_hold_until_{};
    bool refused_ = false;  // the store has said that the term is over
};

}  // namespace leasehold::inline v0

#endif
