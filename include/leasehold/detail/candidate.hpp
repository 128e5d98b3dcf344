// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_CANDIDATE_HPP
#define LEASEHOLD_DETAIL_CANDIDATE_HPP

#include <leasehold/detail/election_machine.hpp>
#include <leasehold/detail/handover_priority.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/leader_election_options.hpp>
#include <leasehold/leader_term.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/step_down_reason.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/queue_ticket.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// A candidate of an election, however it waits: on a thread, or as a coroutine. It looks at the holder and asks it to hand over, makes its
// term, and decides why that ends.
//
// Thread safety: any thread may call resign() and is_leader(); the rest belongs to the election's loop, one call at a time.
template <class Lease>
class candidate {
public:
    using term_type = leader_term<Lease>;
    using guard_type = typename Lease::guard_type;

    // Throws what is wrong with the options.
    candidate(Lease& lease, leader_election_options options)
        : lease_{lease}, options_{std::move(options)}, pacing_{checked(pacing_of(options_, lease))}
    {
    }
    candidate(const candidate&) = delete;
    candidate& operator=(const candidate&) = delete;

    [[nodiscard]] Lease& lease() const noexcept { return lease_; }
    [[nodiscard]] const leader_election_options& options() const noexcept { return options_; }
    [[nodiscard]] const auto& clock() const noexcept { return lease_access::attempts(lease_).clock(); }

    [[nodiscard]] election_machine new_machine() const noexcept
    {
        return election_machine{pacing_, waiting::random_seed(lease_.owner(), clock().now())};
    }

    // While a candidate waits on a thread, it looks at the holder when an attempt meets a new one, and from time to time,
    // since another candidate of this process may be first in the queue, and then only that candidate gets the store's answers.
    class looking_around {
    public:
        looking_around(candidate& parent, election_machine& machine, const std::stop_token& stop)
            : parent_{parent}, machine_{machine}, stop_{stop}
        {
            plan_next();
        }

        void busy(const acquire_result& answer)
        {
            machine_.busy();
            if (parent_.sightings_.may_be_news(answer.token)) parent_.look(stop_);
        }
        [[nodiscard]] time_point look_at() const noexcept { return look_at_; }
        void look()
        {
            parent_.look(stop_);
            plan_next();
        }

    private:
        void plan_next() { look_at_ = machine_.look_at(parent_.clock().now()); }

        candidate& parent_;
        election_machine& machine_;
        const std::stop_token& stop_;
        time_point look_at_;
    };

    // Whether it wants to know who leads while it waits.
    [[nodiscard]] bool looks_around() const noexcept { return options_.on_leader_observed || asks(options_); }

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

    // Makes what a term of the guard needs threads for, so that new_term() throws only std::bad_alloc.
    void watch(const guard_type& guard, std::error_code& ec) const noexcept
    {
        if constexpr (hands_over) {
            lease_access::decline_up_to(guard, options_.priority);  // before the look that handover_token() begins
            if (options_.step_down_if_asked) catch_into(ec, [&] { static_cast<void>(guard.handover_token()); });
        }
    }

    // The term of a guard that it was elected with. It does not move: show() it where it is.
    [[nodiscard]] term_type new_term(guard_type guard, election_machine& machine, const std::stop_token& stop)
    {
        machine.elected();
        sightings_.elected(guard.token());
        if constexpr (hands_over) lease_access::decline_up_to(guard, options_.priority);
        return term_type{lease_, std::move(guard), stop, hands_over && options_.step_down_if_asked};
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

    struct end_of_term {
        step_down_reason reason;
        bool lost;  // it has ended before its release
    };

    // Returns why the term ends. From now on, resign() and is_leader() don't see it.
    end_of_term ends(term_type& term, const std::stop_token& stop, bool threw) noexcept
    {
        const bool lost = term.over();
        const step_down_reason reason = reason_of({.threw = threw,
                                                   .lease_over = lost,
                                                   .renewal_failed = lost && term.guard().renewal_error(),
                                                   .resigned = hide(),
                                                   .handover_requested = term.asked(),
                                                   .stopping = stop.stop_requested()});
        term.step_down_.request_stop();  // helpers are told before on_stepped_down
        return {reason, lost};
    }

    void stepped_down(election_machine& machine, time_point at, step_down_reason reason) noexcept
    {
        machine.stepped_down(at, reason);
        sightings_.stepped_down(reason);
    }

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

    [[nodiscard]] bool is_leader() const noexcept
    {
        const std::lock_guard lock{mutex_};
        return leading_ && leading_->held();
    }

    template <class Hook, class... Args>
    static void notify(const Hook& hook, const Args&... args)
    {
        if (hook) hook(args...);
    }

private:
    static constexpr bool hands_over = handover_store<typename Lease::store_type>;

    static election_pacing pacing_of(const leader_election_options& options, const Lease& lease)
    {
        const duration look_every = std::max<duration>(lease.terms().ttl / 3, std::chrono::milliseconds{10});
        return {.retry_min = options.retry_min,
                .retry_max = options.retry_max,
                .cooldown = options.cooldown ? *options.cooldown : cooldown_for(waiting::pauses_of(lease.store())),
                .look_every = options.on_leader_observed || asks(options) ? look_every : duration::max()};
    }

    static election_pacing checked(const election_pacing& pacing)
    {
        if (const char* rule = broken_rule(pacing)) raise_invalid(errc::invalid_terms, rule);
        return pacing;
    }

    static bool asks(const leader_election_options& options) noexcept { return hands_over && options.priority > 0; }

    // A candidate that is asked to stop does not wait for another call.
    void look(const std::stop_token& stop)
    {
        if (!stop.stop_requested()) tell_of(look_at_holder());
    }

    // There is room for one request: it is left to a candidate whose priority is as high, and to a request without one.
    void ask(const lease_record& holder)
    {
        if constexpr (hands_over) {
            if (!asks(options_) || holder.is_hold() || holder.owner == lease_.owner() || sightings_.spares(holder.token)) return;
            const auto& request = holder.handover_request;
            if (request && !is_declined(*request, options_.priority - 1)) return;
            std::error_code unknown_for_now;
            lease_.request_handover(reason_of_priority(options_.priority), unknown_for_now);
        }
    }

    Lease& lease_;
    const leader_election_options options_;
    const election_pacing pacing_;
    leader_sightings sightings_;

    mutable std::mutex mutex_;  // guards what follows; no callback runs under it
    const term_type* leading_ = nullptr;
    bool resigned_ = false;
};

}  // namespace leasehold::inline v0::detail

#endif
