// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_TERM_MACHINE_HPP
#define LEASEHOLD_RENEWAL_TERM_MACHINE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/renew_policy/concept.hpp>
#include <leasehold/renewal/batch_tier.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>

namespace leasehold::inline v0::renewal {

enum class term_phase : std::uint8_t {
    none,  ///< no term, or ended by its holder
    held,
    lost
};

enum class term_action : std::uint8_t {
    sleep,       ///< nothing until `at`
    renew,       ///< send a renewal now, and come back at `at`
    signal_loss  ///< signal the loss to the holder now; nothing follows
};

/// What to do about a term, and when to ask again.
struct term_step {
    term_action action = term_action::sleep;
    time_point at = time_point::max();
};

/// The life of a term as its holder may see it: a pure function of past events and the time.
///
/// No I/O, no threads, no clock of its own: its caller reports what happened, with instants of the holder's monotonic clock.
/// The rule that keeps two holders apart is extend_from(): time counts from before an attempt was sent. So the holder stops
/// believing before the store, which began to count later, lets anybody else in.
class term_machine {
public:
    /// Starts a term that was granted to an attempt sent at `sent`. `policy` says when to renew first; on a `grid`, a renewal is due a
    /// little earlier, together with others.
    template <renew_policy Policy>
    void granted(time_point sent, duration ttl, duration margin, const Policy& policy, std::optional<renewal_grid> grid = {})
    {
        assert(phase_ == term_phase::none && ttl > margin && margin >= duration::zero());
        begun_ = sent;
        margin_ = margin;
        grid_ = grid;
        renewing_ = false;
        phase_ = term_phase::held;
        extend_from(sent, ttl, sent, policy);
    }

    /// What to do now.
    [[nodiscard]] term_step step(time_point now)
    {
        if (phase_ != term_phase::held) return {};
        if (overrun(now)) return {term_action::signal_loss, time_point::max()};
        if (now < wakes_at()) return {term_action::sleep, wakes_at()};
        renewing_ = true;
        return {term_action::renew, deadline_};
    }

    /// How many other renewals may share the call of a renewal that is sent now.
    [[nodiscard]] batch_tier tier(time_point now) const noexcept { return tier_of(deadline_ - now, planned_left_); }

    /// Whether the deadline passed just now: the part of step() that needs no engine. True once per term.
    [[nodiscard]] bool overrun(time_point now) noexcept
    {
        if (phase_ != term_phase::held || now < deadline_) return false;
        phase_ = term_phase::lost;
        return true;
    }

    /// The store has extended the term; the attempt was sent at `sent`. False if the answer came too late to count.
    template <renew_policy Policy>
    bool renewed(time_point sent, time_point now, duration ttl, const Policy& policy)
    {
        renewing_ = false;
        if (phase_ != term_phase::held || now >= deadline_) return false;
        assert(sent >= extended_ && sent <= now);
        extend_from(sent, ttl, now, policy);
        assert(deadline_ > now);
        return true;
    }

    /// A background renewal brought no answer; `policy` says when to try again.
    template <renew_policy Policy>
    void renewal_failed(time_point now, const Policy& policy)
    {
        renewing_ = false;
        ++attempt_;
        plan(policy);
        put_on_grid(step_of_retry(renew_at_ - now));
        // Otherwise a policy that ignores the number of attempts would ask a store that fails at once again without a pause.
        renew_at_ = std::max(renew_at_, now + ttl_ / shortest_pause_divisor);
    }

    /// The store says that the term is over. True if the loss still has to be signalled to the holder.
    bool refused() noexcept
    {
        renewing_ = false;
        const bool news = phase_ == term_phase::held;
        if (news) phase_ = term_phase::lost;
        return news;
    }

    /// The holder ends the term itself; nothing is signalled from now on.
    void ended() noexcept { phase_ = term_phase::none; }

    [[nodiscard]] term_phase phase() const noexcept { return phase_; }
    /// Whether a step() has asked for a renewal whose result is not known yet.
    [[nodiscard]] bool renewing() const noexcept { return renewing_; }
    /// When step() has something to do next.
    [[nodiscard]] time_point wakes_at() const noexcept
    {
        if (phase_ != term_phase::held) return time_point::max();
        return renewing_ ? deadline_ : std::min(renew_at_, deadline_);
    }
    [[nodiscard]] duration ttl() const noexcept { return ttl_; }
    /// When the attempt was sent that began the term.
    [[nodiscard]] time_point begun() const noexcept { return begun_; }

    /// The instant up to which the holder may believe; meaningful only while held.
    [[nodiscard]] time_point deadline() const noexcept { return deadline_; }

    /// The pause between two attempts is at least this part of the ttl.
    static constexpr int shortest_pause_divisor = 128;

private:
    template <renew_policy Policy>
    void extend_from(time_point sent, duration ttl, time_point now, const Policy& policy)
    {
        ttl_ = ttl;
        extended_ = sent;
        const time_point end = sent + ttl - margin_;
        // A shorter ttl can be over before a slow answer comes. But a renewal never shortens a term, so the old end still
        // applies.
        if (end > now) deadline_ = end;
        attempt_ = 0;
        plan(policy);
        put_on_grid(step_of_first(renew_at_ - sent));
        planned_left_ = deadline_ - std::min(renew_at_, deadline_);
    }

    template <renew_policy Policy>
    void plan(const Policy& policy)
    {
        renew_at_ = time_point::max();
        const auto after = policy.next(renewal_state{.granted = extended_ - begun_, .ttl = ttl_, .attempt = attempt_});
        // A user's policy may return anything; an instant outside the term means no renewal at all, nor an early one with others.
        // "At once" means after the shortest pause, so that a store that answers quickly is not asked without a pause.
        if (after && *after < deadline_ - extended_) renew_at_ = extended_ + std::max(*after, ttl_ / shortest_pause_divisor);
    }

    void put_on_grid(duration step) noexcept
    {
        if (grid_ && renew_at_ != time_point::max()) renew_at_ = grid_->before(renew_at_, step);
    }

    term_phase phase_ = term_phase::none;
    bool renewing_ = false;
    unsigned attempt_ = 0;
    duration ttl_{};
    duration margin_{};
    time_point begun_{};
    time_point extended_{};
    time_point deadline_{};
    time_point renew_at_ = time_point::max();  // max: no more
    duration planned_left_{};                  // from the first renew_at_ to the deadline
    std::optional<renewal_grid> grid_;
};

}  // namespace leasehold::inline v0::renewal

#endif
