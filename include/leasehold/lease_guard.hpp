// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_GUARD_HPP
#define LEASEHOLD_LEASE_GUARD_HPP

#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/release_outcome.hpp>

#include <optional>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {
template <class Lease>
class guards_to_release;
}

/// Holds one term of a lease and releases it in its destructor.
///
/// Movable, not copyable; default-made, moved-from or released it is empty. What it holds can be lost while it lives:
/// ask held(), which reads a clock and does no I/O, or watch stop_token().
/// Thread safety: distinct guards: safe, also of one lease object one after another. One guard: held(), remaining(), token()
/// and stop_token() from any thread at once; the rest from one thread at a time, and not while the guard is moved.
/// Lifetime: the lease must outlive it.
template <class Lease>
class [[nodiscard]] lease_guard {
public:
    /// What it is a guard of.
    using lease_type = Lease;

    /// Empty.
    lease_guard() noexcept = default;
    /// Takes over what the other held, which is empty then.
    lease_guard(lease_guard&& other) noexcept : lease_{std::exchange(other.lease_, nullptr)} {}

    /// Releases what it held before, like the destructor.
    lease_guard& operator=(lease_guard&& other) noexcept
    {
        lease_guard{std::move(other)}.swap(*this);
        return *this;
    }

    /// Releases; a failure is not reported: the store then frees the lease when its time runs out.
    /// Waits no longer than the store's call timeout.
    ~lease_guard()
    {
        std::error_code ignored;
        if (lease_) release(ignored);
    }

    /// Exchanges what they hold.
    void swap(lease_guard& other) noexcept { std::swap(lease_, other.lease_); }
    /// Exchanges what they hold.
    friend void swap(lease_guard& a, lease_guard& b) noexcept { a.swap(b); }

    /// Whether a lease was acquired and not released since. Says nothing about whether it is still held: ask held().
    [[nodiscard]] explicit operator bool() const noexcept { return lease_ != nullptr; }

    /// Whether the term goes on for certain: true until the deadline, false for ever once the term is over. Reads the clock.
    [[nodiscard]] bool held() const noexcept { return lease_ && lease_->term_->held(); }

    /// Time to the deadline; 0 when the term is over, or the guard empty.
    [[nodiscard]] duration remaining() const noexcept { return lease_ ? lease_->term_->remaining() : duration::zero(); }

    /// The term's fencing token; 0 when the guard is empty.
    [[nodiscard]] fencing_token token() const noexcept { return lease_ ? lease_->term_->token() : fencing_token{}; }

    /// The lease's name; empty when the guard is empty.
    [[nodiscard]] std::string_view name() const noexcept { return lease_ ? std::string_view{lease_->name()} : std::string_view{}; }
    /// The lease's owner; empty when the guard is empty.
    [[nodiscard]] std::string_view owner() const noexcept { return lease_ ? std::string_view{lease_->owner()} : std::string_view{}; }

    /// The lease it is a guard of; nullptr when the guard is empty.
    [[nodiscard]] const Lease* lease() const noexcept { return lease_; }

    /// Asked to stop when the term is lost, no later than its deadline; not on a release.
    ///
    /// Stop callbacks run on the thread that watches all leases of the store: keep them short, without I/O or waiting.
    /// An empty guard gives a token that can't be stopped. May throw std::bad_alloc.
    [[nodiscard]] std::stop_token stop_token() const { return lease_ ? lease_->term_->stop_token() : std::stop_token{}; }

    /// What the last renewal of the term failed with; none when it succeeded, or said that the term is over. So after a loss
    /// it tells an outage (an error) from a lease that ran out, was taken over or removed (none).
    [[nodiscard]] std::error_code renewal_error() const noexcept { return lease_ ? lease_->term_->last_error() : std::error_code{}; }

    /// Extends the term now, by the ttl it has. False: the term is lost. Does I/O.
    ///
    /// Throws store_error when the store fails (the term may go on until its deadline), std::system_error with
    /// errc::not_held when the guard is empty.
    bool renew() { return renew_or_throw(std::nullopt); }
    /// The same, reported in `ec`: does not throw.
    bool renew(std::error_code& ec) noexcept { return renew_or_report(std::nullopt, ec); }

    /// Extends the term by another ttl, which it keeps for the renewals to come. A renewal never lets a term end sooner
    /// in the store than it would have. errc::invalid_terms when the ttl can't work with the lease's safety margin and policy.
    bool renew(duration ttl) { return renew_or_throw(ttl); }
    /// The same, reported in `ec`: does not throw.
    bool renew(duration ttl, std::error_code& ec) noexcept { return renew_or_report(ttl, ec); }

    /// Ends the term, here in any case: the guard is empty afterwards. Does I/O.
    ///
    /// Throws store_error when the store fails: it then frees the lease when its time runs out, at the latest; and
    /// std::system_error with errc::not_held when the guard is empty.
    release_outcome release()
    {
        require_lease();
        Lease& lease = *lease_;
        std::error_code ec;
        const release_outcome outcome = release(ec);
        if (ec) lease.raise_failure(ec, "release");
        return outcome;
    }

    /// The outcome is `lost` where `ec` is set.
    release_outcome release(std::error_code& ec) noexcept
    {
        ec.clear();
        if (lease_) return std::exchange(lease_, nullptr)->end_term(ec);
        ec = errc::not_held;
        return release_outcome::lost;
    }

    /// Throws lease_lost unless held(); std::system_error with errc::not_held when the guard is empty.
    void ensure_held() const
    {
        require_lease();
        if (!held()) detail::raise(lease_lost{name()});
    }

private:
    friend Lease;
    friend detail::guards_to_release<Lease>;
    explicit lease_guard(Lease& lease) noexcept : lease_{&lease} {}

    void require_lease() const
    {
        if (!lease_) detail::raise_invalid(errc::not_held, "the guard is empty");
    }

    bool renew_or_report(std::optional<duration> ttl, std::error_code& ec) noexcept
    {
        if (lease_) return lease_->term_->extend(ttl, ec);
        ec = errc::not_held;
        return false;
    }

    bool renew_or_throw(std::optional<duration> ttl)
    {
        require_lease();
        std::error_code ec;
        const bool extended = lease_->term_->extend(ttl, ec);
        if (ec == errc::invalid_terms) detail::raise_invalid(errc::invalid_terms, lease_->term_->broken_rule(*ttl));
        if (ec) lease_->raise_failure(ec, "renew");
        return extended;
    }

    Lease* lease_ = nullptr;
};

}  // namespace leasehold::inline v0

#endif
