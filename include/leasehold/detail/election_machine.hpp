// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_ELECTION_MACHINE_HPP
#define LEASEHOLD_DETAIL_ELECTION_MACHINE_HPP

#include <leasehold/detail/backoff.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/step_down_reason.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <string_view>

// What a candidate decides: pure functions of past events and the time, without I/O, threads or a clock.
namespace leasehold::inline v0::detail {

struct election_pacing {
    duration retry_min{};
    duration retry_max{};
    duration cooldown{};
    duration look_every = duration::max();  // how often to ask the store who leads while it waits; max: never
};

// The default cooldown. If nobody wakes another candidate, it sleeps up to the store's longest pause, and then needs some
// time for its attempt.
constexpr duration cooldown_for(const poll_pauses& others) noexcept
{
    constexpr duration for_an_attempt = std::chrono::milliseconds{100};
    return std::min<duration>(others.longest, std::chrono::hours{1}) + for_an_attempt;
}

// The rule that this pacing breaks, in words, or nullptr. Less than a millisecond would be a busy loop while the store is
// down.
constexpr const char* broken_rule(const election_pacing& pacing) noexcept
{
    if (pacing.retry_min < std::chrono::milliseconds{1}) return "leader_election_options: retry_min must be at least 1 ms";
    if (pacing.retry_max < pacing.retry_min) return "leader_election_options: retry_max must not be less than retry_min";
    if (pacing.cooldown < duration::zero()) return "leader_election_options: cooldown must not be negative";
    return nullptr;
}

enum class election_action : std::uint8_t {
    campaign,  // wait for the lease
    pause,     // do nothing until `until`
    leave      // asked to stop
};

struct election_step {
    election_action action = election_action::leave;
    time_point until{};  // of a pause
};

class election_machine {
public:
    // `seed` makes the pauses random: use a different one for each candidate.
    election_machine(const election_pacing& pacing, std::uint64_t seed) noexcept
        : pacing_{pacing}, retry_{pacing.retry_min, pacing.retry_max, seed}
    {
        assert(broken_rule(pacing) == nullptr && pacing.look_every > duration::zero());
    }

    [[nodiscard]] election_step next(time_point now, bool stopping) const noexcept
    {
        assert(!leading_);
        if (stopping) return {election_action::leave, now};
        if (now < out_until_) return {election_action::pause, out_until_};
        return {election_action::campaign, now};
    }

    // The store failed while campaigning.
    void failed(time_point now) noexcept
    {
        assert(!leading_);
        out_until_ = after(now, retry_.next());
    }

    // While it waits: when to look at the holder, if it did so now.
    [[nodiscard]] time_point look_at(time_point now) const noexcept { return after(now, pacing_.look_every); }

    // The store answered, and somebody else holds the lease.
    void busy() noexcept
    {
        assert(!leading_);
        retry_.reset();
    }

    void elected() noexcept
    {
        assert(!leading_);
        leading_ = true;
        retry_.reset();
    }

    // `now`: when the lease was released, or ended.
    void stepped_down(time_point now, step_down_reason reason) noexcept
    {
        assert(leading_);
        leading_ = false;
        // A candidate that gave up the lease leaves it to others for a while; one that lost it campaigns at once.
        const bool gave_up =
            reason == step_down_reason::returned || reason == step_down_reason::resigned || reason == step_down_reason::asked;
        out_until_ = gave_up ? after(now, pacing_.cooldown) : now;
    }

private:
    static time_point after(time_point now, duration pause) noexcept
    {
        return pause < time_point::max() - now ? now + pause : time_point::max();
    }

    election_pacing pacing_;
    backoff retry_;
    time_point out_until_ = time_point::min();
    bool leading_ = false;
};

// The state when the function that leads had ended, before the release.
struct end_of_leading {
    bool threw = false;
    bool lease_over = false;      // without a release
    bool renewal_failed = false;  // the last renewal, with an error
    bool resigned = false;
    bool handover_requested = false;
    bool stopping = false;
};

constexpr step_down_reason reason_of(const end_of_leading& end) noexcept
{
    if (end.threw) return step_down_reason::threw;
    if (end.lease_over) return end.renewal_failed ? step_down_reason::store_error : step_down_reason::lost;
    if (end.resigned) return step_down_reason::resigned;
    if (end.stopping) return step_down_reason::stopped;
    return end.handover_requested ? step_down_reason::asked : step_down_reason::returned;
}

// The leaders that a candidate has reported, each only once.
class leader_sightings {
public:
    // Whether a busy answer, which has the holder's token or 0, may be about a leader that was not reported yet. If so, the
    // caller asks the store.
    [[nodiscard]] bool may_be_news(fencing_token of_holder) const noexcept
    {
        return of_holder == fencing_token{} || of_holder > last_;
    }

    // Whether to report this holder; true once for each of its terms. Never true for `self`. A node of a cluster that lags may still
    // show an earlier term.
    bool is_news(const lease_record& holder, std::string_view self) noexcept
    {
        if (holder.token <= last_) return false;
        last_ = holder.token;
        // A name that is kept closed has no owner, and one that is held closed has no leader.
        return !holder.owner.empty() && !holder.is_hold() && holder.owner != self;
    }

    void elected(fencing_token own) noexcept
    {
        last_ = own_ = own;
        yields_ = false;
    }

    void stepped_down(step_down_reason reason) noexcept
    {
        yields_ = reason == step_down_reason::resigned || reason == step_down_reason::asked;
    }

    // Whether not to ask this holder for the lease: this candidate had it and gave it up, and the holder is the next.
    bool spares(fencing_token of_holder) noexcept
    {
        if (yields_ && of_holder > own_) {
            yields_ = false;
            spared_ = of_holder;
        }
        return of_holder <= own_ || of_holder == spared_;
    }

private:
    fencing_token last_;
    fencing_token own_;     // of the last term of this candidate
    fencing_token spared_;
    bool yields_ = false;  // to the next holder
};

}  // namespace leasehold::inline v0::detail

#endif
