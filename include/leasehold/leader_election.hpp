// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEADER_ELECTION_HPP
#define LEASEHOLD_LEADER_ELECTION_HPP

#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/guarded.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/leader_term.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/step_down_reason.hpp>
#include <leasehold/waiting/deadline.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <functional>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

/// What a candidate can be told, and how it paces itself. Hooks run on the thread of run(); one that throws ends run().
struct leader_election_options {
    /// Elected; just before the function that leads is called.
    std::function<void(fencing_token)> on_elected{};
    /// No longer leads; after the release.
    std::function<void(step_down_reason)> on_stepped_down{};
    /// Somebody else leads, as seen by an attempt of ours: each new leader once, though not every short one between.
    std::function<void(const lease_record&)> on_leader_observed{};
    /// The store failed while campaigning; tried again after a pause.
    std::function<void(std::error_code)> on_error{};

    /// Pauses after a failed campaign: from the first, twice as long each time, to the last.
    duration first_retry = std::chrono::milliseconds{100};
    /// See first_retry.
    duration last_retry = std::chrono::seconds{5};
    /// How long to keep out after leading ended of one's own accord, so that somebody else gets the turn.
    duration pause_after_term = std::chrono::milliseconds{50};
};

/// Campaigns for a lease, leads, steps down, campaigns again.
///
///     lh::leader_election election{lease};
///     election.run(stop, [](auto& term) { while (term.held()) ... });
///
/// What a leader may believe is what a lease's guard may: a paused process can wake up after its deadline in the middle of
/// a write, which only the token stops. An outage of the store that leaves time for a renewal before the deadline costs no
/// leadership.
/// Thread safety: run() from one thread at a time; resign() and leads() from any. Lifetime: the lease must outlive it.
template <class Lease>
class leader_election {
public:
    /// What the function that leads is given.
    using term_type = leader_term<Lease>;

    /// Does nothing yet; run() campaigns.
    explicit leader_election(Lease& lease, leader_election_options options = {}) : lease_{lease}, options_{std::move(options)} {}
    leader_election(const leader_election&) = delete;
    leader_election& operator=(const leader_election&) = delete;

    /// Campaigns until `stop` is asked to stop; calls `lead` with a leader_term& each time it is elected, and releases the
    /// lease when that returns. `lead` should return soon after term.held() turns false.
    ///
    /// What `lead` or a hook throws ends run() and reaches the caller, after the release. Failures of the store are
    /// retried; when there are no threads or memory for watching over a term, throws std::system_error or std::bad_alloc.
    template <std::invocable<term_type&> Lead>
    void run(const std::stop_token& stop, Lead lead)
    {
        duration retry = options_.first_retry;
        lease_.connect();
        while (!stop.stop_requested()) {
            std::error_code ec;
            auto guard = lease_.wait(time_point::max(), stop, ec, [this](const acquire_result& busy) { observe(busy); }).guard;
            if (ec) {
                notify(options_.on_error, ec);
                pause(retry, stop);
                retry = std::min(retry * 2, options_.last_retry);
                continue;
            }
            retry = options_.first_retry;
            if (guard) lead_term(std::move(guard), stop, lead);
        }
    }

    /// Ends the current term of leadership, if there is one: its held() turns false at once, and the lease is handed over
    /// when the function that leads returns. run() goes on campaigning.
    void resign()
    {
        const std::lock_guard lock{mutex_};
        if (!leading_) return;
        resigned_ = true;
        step_down_.request_stop();
    }

    /// Whether this candidate leads now: reads the clock.
    [[nodiscard]] bool leads() const noexcept
    {
        const std::lock_guard lock{mutex_};
        return leading_ && leading_->held();
    }

private:
    // From here to hide(), resign() and leads() see the term.
    void show(const term_type& term, std::stop_source step_down)
    {
        const std::lock_guard lock{mutex_};
        leading_ = &term;
        step_down_ = std::move(step_down);
        resigned_ = false;
    }

    void hide() noexcept
    {
        const std::lock_guard lock{mutex_};
        leading_ = nullptr;
    }

    // Steps down for a function that threw; must not throw itself, so a hook that does is passed over.
    struct step_down_on_throw {
        leader_election& election;
        term_type& term;
        bool threw = true;

        ~step_down_on_throw()
        {
            std::error_code ignored;
            if (threw) detail::guarded(ignored, [this] { election.step_down(term, step_down_reason::threw); });
        }
    };

    template <class Lead>
    void lead_term(typename Lease::guard_type guard, const std::stop_token& stop, Lead& lead)
    {
        std::stop_source step_down_source;
        term_type term{std::move(guard), stop, step_down_source};
        show(term, step_down_source);
        step_down_on_throw watched{*this, term};
        last_seen_ = term.token();
        notify(options_.on_elected, term.token());
        std::invoke(lead, term);
        watched.threw = false;
        const step_down_reason reason = why_ended(term, stop);
        step_down(term, reason);
        if (reason == step_down_reason::returned || reason == step_down_reason::resigned) pause(options_.pause_after_term, stop);
    }

    step_down_reason why_ended(term_type& term, const std::stop_token& stop) const
    {
        if (term.guard() && !term.guard().held()) return term.guard().renewal_error() ? step_down_reason::store_error : step_down_reason::lost;
        const std::lock_guard lock{mutex_};
        if (resigned_) return step_down_reason::resigned;
        return stop.stop_requested() ? step_down_reason::stopped : step_down_reason::returned;
    }

    void step_down(term_type& term, step_down_reason reason)
    {
        hide();  // before the guard is touched, which leads() may be asking
        std::error_code ignored;  // the store frees the lease at the latest when its time runs out
        if (term.guard()) term.guard().release(ignored);
        notify(options_.on_stepped_down, reason);
    }

    // Most busy answers repeat who leads; only a new token is worth asking the store for its owner.
    void observe(const acquire_result& busy)
    {
        if (!options_.on_leader_observed || busy.token == last_seen_) return;
        std::error_code unknown_for_now;
        const auto record = lease_.inspect(unknown_for_now);
        if (unknown_for_now || !record || record->owner.empty()) return;
        last_seen_ = record->token;
        options_.on_leader_observed(*record);
    }

    void pause(duration at_most, const std::stop_token& stop)
    {
        waker to_wake;
        const std::stop_callback wake_when_stopped{stop, [&to_wake] { to_wake.wake(); }};
        const auto& clock = lease_.clock();
        const time_point until = waiting::deadline_after(clock, at_most);
        while (!stop.stop_requested() && clock.now() < until) clock.wait_until(to_wake, until);
    }

    template <class Hook, class... Args>
    static void notify(const Hook& hook, const Args&... args)
    {
        if (hook) hook(args...);
    }

    Lease& lease_;
    const leader_election_options options_;
    fencing_token last_seen_;  // of the last leader told; belongs to run()

    mutable std::mutex mutex_;  // guards what follows
    const term_type* leading_ = nullptr;
    std::stop_source step_down_{std::nostopstate};
    bool resigned_ = false;
};

}  // namespace leasehold::inline v0

#endif
