// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEADER_TERM_HPP
#define LEASEHOLD_LEADER_TERM_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/new_stop_source.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/store/concept.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {
template <class Lease>
class candidate;
}

/// One term of leadership: leader_election passes it to the function that leads.
///
/// Thread safety: any thread may call held(), remaining(), token(), name(), owner() and stop_token(), also while another
/// calls release(); only the thread of the function that leads may call the rest. Lifetime: it lives as long as the call of
/// that function; a token that stop_token() returned may outlive it.
template <class Lease>
class leader_term {
public:
    leader_term(const leader_term&) = delete;
    leader_term& operator=(const leader_term&) = delete;

    /// Whether to keep leading: false once the lease is lost or released, or once the leadership has to end (stop,
    /// resign(), or a request to hand over). Reads the clock.
    [[nodiscard]] bool held() const noexcept
    {
        if (step_down_.stop_requested()) return false;
        const std::lock_guard lock{mutex_};
        return guard_.held();
    }

    /// A token that is asked to stop whenever the leadership ends: when the lease is lost, no later than its deadline; by a
    /// stop, by resign(), by a request to hand over and by release(); and when the function that leads returns or throws, before
    /// the lease is released.
    ///
    /// Its callbacks run on the thread that ends the leadership: the thread that signals losses, the thread that looks for
    /// requests, the thread that calls resign() or asks run()'s token to stop, or the thread of run(). Keep them short, and don't
    /// call resign() while you hold a lock that they take.
    [[nodiscard]] std::stop_token stop_token() const noexcept { return step_down_.get_token(); }

    /// Time to the deadline of the lease; 0 if the term is over or released.
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

    /// Extends the lease now, like lease_guard::renew(). False means that it is lost. Does I/O.
    bool renew() { return guard_.renew(); }
    /// The same, reported in `ec`: does not throw.
    bool renew(std::error_code& ec) noexcept { return guard_.renew(ec); }
    /// Extends the lease by a new ttl, which later renewals keep.
    bool renew(duration ttl) { return guard_.renew(ttl); }
    /// The same, reported in `ec`: does not throw.
    bool renew(duration ttl, std::error_code& ec) noexcept { return guard_.renew(ttl, ec); }

    /// Makes `data` visible to everybody who looks at the lease, like lease_guard::publish(): the leader's address, for example.
    /// False means that the lease is lost. Does I/O.
    bool publish(std::string_view data) { return guard_.publish(data); }
    /// The same, reported in `ec`: does not throw.
    bool publish(std::string_view data, std::error_code& ec) noexcept { return guard_.publish(data, ec); }

    /// Saves how far the work has come for the next leader, like lease_guard::save_checkpoint(). False: the lease is lost, and nothing
    /// was written. Does I/O.
    bool save_checkpoint(std::string_view text) { return guard_.save_checkpoint(text); }
    /// The same, reported in `ec`: does not throw.
    bool save_checkpoint(std::string_view text, std::error_code& ec) noexcept { return guard_.save_checkpoint(text, ec); }

    /// What the last leader saved, like lease_guard::load_checkpoint(). Does I/O.
    [[nodiscard]] std::optional<std::string> load_checkpoint() const { return guard_.load_checkpoint(); }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] std::optional<std::string> load_checkpoint(std::error_code& ec) const noexcept { return guard_.load_checkpoint(ec); }

    /// Ends the leadership and releases the lease before the function that leads returns, so that the function can do the
    /// rest of its work without being the leader. Does I/O, and throws, like lease_guard::release().
    release_outcome release() { return end_here().release(); }
    /// The same, reported in `ec`: does not throw.
    release_outcome release(std::error_code& ec) noexcept { return end_here().release(ec); }

    /// The lease's store.
    [[nodiscard]] auto* store() const noexcept { return std::addressof(lease_.store()); }
    /// The lease's guard, for functions that take guards; empty after release(). A fence takes the term itself, too.
    [[nodiscard]] const lease_guard<Lease>& guard() const noexcept { return guard_; }

private:
    friend detail::candidate<Lease>;

    leader_term(const Lease& lease, lease_guard<Lease> guard, const std::stop_token& stop, bool polite)
        : lease_{lease}, guard_{std::move(guard)}, token_{guard_.token()}, requests_{polite ? requests_to(guard_) : std::stop_token{}},
          on_loss_{guard_.stop_token(), request_stop{step_down_}}, on_stop_{stop, request_stop{step_down_}},
          on_request_{requests_, request_stop{step_down_}}
    {
    }

    static std::stop_token requests_to(const lease_guard<Lease>& guard)
    {
        if constexpr (handover_store<typename Lease::store_type>)
            return guard.handover_token();
        else
            return {};
    }

    // Whether the leader steps down because it was asked to.
    [[nodiscard]] bool asked() const noexcept { return requests_.stop_requested(); }

    // Signals helpers before anybody else is let in, and without holding a mutex: they may call held().
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

    // The term has ended without a release. To be called on the thread of release().
    [[nodiscard]] bool over() const noexcept { return !released_ && !guard_.held(); }

    struct request_stop {
        std::stop_source source;
        void operator()() noexcept { source.request_stop(); }
    };

    const Lease& lease_;
    mutable std::mutex mutex_;  // between end_here() and calls from other threads
    lease_guard<Lease> guard_;
    const fencing_token token_;
    const std::stop_token requests_;
    bool released_ = false;
    std::stop_source step_down_ = detail::new_stop_source();
    std::stop_callback<request_stop> on_loss_;
    std::stop_callback<request_stop> on_stop_;
    std::stop_callback<request_stop> on_request_;
};

}  // namespace leasehold::inline v0

#endif
