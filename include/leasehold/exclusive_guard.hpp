// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXCLUSIVE_GUARD_HPP
#define LEASEHOLD_EXCLUSIVE_GUARD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/lease_access.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_set_guard.hpp>
#include <leasehold/release_outcome.hpp>

#include <memory>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

/// The exclusive right to a shared_lease, from its grant to its end.
///
/// The right consists of several terms: of the gate, and of every reader's share. It is held while all of them are.
/// Movable, not copyable; a moved-from, released or default-constructed guard is empty.
/// Thread safety: like lease_guard.
/// Lifetime: the store must outlive it; the shared lease need not.
template <class SharedLease>
class [[nodiscard]] exclusive_guard {
public:
    /// The type of its shared lease.
    using lease_type = SharedLease;
    /// The type of the store.
    using store_type = typename SharedLease::store_type;

    /// An empty guard.
    exclusive_guard() noexcept = default;
    /// Takes over the other guard's right; the other is then empty.
    exclusive_guard(exclusive_guard&& other) noexcept = default;
    /// Releases its own right, like the destructor, and takes over the other guard's.
    exclusive_guard& operator=(exclusive_guard&& other) noexcept
    {
        exclusive_guard{std::move(other)}.swap(*this);
        return *this;
    }

    /// Releases the right. A failure is not reported: the store then frees it when its time runs out. After a call that fails, the
    /// store is not called again; and no call begins after max_release_time (1 s). So this waits no longer than that and the store's
    /// call timeout. release() has no such limit.
    ~exclusive_guard() = default;

    /// Exchanges what they hold.
    void swap(exclusive_guard& other) noexcept
    {
        pool_.swap(other.pool_);
        set_.swap(other.set_);
    }
    /// Exchanges what they hold.
    friend void swap(exclusive_guard& a, exclusive_guard& b) noexcept { a.swap(b); }

    /// The same as held().
    [[nodiscard]] explicit operator bool() const& noexcept { return held(); }
    /// Whether the right certainly continues. Reads the clock once for the gate, and once for each reader's share.
    [[nodiscard]] bool held() const& noexcept { return set_.held(); }
    /// Time to the earliest deadline; 0 if the right is over, or the guard is empty.
    [[nodiscard]] duration remaining() const& noexcept { return set_.remaining(); }
    /// Whether the guard has no terms: never acquired, moved from, or released. A lost guard is not empty.
    [[nodiscard]] bool empty() const& noexcept { return set_.guards().empty(); }
    /// The fencing token of the gate's term, larger than that of every earlier exclusive right; 0 when the guard is empty. It can't
    /// be compared with readers' tokens.
    [[nodiscard]] fencing_token token() const& noexcept { return empty() ? fencing_token{} : gate().token(); }
    /// The name of the gate's lease, as in "catalog/writer"; empty when the guard is empty.
    [[nodiscard]] std::string_view name() const& noexcept { return empty() ? std::string_view{} : gate().name(); }
    /// Its owner; empty when the guard is empty.
    [[nodiscard]] std::string_view owner() const& noexcept { return empty() ? std::string_view{} : gate().owner(); }
    /// Where the right lives; nullptr when the guard is empty.
    [[nodiscard]] store_type* store() const& noexcept { return empty() ? nullptr : std::addressof(pool_->store()); }
    /// A token that is asked to stop when the right is lost, no later than its deadline. See lease_guard::stop_token().
    [[nodiscard]] std::stop_token stop_token() const& { return set_.stop_token(); }

    /// Extends the right now, by its ttl. False means that it is lost. Does I/O.
    ///
    /// Throws store_error when the store fails (the right may continue until its deadline), and std::system_error with
    /// errc::not_held when the guard is empty.
    bool renew()
    {
        require_terms();
        std::error_code ec;
        const bool extended = set_.renew(ec);
        if (ec) pool_->raise_failure(ec, "renew");
        return extended;
    }
    /// The same, reported in `ec`: does not throw.
    bool renew(std::error_code& ec) noexcept { return set_.renew(ec); }

    /// Ends the right, in this process in any case: the guard is empty afterwards. Does I/O.
    ///
    /// Throws store_error when the store fails; the store then frees it when its time runs out, at the latest. Throws
    /// std::system_error with errc::not_held when the guard is empty.
    release_outcome release()
    {
        require_terms();
        const auto pool = pool_;
        std::error_code ec;
        const release_outcome outcome = release(ec);
        if (ec) pool->raise_failure(ec, "release");
        return outcome;
    }

    /// The same, reported in `ec`: does not throw. The outcome is `unknown` if the store fails, or if the guard is empty.
    release_outcome release(std::error_code& ec) noexcept
    {
        const auto pool = std::move(pool_);
        return set_.release(ec);
    }

    /// Throws lease_lost unless held(); std::system_error with errc::not_held when the guard is empty.
    void ensure_held() const& { set_.ensure_held(); }

    // Deleted: `if (lease.try_acquire()) work();` would work without the lease, since a temporary guard releases it before.
    explicit operator bool() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool held() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    duration remaining() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool empty() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    fencing_token token() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::string_view name() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::string_view owner() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    store_type* store() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::stop_token stop_token() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    void ensure_held() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()

private:
    friend SharedLease;
    friend detail::lease_access;
    using pool_type = typename SharedLease::pool_type;
    using set_type = lease_set_guard<typename pool_type::lease_type>;

    exclusive_guard(std::shared_ptr<pool_type> pool, set_type set) noexcept : pool_{std::move(pool)}, set_{std::move(set)} {}

    [[nodiscard]] const auto& gate() const noexcept { return set_.guards().front(); }

    [[nodiscard]] const auto& inner() const noexcept { return set_; }

    void require_terms() const
    {
        if (empty()) detail::raise_invalid(errc::not_held, "the guard is empty");
    }

    std::shared_ptr<pool_type> pool_;
    set_type set_;
};

}  // namespace leasehold::inline v0

#endif
