// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_TERM_HPP
#define LEASEHOLD_RENEWAL_TERM_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/renewal/term_machine.hpp>
#include <leasehold/time_point.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>

namespace leasehold::inline v0::renewal {

/// One term, from its grant to its end: the state that its guard, the watchdog and a current renewal share.
///
/// It belongs to its guard. The lease refers to it while it is the newest term. After a loss, nothing that still arrives for
/// it, such as the answer to a renewal that hangs, can affect a later term. The mutex of its term_keeper guards it, except
/// `deadline` and the constant `token`, which are read without the mutex.
struct term {
    static constexpr time_point over = time_point::min();

    /// Time to the deadline by `clock`; no lock, no I/O. Once it has been zero, it stays zero: a holder that has seen the
    /// loss must not believe again because of a renewal whose answer was in time but published late.
    template <lease_clock Clock>
    [[nodiscard]] duration remaining(const Clock& clock) noexcept
    {
        time_point until = deadline.load(std::memory_order_acquire);
        const time_point now = clock.now();
        while (until <= now) {
            if (until == over || deadline.compare_exchange_weak(until, over)) return duration::zero();
        }
        return until - now;
    }

    /// The error of the last renewal. A renewal that hangs at the deadline is a failure too: the term is lost in an outage.
    [[nodiscard]] std::error_code renewal_error(time_point now) const noexcept
    {
        const bool unanswered = in_flight || machine.renewing();
        return !last_error && unanswered && now >= machine.deadline() ? make_error_code(errc::store_timeout) : last_error;
    }

    /// Makes it like new, so that the next grant needs no memory. Nobody else may refer to the object.
    void reset() noexcept
    {
        deadline.store(over, std::memory_order_relaxed);
        machine = term_machine{};
        token = fencing_token{};
        in_flight = refused = closing = beginning_observed = loss_told = end_observed = false;
        last_error.clear();
        keep_closed_until = time_point{};
        exceptions = 0;
        stop = std::stop_source{std::nostopstate};
        listens = handover_requested = false;
        priority.reset();
        if (handover) handover->reset();
    }

    /// What few holders want to know: whether somebody has asked for the lease.
    struct handover_state {
        void reset() noexcept
        {
            reason.clear();
            stop = std::stop_source{std::nostopstate};
        }

        std::string reason;                        // of the request
        std::stop_source stop{std::nostopstate};  // with a state since somebody has asked for its token
    };

    /// Whether the holder has a token that signals requests.
    [[nodiscard]] bool signals_requests() const noexcept { return handover && handover->stop.stop_possible(); }

    // A loss is for ever because each change but the end is a compare-exchange from the value before: no renewal replaces the `over`
    // that a reader has stored. That is one location, so any order would do. A reader may see the end, or an extension, a moment
    // late; but it compares the deadline with a clock that it reads afterwards.
    std::atomic<time_point> deadline{over};
    term_machine machine;
    fencing_token token;
    std::error_code last_error;
    time_point keep_closed_until{};
    int exceptions = 0;                        // that its thread was leaving scopes for when the term was granted
    std::stop_source stop{std::nostopstate};   // with a state since somebody has asked for a token
    std::shared_ptr<term> next_lost;           // links the keeper's lost terms
    std::unique_ptr<handover_state> handover;  // made when the holder first wants to know
    std::optional<int> priority;               // of the holder: it declines requests of no higher one
    bool in_flight = false;                    // a renewal is at the store
    bool refused = false;                      // the store has said that the term is over
    bool closing = false;                      // its release is at the store, and keeps the name closed
    bool beginning_observed = false;           // an observed_store has been told of it: only then is it told of a loss
    bool loss_told = false;                    // or about to be signalled: the term is among its keeper's lost terms
    bool end_observed = false;                 // an observed_store has been told of it
    bool listens = false;                      // after each renewal the store is asked whether the holder was asked to hand over
    bool handover_requested = false;           // it was
};

}  // namespace leasehold::inline v0::renewal

#endif
