// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEADER_ELECTION_HPP
#define LEASEHOLD_LEADER_ELECTION_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/election_machine.hpp>
#include <leasehold/detail/handover_priority.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/leader_term.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/step_down_reason.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/queue_ticket.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

/// The hooks and the pauses of a candidate. Hooks run on the thread of run(); a hook that throws ends run().
struct leader_election_options {
    /// Called when elected, just before the function that leads is called.
    std::function<void(fencing_token)> on_elected{};
    /// Called when it no longer leads: after the release, or before it if the lease was lost, since that call may take long.
    std::function<void(step_down_reason)> on_stepped_down{};
    /// Called once for each other candidate that leads: when an attempt of this candidate meets it, or else within a third
    /// of the ttl. A short term in between may be missed.
    std::function<void(const lease_record&)> on_leader_observed{};
    /// Called when the store failed while campaigning, with the exception that an attempt would have thrown; run() tries again after a
    /// pause. The exception converts to its error code.
    std::function<void(const store_error&)> on_error{};

    /// The first pause after a failed campaign (1 ms or more). The pause doubles each time, up to retry_max, and each pause
    /// is shortened by up to a half at random, so that candidates do not all come back at the same time.
    duration retry_min = std::chrono::milliseconds{100};
    /// The longest pause; see retry_min.
    duration retry_max = std::chrono::seconds{5};
    /// Whether the leader steps down when somebody has asked for the lease (basic_lease::request_handover(), `leasehold ask`). It
    /// learns of that with its next renewal; then the term's held() turns false, as after resign(). It declines the request of a
    /// candidate whose priority is not higher than its own. Without effect if the store is no handover_store.
    bool step_down_if_asked = true;
    /// A candidate with a priority above 0 asks a leader by itself, and does so again while the same one leads, every third of the
    /// ttl. A leader of a lower priority steps down, if it may; all others lead on. It leaves the leader alone that comes after it
    /// was asked for the lease, or resigned, for that leader's whole term. Needs a handover_store.
    int priority = 0;
    /// How long not to campaign after resigning, returning or being asked, so that somebody else gets the turn; counted from the release.
    /// By default a little longer than the others sleep if the store can't wake them: its longest poll pause plus 100 ms.
    std::optional<duration> cooldown{};
};

/// Campaigns for a lease, leads, steps down, campaigns again.
///
///     lh::leader_election election{lease};
///     election.run(stop, [](auto& term) { while (term.held()) ... });
///
/// A leader may rely on no more than a holder of a lease: a paused process can wake up after its deadline in the middle of
/// a write, and only the token stops that write. An outage of the store that leaves time for a renewal before the deadline
/// does not end the leadership.
/// Thread safety: one thread at a time may call run(); any thread may call resign() and is_leader(). Lifetime: the lease
/// must outlive it.
template <class Lease>
class leader_election {
public:
    /// The argument of the function that leads.
    using term_type = leader_term<Lease>;

    /// Does nothing yet; run() campaigns. Throws std::system_error with errc::invalid_terms, which says which duration in
    /// the options can't work.
    explicit leader_election(Lease& lease, leader_election_options options = {})
        : lease_{lease}, options_{std::move(options)}, pacing_{checked(pacing_of(options_, lease))}
    {
    }
    leader_election(const leader_election&) = delete;
    leader_election& operator=(const leader_election&) = delete;

    /// Campaigns until `stop` is asked to stop. Each time it is elected, it calls `lead` with a leader_term&, and releases
    /// the lease when `lead` returns. `lead` should return soon after term.held() turns false.
    ///
    /// An exception of `lead` or a hook ends run() and reaches the caller after the release. After failures of the store,
    /// run() tries again. When there are no threads or memory to watch a term, it throws std::system_error or
    /// std::bad_alloc.
    template <std::invocable<term_type&> Lead>
    void run(const std::stop_token& stop, Lead lead)
    {
        detail::election_machine machine = new_machine();
        for (;;) {
            // The clock first, by every compiler, so that a simulated run is the same with each.
            const time_point now = clock().now();
            const detail::election_step step = machine.next(now, stop.stop_requested());
            switch (step.action) {
            case detail::election_action::leave: return;
            case detail::election_action::pause: pause(step.until, stop); break;
            case detail::election_action::campaign: campaign(machine, stop, lead); break;
            }
        }
    }

