// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STATIC_LEASE_GUARD_HPP
#define LEASEHOLD_STATIC_LEASE_GUARD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/plain_error.hpp>
#include <leasehold/release_outcome.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace leasehold::inline v0 {

/// Holds one term of a basic_static_lease and releases it in its destructor, as lease_guard does for a basic_lease.
///
/// Movable, not copyable; a default-constructed, moved-from or released guard is empty. A term can be lost while its guard
/// lives: call held(), which reads a clock and takes no lock.
/// Thread safety: belongs to its lease's task. Lifetime: the lease must outlive it.
template <class Lease>
class [[nodiscard]] static_lease_guard {
public:
    /// The type of its lease.
    using lease_type = Lease;

    /// An empty guard.
    constexpr static_lease_guard() noexcept = default;
    /// Takes over the other guard's term; the other is then empty.
    constexpr static_lease_guard(static_lease_guard&& other) noexcept
        : lease_{std::exchange(other.lease_, nullptr)}, token_{std::exchange(other.token_, fencing_token{})}
    {
    }

    /// Releases its own term, like the destructor, and takes over the other guard's.
    static_lease_guard& operator=(static_lease_guard&& other) noexcept
    {
        static_lease_guard{std::move(other)}.swap(*this);
        return *this;
    }

    /// Releases the term. A failure is not reported: the store then frees the lease when its time runs out.
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
    [[nodiscard]] explicit operator bool() const& noexcept { return held(); }

    /// Whether the term certainly continues: true until the deadline, false for ever once the term is over. Reads the clock.
    [[nodiscard]] bool held() const& noexcept { return remaining() > duration::zero(); }

    /// Time to the deadline; 0 if the term is over, or the guard is empty.
    [[nodiscard]] duration remaining() const& noexcept { return newest() ? lease_->remaining() : duration::zero(); }

    /// Whether the guard has no term: never acquired, moved from, or released. A lost guard is not empty.
    [[nodiscard]] bool empty() const& noexcept { return lease_ == nullptr; }

    /// The term's fencing token; 0 when the guard is empty.
    [[nodiscard]] fencing_token token() const& noexcept { return token_; }

    /// The lease's name and owner; empty when the guard is empty.
    [[nodiscard]] std::string_view name() const& noexcept { return lease_ ? lease_->name() : std::string_view{}; }
    /// The lease's owner; empty when the guard is empty.
    [[nodiscard]] std::string_view owner() const& noexcept { return lease_ ? lease_->owner() : std::string_view{}; }

    /// The lease it is a guard of; nullptr when the guard is empty.
    [[nodiscard]] const Lease* lease() const& noexcept { return lease_; }

    /// Extends the term now, by its ttl. False without an error means that the term is lost. errc::not_held if the guard is
    /// empty.
    template <error_report Error>
    bool renew(Error& ec) noexcept
    {
        return renew_by(std::nullopt, ec);
    }

    /// Extends the term by a new ttl, which later renewals keep. errc::invalid_terms if the ttl can't work with the lease's
    /// safety margin and policy.
    template <error_report Error>
    bool renew(duration ttl, Error& ec) noexcept
    {
        return renew_by(ttl, ec);
    }

    /// Extends the term if the lease's policy says that it is time. Call it regularly, for example once in a task's loop.
    /// Returns held().
    template <error_report Error>
    bool renew_if_due(Error& ec) noexcept
    {
        if (newest()) return lease_->extend_if_due(ec);
        return report_not_held(ec);
    }

    /// Ends the term, on this side in any case: the guard is empty afterwards. The outcome is `unknown` if the store
    /// fails, or if the guard is empty.
    template <error_report Error>
    release_outcome release(Error& ec) noexcept
    {
        if (lease_) return std::exchange(lease_, nullptr)->end_term(std::exchange(token_, fencing_token{}), ec);
        ec = errc::not_held;
        return release_outcome::unknown;
    }

    // Deleted: `if (lease.try_acquire()) work();` would work without the lease, since a temporary guard releases it before.
    explicit operator bool() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool held() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    duration remaining() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool empty() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    fencing_token token() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::string_view name() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::string_view owner() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    const Lease* lease() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()

private:
    friend Lease;
    static_lease_guard(Lease& lease, fencing_token token) noexcept : lease_{&lease}, token_{token} {}

    [[nodiscard]] bool newest() const noexcept { return lease_ && lease_->is_newest(token_); }

    // A lost term is not an error.
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
