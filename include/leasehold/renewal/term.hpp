// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_TERM_HPP
#define LEASEHOLD_RENEWAL_TERM_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/renewal/term_machine.hpp>
#include <leasehold/time_point.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>

namespace leasehold::inline v0::renewal {

/// One term, from its grant to its end: what its guard, the watchdog and a renewal under way share.
///
/// It belongs to its guard. The lease knows it while it is the newest; when it has been lost it is history, and nothing that
/// is still to come of it, such as the answer to a renewal that hangs, touches a later term.
/// Guarded by the mutex of its term_keeper, but that `deadline` and a constant `token` are read without.
struct term {
    static constexpr time_point over = time_point::min();

    /// Time to the deadline by `clock`; no lock, no I/O. Once it has been zero it stays so: a holder that was told of the
    /// loss must not be told otherwise by a renewal whose answer was judged in time and published late.
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

    /// What the last renewal failed with. A renewal that hangs at the deadline is a failure too: the term is lost to an outage.
    [[nodiscard]] std::error_code renewal_error(time_point now) const noexcept
    {
        const bool unanswered = in_flight || machine.renewing();
        return !last_error && unanswered && now >= machine.deadline() ? make_error_code(errc::store_timeout) : last_error;
    }

    /// As newly made, so that the next grant needs no memory. Nobody else may know the object.
    void reset() noexcept
    {
        deadline.store(over, std::memory_order_relaxed);
        machine = term_machine{};
        token = fencing_token{};
        in_flight = refused = loss_told = false;
        last_error.clear();
        keep_closed_until = time_point{};
        stop.reset();
    }

    std::atomic<time_point> deadline{over};
    term_machine machine;
    fencing_token token;
    bool in_flight = false;  // a renewal is at the store
    bool refused = false;    // the store has said that the term is over
    std::error_code last_error;
    time_point keep_closed_until{};
    std::optional<std::stop_source> stop;  // made when somebody asks for a token
    bool loss_told = false;                // or is about to be: it is among its keeper's lost terms
    std::shared_ptr<term> next_lost;       // links those
};

}  // namespace leasehold::inline v0::renewal

#endif
