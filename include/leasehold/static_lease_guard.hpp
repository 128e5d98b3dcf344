// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STATIC_LEASE_GUARD_HPP
#define LEASEHOLD_STATIC_LEASE_GUARD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/guard_core.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/plain_error.hpp>
#include <leasehold/release_outcome.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

// A term of a basic_static_lease, which may have a newer one.
template <class Lease>
class held_static_term {
public:
    constexpr held_static_term() noexcept = default;
    constexpr held_static_term(Lease& lease, fencing_token token) noexcept : lease_{&lease}, token_{token} {}
    constexpr held_static_term(held_static_term&& other) noexcept
        : lease_{std::exchange(other.lease_, nullptr)}, token_{std::exchange(other.token_, fencing_token{})}
    {
    }
    constexpr held_static_term& operator=(held_static_term&& other) noexcept
    {
        lease_ = std::exchange(other.lease_, nullptr);
        token_ = std::exchange(other.token_, fencing_token{});
        return *this;
    }
    ~held_static_term() = default;

    [[nodiscard]] bool empty() const noexcept { return lease_ == nullptr; }
    [[nodiscard]] duration remaining() const noexcept { return newest() ? lease_->remaining() : duration::zero(); }
    [[nodiscard]] fencing_token token() const noexcept { return token_; }
    [[nodiscard]] std::string_view name() const noexcept { return lease_ ? lease_->name() : std::string_view{}; }
    [[nodiscard]] std::string_view owner() const noexcept { return lease_ ? lease_->owner() : std::string_view{}; }
    [[nodiscard]] const Lease* lease() const noexcept { return lease_; }

    bool extend(std::optional<duration> ttl, error_report auto& ec) noexcept
    {
        if (newest()) return lease_->extend(ttl, ec);
        return report_not_held(ec);
    }
    bool extend_if_due(error_report auto& ec) noexcept
    {
        if (newest()) return lease_->extend_if_due(ec);
        return report_not_held(ec);
    }
    release_outcome end(error_report auto& ec) noexcept
    {
        if (lease_) return std::exchange(lease_, nullptr)->end_term(std::exchange(token_, fencing_token{}), ec);
        ec = errc::not_held;
        return release_outcome::unknown;
    }
    void drop() noexcept
    {
        plain_error ignored;
        end(ignored);
    }

private:
    [[nodiscard]] bool newest() const noexcept { return lease_ && lease_->is_newest(token_); }

    // A lost term is not an error.
    bool report_not_held(error_report auto& ec) const noexcept
    {
        ec.clear();
        if (!lease_) ec = errc::not_held;
        return false;
    }

    Lease* lease_ = nullptr;
    fencing_token token_;
};

}  // namespace detail

/// Holds one term of a basic_static_lease and releases it in its destructor, as lease_guard does for a basic_lease.
///
/// Movable, not copyable; a default-constructed, moved-from or released guard is empty. A term can be lost while its guard
/// lives: call held(), which reads a clock and takes no lock.
/// Thread safety: belongs to its lease's task. Lifetime: the lease must outlive it.
template <class Lease>
class [[nodiscard]] static_lease_guard : public detail::guard_core<static_lease_guard<Lease>, detail::held_static_term<Lease>> {
public:
    using detail::guard_core<static_lease_guard, detail::held_static_term<Lease>>::guard_core;

    /// The type of its lease.
    using lease_type = Lease;

    /// The lease it is a guard of; nullptr when the guard is empty.
    [[nodiscard]] const Lease* lease() const& noexcept { return this->body().lease(); }
    const Lease* lease() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()

    /// Extends the term now, by its ttl. False without an error means that the term is lost. errc::not_held if the guard is
    /// empty.
    bool renew(error_report auto& ec) & noexcept { return this->body().extend(std::nullopt, ec); }
    /// Extends the term by a new ttl, which later renewals keep. errc::invalid_terms if the ttl can't work with the lease's
    /// safety margin and policy.
    bool renew(duration ttl, error_report auto& ec) & noexcept { return this->body().extend(ttl, ec); }

    /// Extends the term if the lease's policy says that it is time. Call it regularly, for example once in a task's loop.
    /// Returns held().
    bool renew_if_due(error_report auto& ec) & noexcept { return this->body().extend_if_due(ec); }

    bool renew(error_report auto&) && = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool renew(duration, error_report auto&) && = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool renew_if_due(error_report auto&) && = delete;  ///< a temporary guard has released: name it, or use try_run()

    /// Ends the term, on this side in any case: the guard is empty afterwards. The outcome is `unknown` if the store
    /// fails, or if the guard is empty.
    release_outcome release(error_report auto& ec) noexcept { return this->body().end(ec); }
};

}  // namespace leasehold::inline v0

#endif
