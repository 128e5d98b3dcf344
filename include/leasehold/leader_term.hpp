// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEADER_TERM_HPP
#define LEASEHOLD_LEADER_TERM_HPP

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/release_outcome.hpp>

#include <mutex>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

/// One term of leadership, as leader_election hands it to the function that leads.
///
/// Thread safety: held(), remaining(), token(), name(), owner() and stop_token() from any thread, also while another calls
/// release(); the rest from the thread of the function that leads. Lifetime: the call of that function; what stop_token()
/// returned may outlive it.
template <class Lease>
class leader_term {
public:
    leader_term(const leader_term&) = delete;
    leader_term& operator=(const leader_term&) = delete;

    /// Whether to go on leading: false once the lease is lost or released, or leadership is to end (stop or resign()). Reads
    /// the clock.
    [[nodiscard]] bool held() const noexcept
    {
        if (step_down_.stop_requested()) return false;
        const std::lock_guard lock{mutex_};
        return guard_.held();
    }

    /// Asked to stop whenever leading ends: when the lease is lost, no later than its deadline; by a stop, resign() and
    /// release(); and, before the lease is handed over, when the function that leads returns or throws.
    ///
    /// Its callbacks run on the thread that ends leading: the one that watches the leases (a loss), the one that calls resign()
    /// or asks run()'s token to stop, or run()'s own. Keep them short; and let no caller of resign() hold a lock that they take.
    [[nodiscard]] std::stop_token stop_token() const noexcept { return step_down_.get_token(); }

    /// Time to the deadline of the lease; 0 when it is over or released.
    [[nodiscard]] duration remaining() const noexcept
    {
        const std::lock_guard lock{mutex_};
        return guard_.remaining();
    }

    /// The term's fencing token.
    [[nodiscard]] fencing_token token() const noexcept { return token_; }
    /// The lease's name.
    [[nodiscard]] std::string_view name() const noexcept { return lease_.name(); }
    /// The lease's owner: this candidate.
    [[nodiscard]] std::string_view owner() const noexcept { return lease_.owner(); }

    /// Throws lease_lost unless the lease is held; std::system_error with errc::not_held after release().
    void ensure_held() const { guard_.ensure_held(); }

    /// Extends the lease now, like lease_guard::renew(). False: it is lost. Does I/O.
    bool renew() { return guard_.renew(); }
    /// The same, reported in `ec`: does not throw.
    bool renew(std::error_code& ec) noexcept { return guard_.renew(ec); }
    /// Extends it by another ttl, which it keeps for the renewals to come.
    bool renew(duration ttl) { return guard_.renew(ttl); }
    /// The same, reported in `ec`: does not throw.
    bool renew(duration ttl, std::error_code& ec) noexcept { return guard_.renew(ttl, ec); }

    /// Ends leading before the function that leads returns, and hands over: for work that is left to do as nobody's leader.
    /// Does I/O, and throws, like lease_guard::release().
    release_outcome release() { return end_here().release(); }
    /// The same, reported in `ec`: does not throw.
    release_outcome release(std::error_code& ec) noexcept { return end_here().release(ec); }

    /// The lease's guard, for a fence and other functions that look at guards; empty after release().
    [[nodiscard]] const lease_guard<Lease>& guard() const noexcept { return guard_; }

private:
    template <class L>
    friend class leader_election;

    leader_term(const Lease& lease, lease_guard<Lease> guard, const std::stop_token& stop)
        : lease_{lease}, guard_{std::move(guard)}, token_{guard_.token()}, on_loss_{guard_.stop_token(), request_stop{step_down_}},
          on_stop_{stop, request_stop{step_down_}}
    {
    }

    // Helpers are told before anybody else is let in, and under no lock of ours: they may ask held().
    lease_guard<Lease> end_here() noexcept
    {
        lease_guard<Lease> ended;
        {
            const std::lock_guard lock{mutex_};
            ended = std::move(guard_);
            released_ = true;
        }
        step_down_.request_stop();
        return ended;
    }

    // The term has ended, and its holder did not end it. On the thread of release().
    [[nodiscard]] bool over() const noexcept { return !released_ && !guard_.held(); }

    struct request_stop {
        std::stop_source source;
        void operator()() noexcept { source.request_stop(); }
    };

    const Lease& lease_;
    mutable std::mutex mutex_;  // between end_here() and those who ask from other threads
    lease_guard<Lease> guard_;
    const fencing_token token_;
    bool released_ = false;
    std::stop_source step_down_;
    std::stop_callback<request_stop> on_loss_;
    std::stop_callback<request_stop> on_stop_;
};

}  // namespace leasehold::inline v0

#endif
