// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEADER_ELECTION_HPP
#define LEASEHOLD_LEADER_ELECTION_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/candidate.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/election_machine.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/leader_election_options.hpp>
#include <leasehold/leader_term.hpp>
#include <leasehold/time_point.hpp>

#include <concepts>
#include <functional>
#include <stop_token>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {
struct election_access;
}

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
    explicit leader_election(Lease& lease, leader_election_options options = {}) : candidate_{lease, std::move(options)} {}
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
        std::error_code ec;
        run(stop, std::move(lead), ec);
        if (ec) detail::lease_access::attempts(candidate_.lease()).raise_failure(ec, "run");
    }

    /// The same, reported in `ec`: throws only std::bad_alloc, and what `lead` or a hook throws.
    template <std::invocable<term_type&> Lead>
    void run(const std::stop_token& stop, Lead lead, std::error_code& ec)
    {
        ec.clear();
        detail::election_machine machine = candidate_.new_machine();
        while (!ec) {
            // The clock first, by every compiler, so that a simulated run is the same with each.
            const time_point now = candidate_.clock().now();
            const detail::election_step step = machine.next(now, stop.stop_requested());
            switch (step.action) {
            case detail::election_action::leave: return;
            case detail::election_action::pause: pause(step.until, stop); break;
            case detail::election_action::campaign: ec = campaign(machine, stop, lead); break;
            }
        }
    }

    template <class Lead>
        requires(!std::invocable<Lead&, term_type&>)
    void run(const std::stop_token&, Lead) = delete;  ///< it needs something to call with the leader_term (auto&)
    template <class Lead>
        requires(!std::invocable<Lead&, term_type&>)
    void run(const std::stop_token&, Lead, std::error_code&) = delete;  ///< the same

    /// Ends the current term of leadership, if there is one: its held() turns false at once, and the lease is released
    /// when the function that leads returns. run() campaigns again after the cooldown.
    ///
    /// Stop callbacks on the term's stop_token() run on the calling thread.
    void resign() { candidate_.resign(); }

    /// Whether this candidate leads now: reads the clock.
    [[nodiscard]] bool is_leader() const noexcept { return candidate_.is_leader(); }

private:
    friend detail::election_access;
    using candidate_type = detail::candidate<Lease>;

    // Returns why nothing could watch a term, which ends run().
    template <class Lead>
    std::error_code campaign(detail::election_machine& machine, const std::stop_token& stop, Lead& lead)
    {
        std::error_code ec;
        auto& attempts = detail::lease_access::attempts(candidate_.lease());
        if (!attempts.prepare(ec)) return ec;
        auto got = attempts.wait(time_point::max(), stop, ec, typename candidate_type::looking_around{candidate_, machine, stop});
        if (ec) {
            machine.failed(candidate_.clock().now());
            if (options().on_error) options().on_error(attempts.failure(ec, "campaign", got.too_late));
        }
        else if (!got.guard.empty()) {
            std::error_code unwatched;
            candidate_.watch(got.guard, unwatched);
            if (unwatched) {
                detail::lease_access::forget_min_hold(got.guard);
                return unwatched;
            }
            lead_term(machine, std::move(got.guard), stop, lead);
        }
        return {};
    }

    // Steps down for a function that threw. Must not throw itself, so it ignores a hook that throws.
    struct step_down_on_throw {
        leader_election& election;
        detail::election_machine& machine;
        term_type& term;
        const std::stop_token& stop;
        bool threw = true;

        ~step_down_on_throw()
        {
            std::error_code ignored;
            if (threw) detail::catch_into(ignored, [this] { election.step_down(machine, term, stop, true); });
        }
    };

    template <class Lead>
    void lead_term(detail::election_machine& machine, typename Lease::guard_type guard, const std::stop_token& stop, Lead& lead)
    {
        term_type term = candidate_.new_term(std::move(guard), machine, stop);
        candidate_.show(term);
        step_down_on_throw watched{*this, machine, term, stop};
        candidate_.notify(options().on_elected, term.token());
        std::invoke(lead, term);
        watched.threw = false;
        step_down(machine, term, stop, false);
    }

    void step_down(detail::election_machine& machine, term_type& term, const std::stop_token& stop, bool threw)
    {
        const auto [reason, lost] = candidate_.ends(term, stop, threw);
        if (lost) candidate_.notify(options().on_stepped_down, reason);
        std::error_code ignored;  // the store frees the lease at the latest when its time runs out
        term.release(ignored);
        const time_point at = candidate_.clock().now();
        if (!lost) candidate_.notify(options().on_stepped_down, reason);
        candidate_.stepped_down(machine, at, reason);
    }

    void pause(time_point until, const std::stop_token& stop)
    {
        waker to_wake;
        const std::stop_callback wake_when_stopped{stop, [&to_wake] { to_wake.wake(); }};
        while (!stop.stop_requested() && candidate_.clock().now() < until) candidate_.clock().wait_until(to_wake, until);
    }

    [[nodiscard]] const leader_election_options& options() const noexcept { return candidate_.options(); }

    candidate_type candidate_;
};

namespace detail {

// What the asynchronous form needs of an election beyond its public interface.
struct election_access {
    template <class Election>
    static auto& candidate_of(Election& election) noexcept
    {
        return election.candidate_;
    }
};

}  // namespace detail

}  // namespace leasehold::inline v0

#endif
