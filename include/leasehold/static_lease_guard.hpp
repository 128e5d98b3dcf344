// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STATIC_LEASE_GUARD_HPP
#define LEASEHOLD_STATIC_LEASE_GUARD_HPP

#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/plain_error.hpp>
#include <leasehold/release_outcome.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace leasehold::inline v0 {

/// Holds one term of a basic_static_lease and releases it in its destructor: what lease_guard is for a basic_lease.
///
/// Movable, not copyable; default-made, moved-from or released it is empty. What it holds can be lost while it lives: ask
/// held(), which reads a clock and takes no lock.
/// Thread safety: belongs to its lease's task. Lifetime: the lease must outlive it.
template <class Lease>
class [[nodiscard]] static_lease_guard {
public:
    /// What it is a guard of.
    using lease_type = Lease;

    /// Empty.
    constexpr static_lease_guard() noexcept = default;
    /// Takes over what the other held, which is empty then.
    constexpr static_lease_guard(static_lease_guard&& other) noexcept
        : lease_{std::exchange(other.lease_, nullptr)}, token_{std::exchange(other.token_, fencing_token{})}
    {
    }

    /// Releases what it held before, like the destructor.
    static_lease_guard& operator=(static_lease_guard&& other) noexcept
    {
        static_lease_guard{std::move(other)}.swap(*this);
        return *this;
    }

    /// Releases; a failure is not reported: the store then frees the lease when its time runs out.
    ~static_lease_guard()
    {
        plain_error ignored;
        if (lease_) release(ignored);
    }

    /// Exchanges what they hold.
    void swap(static_lease_guard& other) noexcept
    {
        std::swap(lease_, other.lease_);
        std::swap(token_, other.token_);
    }
    friend void swap(static_lease_guard& a, static_lease_guard& b) noexcept { a.swap(b); }

    /// The same as held(): false when the guard is empty, and for ever once the term is lost.
    [[nodiscard]] explicit operator bool() const noexcept { return held(); }

    /// Whether the term goes on for certain: true until the deadline, false for ever once the term is over. Reads the clock.
    [[nodiscard]] bool held() const noexcept { return remaining() > duration::zero(); }

    /// Time to the deadline; 0 when the term is over, or the guard empty.
    [[nodiscard]] duration remaining() const noexcept { return newest() ? lease_->remaining() : duration::zero(); }

    /// Whether there is nothing that could be released: never acquired, moved from, or released. A lost guard is not empty.
    [[nodiscard]] bool empty() const noexcept { return lease_ == nullptr; }

    /// The term's fencing token; 0 when the guard is empty.
    [[nodiscard]] fencing_token token() const noexcept { return token_; }

    /// The lease's name and owner; empty when the guard is empty.
    [[nodiscard]] std::string_view name() const noexcept { return lease_ ? lease_->name() : std::string_view{}; }
    /// The lease's owner; empty when the guard is empty.
    [[nodiscard]] std::string_view owner() const noexcept { return lease_ ? lease_->owner() : std::string_view{}; }

    /// The lease it is a guard of; nullptr when the guard is empty.
    [[nodiscard]] const Lease* lease() const noexcept { return lease_; }

    /// Extends the term now, by the ttl it has. False without an error: the term is lost. errc::not_held when the guard is
    /// empty.
    template <error_report Error>
    bool renew(Error& ec) noexcept
    {
        return renew_by(std::nullopt, ec);
    }

    /// Extends the term by another ttl, which it keeps for the renewals to come. errc::invalid_terms when it can't work
    /// with the lease's safety margin and policy.
    template <error_report Error>
    bool renew(duration ttl, Error& ec) noexcept
    {
        return renew_by(ttl, ec);
    }

    /// To be called now and then, say once in a task's loop: extends the term when the lease's policy says that it is time.
    /// Returns held().
    template <error_report Error>
    bool renew_if_due(Error& ec) noexcept
    {
        if (newest()) return lease_->extend_if_due(ec);
        return report_not_held(ec);
    }

    /// Ends the term, here in any case: the guard is empty afterwards. The outcome is `unknown` where `ec` is set.
    template <error_report Error>
    release_outcome release(Error& ec) noexcept
    {
        if (lease_) return std::exchange(lease_, nullptr)->end_term(std::exchange(token_, fencing_token{}), ec);
        ec = errc::not_held;
        return release_outcome::unknown;
    }

private:
    friend Lease;
    static_lease_guard(Lease& lease, fencing_token token) noexcept : lease_{&lease}, token_{token} {}

    [[nodiscard]] bool newest() const noexcept { return lease_ && lease_->is_newest(token_); }

    // A lost term is no error.
    template <error_report Error>
    bool report_not_held(Error& ec) const noexcept
    {
        ec.clear();
        if (!lease_) ec = errc::not_held;
        return false;
    }

    template <error_report Error>
    bool renew_by(std::optional<duration> ttl, Error& ec) noexcept
    {
        if (newest()) return lease_->extend(ttl, ec);
        return report_not_held(ec);
    }

    Lease* lease_ = nullptr;
    fencing_token token_;
};

}  // namespace leasehold::inline v0

#endif
