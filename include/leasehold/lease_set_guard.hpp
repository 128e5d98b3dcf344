// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_SET_GUARD_HPP
#define LEASEHOLD_LEASE_SET_GUARD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/guard_sets.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/fwd.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/release_outcome.hpp>

#include <algorithm>
#include <cstddef>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

/// The terms of several leases, all or none: what try_acquire_all() returns.
///
/// The set is held while every one of its leases is: one deadline, which is the earliest, and one stop token, which is asked to
/// stop when the first of them is lost. The remaining terms continue until the set is released or destroyed.
/// Movable, not copyable; a moved-from, released or default-constructed guard is empty.
/// Thread safety: like lease_guard.
/// Lifetime: the stores must outlive it; the leases need not.
template <class... Leases>
class [[nodiscard]] lease_set_guard {
    static_assert(sizeof...(Leases) > 0);

public:
    /// The guards, in the order of the leases: a vector if all leases are of one type, else a tuple.
    using guards_type =
        std::conditional_t<sizeof...(Leases) == 1, std::vector<lease_guard<std::tuple_element_t<0, std::tuple<Leases...>>>>,
                           std::tuple<lease_guard<Leases>...>>;

    /// An empty guard.
    lease_set_guard() noexcept = default;
    /// Takes over the other guard's terms; the other is then empty.
    lease_set_guard(lease_set_guard&& other) noexcept { swap(other); }

    /// Releases its own terms, like the destructor, and takes over the other guard's.
    lease_set_guard& operator=(lease_set_guard&& other) noexcept
    {
        lease_set_guard{std::move(other)}.swap(*this);
        return *this;
    }

    /// Releases the terms. A failure is not reported: the store then frees the leases when their time runs out. After a call
    /// that fails, its store is not called again; and no call begins after max_release_time (1 s). So this waits for that and
    /// one call timeout of each store at most. release() has no such limit.
    ~lease_set_guard()
    {
        if (!empty()) static_cast<void>(detail::release_set(guards_, order_, detail::release_limit{max_release_time}));
    }

    /// Exchanges what they hold.
    void swap(lease_set_guard& other) noexcept
    {
        guards_.swap(other.guards_);
        order_.swap(other.order_);
        stop_.swap(other.stop_);
    }
    /// Exchanges what they hold.
    friend void swap(lease_set_guard& a, lease_set_guard& b) noexcept { a.swap(b); }

    /// The same as held().
    [[nodiscard]] explicit operator bool() const& noexcept { return held(); }

    /// Whether all terms certainly continue: false for ever once one of them is over. Reads the clock once for each lease.
    [[nodiscard]] bool held() const& noexcept { return remaining() > duration::zero(); }

    /// Time to the earliest deadline; 0 if a term is over, or the guard is empty.
    [[nodiscard]] duration remaining() const& noexcept
    {
        duration least = empty() ? duration::zero() : duration::max();
        detail::each_of_set(guards_, [&least](const auto& guard) { least = std::min(least, guard.remaining()); });
        return least;
    }

    /// Whether there are no terms: never acquired, moved from, or released. A lost guard is not empty.
    [[nodiscard]] bool empty() const& noexcept
    {
        bool none = true;
        detail::each_of_set(guards_, [&none](const auto& guard) { none = none && guard.empty(); });
        return none;
    }

    /// How many leases it has; 0 when it is empty.
    [[nodiscard]] std::size_t size() const& noexcept
    {
        std::size_t count = 0;
        detail::each_of_set(guards_, [&count](const auto& guard) { count += guard.empty() ? 0 : 1; });
        return count;
    }

    /// The guard of each lease, in the order in which the leases were given: for its token, and for a fence.
    [[nodiscard]] const guards_type& guards() const& noexcept { return guards_; }