    /// Ends the current term of leadership, if there is one: its held() turns false at once, and the lease is released
    /// when the function that leads returns. run() campaigns again after the cooldown.
    ///
    /// Stop callbacks on the term's stop_token() run on the calling thread.
    void resign()
    {
        std::stop_source step_down{std::nostopstate};
        {
            const std::lock_guard lock{mutex_};
            if (!leading_) return;
            resigned_ = true;
            step_down = leading_->step_down_;
        }
        step_down.request_stop();  // not under the mutex: a callback may call is_leader(), or wait for a thread that does
    }

    /// Whether this candidate leads now: reads the clock.
    [[nodiscard]] bool is_leader() const noexcept
    {
        const std::lock_guard lock{mutex_};
        return leading_ && leading_->held();
    }

private:
    friend struct detail::async_election;

    [[nodiscard]] detail::election_machine new_machine() const noexcept
    {
        return detail::election_machine{pacing_, waiting::random_seed(lease_.owner(), clock().now())};
    }

    static detail::election_pacing pacing_of(const leader_election_options& options, const Lease& lease)
    {
        const duration look_every = std::max<duration>(lease.terms().ttl / 3, std::chrono::milliseconds{10});
        return {.retry_min = options.retry_min,
                .retry_max = options.retry_max,
                .cooldown = options.cooldown ? *options.cooldown : detail::cooldown_for(waiting::pauses_of(lease.store())),
                .look_every = options.on_leader_observed || asks(options) ? look_every : duration::max()};
    }

    static constexpr bool hands_over = handover_store<typename Lease::store_type>;

    static bool asks(const leader_election_options& options) noexcept { return hands_over && options.priority > 0; }

    static detail::election_pacing checked(const detail::election_pacing& pacing)
    {
        if (const char* rule = detail::broken_rule(pacing)) detail::raise_invalid(errc::invalid_terms, rule);
        return pacing;
    }

    template <class Lead>
    void campaign(detail::election_machine& machine, const std::stop_token& stop, Lead& lead)
    {
        std::error_code ec;
        auto& attempts = detail::lease_access::attempts(lease_);
        attempts.prepare();
        auto got = attempts.wait(time_point::max(), stop, ec, looking_around{*this, machine, stop});
        if (ec) {
            machine.failed(clock().now());
            if (options_.on_error) options_.on_error(attempts.failure(ec, "campaign", got.too_late));
        }
        else if (!got.guard.empty()) {
            machine.elected();
            sightings_.elected(got.guard.token());
            const ended_term ended = lead_term(std::move(got.guard), stop, lead);
            machine.stepped_down(ended.at, ended.why);
            sightings_.stepped_down(ended.why);
        }
    }

    // What a candidate does while it waits: looks at the holder when an attempt meets one that is news, and from time to time, since
    // another candidate of this process may be first in the queue, and then only that one gets the store's answers.
    class looking_around {
    public:
        looking_around(leader_election& election, detail::election_machine& machine, const std::stop_token& stop)
            : election_{election}, machine_{machine}, stop_{stop}
        {
            plan_next();
        }

        void busy(const acquire_result& answer)
        {
            machine_.busy();
            if (election_.sightings_.may_be_news(answer.token)) election_.look(stop_);
        }
        [[nodiscard]] time_point look_at() const noexcept { return look_at_; }
        void look()
        {
            election_.look(stop_);
            plan_next();
        }

    private:
        void plan_next() { look_at_ = machine_.look_at(election_.clock().now()); }

        leader_election& election_;
        detail::election_machine& machine_;
        const std::stop_token& stop_;
        time_point look_at_;
    };

    struct ended_term {
        step_down_reason why;
        time_point at;
    };

    // Steps down for a function that threw. Must not throw itself, so it ignores a hook that throws.
    struct step_down_on_throw {
        leader_election& election;
        term_type& term;
        const std::stop_token& stop;
        bool threw = true;

        ~step_down_on_throw()
        {
            std::error_code ignored;
            if (threw) detail::catch_into(ignored, [this] { election.step_down(term, stop, true); });
        }
    };

    template <class Lead>
    ended_term lead_term(typename Lease::guard_type guard, const std::stop_token& stop, Lead& lead)
    {
        if constexpr (hands_over) detail::lease_access::decline_up_to(guard, options_.priority);
        term_type term{lease_, std::move(guard), stop, hands_over && options_.step_down_if_asked};
        show(term);
        step_down_on_throw watched{*this, term, stop};
        notify(options_.on_elected, term.token());
        std::invoke(lead, term);
        watched.threw = false;
        return step_down(term, stop, false);
    }

    ended_term step_down(term_type& term, const std::stop_token& stop, bool threw)
    {
        const bool lost = term.over();
        const step_down_reason why = ends(term, lost, stop, threw);
        if (lost) notify(options_.on_stepped_down, why);
        std::error_code ignored;  // the store frees the lease at the latest when its time runs out
        term.release(ignored);
        const time_point at = clock().now();
        if (!lost) notify(options_.on_stepped_down, why);
        return {why, at};
    }

    // Why the term ends. From now on, resign() and is_leader() don't see it.
    step_down_reason ends(term_type& term, bool lost, const std::stop_token& stop, bool threw) noexcept
    {
        const step_down_reason why = detail::reason_of({.threw = threw,
                                                        .lease_over = lost,
                                                        .renewal_failed = lost && term.guard().renewal_error(),
                                                        .resigned = hide(),
                                                        .asked = term.asked(),
                                                        .stopping = stop.stop_requested()});
        term.step_down_.request_stop();  // helpers are told before on_stepped_down
        return why;
    }

    // resign() and is_leader() see the term from now until hide().
    void show(const term_type& term)
    {
        const std::lock_guard lock{mutex_};
        leading_ = &term;
        resigned_ = false;
    }

    // Returns whether resign() was called meanwhile.
    bool hide() noexcept
    {
        const std::lock_guard lock{mutex_};
        leading_ = nullptr;
        return resigned_;
    }

    // Whether it wants to know who leads while it waits.
    [[nodiscard]] bool looks_around() const noexcept { return options_.on_leader_observed || asks(options_); }

    // A candidate that is asked to stop does not wait for another call.
    void look(const std::stop_token& stop)
    {
        if (!stop.stop_requested()) tell_of(look_at_holder());
    }

    // Nothing, if nobody wants to know. Does I/O: a holder may be asked to hand over.
    std::optional<lease_record> look_at_holder()
    {
        if (!looks_around()) return std::nullopt;
        std::error_code unknown_for_now;
        auto holder = lease_.inspect(unknown_for_now);
        if (unknown_for_now || !holder) return std::nullopt;
        ask(*holder);
        return holder;
    }

    void tell_of(const std::optional<lease_record>& holder)
    {
        if (holder && sightings_.is_news(*holder, lease_.owner())) notify(options_.on_leader_observed, *holder);
    }

    // There is room for one request: it is left to a candidate whose priority is as high, and to a request without one.
    void ask(const lease_record& holder)
    {
        if constexpr (hands_over) {
            if (!asks(options_) || holder.is_hold() || holder.owner == lease_.owner() || sightings_.spares(holder.token)) return;
            const auto& request = holder.handover_request;
            if (request && !detail::is_declined(*request, options_.priority - 1)) return;
            std::error_code unknown_for_now;
            lease_.request_handover(detail::reason_of_priority(options_.priority), unknown_for_now);
        }
    }

    void pause(time_point until, const std::stop_token& stop)
    {
        waker to_wake;
        const std::stop_callback wake_when_stopped{stop, [&to_wake] { to_wake.wake(); }};
        while (!stop.stop_requested() && clock().now() < until) clock().wait_until(to_wake, until);
    }

    template <class Hook, class... Args>
    static void notify(const Hook& hook, const Args&... args)
    {
        if (hook) hook(args...);
    }

    // What the election needs beyond the lease's public interface: its clock, and the busy answers that a wait gets.
    [[nodiscard]] const auto& clock() const noexcept { return detail::lease_access::attempts(lease_).clock(); }

    Lease& lease_;
    const leader_election_options options_;
    const detail::election_pacing pacing_;
    detail::leader_sightings sightings_;  // belongs to run()

    mutable std::mutex mutex_;  // guards what follows; no callback runs under it
    const term_type* leading_ = nullptr;
    bool resigned_ = false;
};

}  // namespace leasehold::inline v0

#endif