    /// The fencing token of each term, in the order in which the leases were given. May throw std::bad_alloc.
    [[nodiscard]] std::vector<fencing_token> tokens() const&
    {
        std::vector<fencing_token> all;
        all.reserve(size());
        detail::each_of_set(guards_, [&all](const auto& guard) {
            if (!guard.empty()) all.push_back(guard.token());
        });
        return all;
    }

    /// A token that is asked to stop when the first of the terms is lost, no later than its deadline, but not when the set is
    /// released. See lease_guard::stop_token(). The guards of the single leases have the same token. May throw std::bad_alloc.
    [[nodiscard]] std::stop_token stop_token() const&
    {
        std::stop_token told = stop_.get_token();
        detail::each_of_set(guards_, [&told](const auto& guard) {
            if (guard.empty() || told.stop_requested()) return;
            told = guard.stop_token();  // the shared one, unless this term is lost already
        });
        return told;
    }

    /// Extends all terms now, each by its own ttl; in few calls if the store is a batching_store. False means that one of them
    /// is lost. Does I/O.
    ///
    /// Stops at the first loss or failure: the terms after it are not extended. Throws store_error when a store fails (the terms may
    /// continue until their deadlines), and std::system_error with errc::not_held when the guard is empty.
    bool renew()
    {
        require_terms();
        detail::set_failure failure;
        const bool extended = detail::renew_set(guards_, &failure);
        failure.raise_if_any("renew");
        return extended;
    }

    /// The same, reported in `ec`: does not throw.
    bool renew(std::error_code& ec) noexcept
    {
        ec.clear();
        if (empty()) {
            ec = errc::not_held;
            return false;
        }
        detail::set_failure failure;
        const bool extended = detail::renew_set(guards_, &failure);
        ec = failure.error();
        return extended && !ec;
    }

    /// Ends all terms, the newest first, in this process in any case: the guard is empty afterwards. Does I/O; in few calls if
    /// the store is a batching_store. `released` means that all terms lasted until now, `lost` that one did not.
    ///
    /// Throws store_error when a store fails, and does not call that store again; it frees the leases when their time runs out.
    /// Throws std::system_error with errc::not_held when the guard is empty.
    release_outcome release()
    {
        require_terms();
        const detail::set_release left = detail::release_set(guards_, order_);
        stop_ = std::stop_source{std::nostopstate};
        left.failure.raise_if_any("release");
        return left.outcome();
    }

    /// The same, reported in `ec`: does not throw. The outcome is `unknown` if a store fails, or if the guard is empty.
    release_outcome release(std::error_code& ec) noexcept
    {
        ec.clear();
        if (empty()) {
            ec = errc::not_held;
            return release_outcome::unknown;
        }
        const detail::set_release left = detail::release_set(guards_, order_);
        stop_ = std::stop_source{std::nostopstate};
        ec = left.failure.error();
        return left.outcome();
    }

    /// Throws lease_lost, which names the first lost lease, unless held(); std::system_error with errc::not_held when the guard
    /// is empty.
    void ensure_held() const&
    {
        require_terms();
        detail::each_of_set(guards_, [](const auto& guard) { guard.ensure_held(); });
    }

    // Deleted: `if (lease.try_acquire()) work();` would work without the lease, since a temporary guard releases it before.
    explicit operator bool() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool held() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    duration remaining() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool empty() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::size_t size() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    const guards_type& guards() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::vector<fencing_token> tokens() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::stop_token stop_token() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    void ensure_held() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()

private:
    friend detail::set_access;

    // All guards are granted, and their losses are signalled through `stop`.
    lease_set_guard(guards_type guards, std::vector<std::size_t> order, std::stop_source stop) noexcept
        : guards_{std::move(guards)}, order_{std::move(order)}, stop_{std::move(stop)}
    {
    }

    void require_terms() const
    {
        if (empty()) detail::raise_invalid(errc::not_held, "the guard is empty");
    }

    guards_type guards_;
    std::vector<std::size_t> order_;  // in which they were acquired
    std::stop_source stop_{std::nostopstate};
};

}  // namespace leasehold::inline v0

#endif
