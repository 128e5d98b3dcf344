// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_PERMIT_GUARD_HPP
#define LEASEHOLD_PERMIT_GUARD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/permit_pool.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/release_outcome.hpp>

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

/// A permit of a lease_semaphore, or a reader's share of a shared_lease: one term, from its grant to its end.
///
/// The same as a lease_guard, with an index. Movable, not copyable; a moved-from, released or default-constructed guard is empty.
/// Thread safety: like lease_guard.
/// Lifetime: the store must outlive it; the semaphore or the shared lease need not.
template <class Semaphore>
class [[nodiscard]] permit_guard {
public:
    /// The type of its semaphore or shared lease.
    using lease_type = Semaphore;
    /// The type of the store.
    using store_type = typename Semaphore::store_type;

    /// An empty guard.
    permit_guard() noexcept = default;
    /// Takes over the other guard's term; the other is then empty.
    permit_guard(permit_guard&& other) noexcept { swap(other); }
    /// Releases its own term, like the destructor, and takes over the other guard's.
    permit_guard& operator=(permit_guard&& other) noexcept
    {
        permit_guard{std::move(other)}.swap(*this);
        return *this;
    }

    /// Releases the permit. A failure is not reported: the store then frees it when its time runs out. Waits no longer than the
    /// store's call timeout.
    ~permit_guard()
    {
        std::error_code ignored;
        if (!empty()) release(ignored);
    }

    /// Exchanges what they hold.
    void swap(permit_guard& other) noexcept
    {
        pool_.swap(other.pool_);
        guard_.swap(other.guard_);
        std::swap(index_, other.index_);
    }
    /// Exchanges what they hold.
    friend void swap(permit_guard& a, permit_guard& b) noexcept { a.swap(b); }

    /// The same as held().
    [[nodiscard]] explicit operator bool() const& noexcept { return held(); }
    /// Whether the term certainly continues. Reads the clock.
    [[nodiscard]] bool held() const& noexcept { return guard_.held(); }
    /// Time to the deadline; 0 if the term is over, or the guard is empty.
    [[nodiscard]] duration remaining() const& noexcept { return guard_.remaining(); }
    /// Whether the guard has no term: never acquired, moved from, or released. A lost guard is not empty.
    [[nodiscard]] bool empty() const& noexcept { return guard_.empty(); }
    /// Which permit it is, counted from 0; no two guards that hold have the same one. 0 when the guard is empty.
    [[nodiscard]] std::size_t index() const& noexcept { return index_; }
    /// The term's fencing token, larger than that of every earlier term of the permit with the same index; 0 when the guard is empty.
    [[nodiscard]] fencing_token token() const& noexcept { return guard_.token(); }
    /// The name of the permit's lease, as in "licences/3"; empty when the guard is empty.
    [[nodiscard]] std::string_view name() const& noexcept { return guard_.name(); }
    /// Its owner; empty when the guard is empty.
    [[nodiscard]] std::string_view owner() const& noexcept { return guard_.owner(); }
    /// Where the permit lives; nullptr when the guard is empty.
    [[nodiscard]] store_type* store() const& noexcept { return empty() ? nullptr : std::addressof(pool_->store()); }
    /// See lease_guard::stop_token().
    [[nodiscard]] std::stop_token stop_token() const& { return guard_.stop_token(); }
    /// See lease_guard::renewal_error(). errc::invalid_terms: the store's record of the count was removed, and another written.
    [[nodiscard]] std::error_code renewal_error() const& noexcept { return guard_.renewal_error(); }

    /// Extends the term now, by its ttl. False means that the term is lost. Does I/O. Throws like lease_guard::renew().
    bool renew()
    {
        require_term();
        std::error_code ec;
        const bool extended = guard_.renew(ec);
        if (ec) pool_->raise_failure(ec, "renew");
        return extended;
    }
    /// The same, reported in `ec`: does not throw.
    bool renew(std::error_code& ec) noexcept { return guard_.renew(ec); }
    /// Extends the term by a new ttl, which later renewals keep. See lease_guard::renew().
    bool renew(duration ttl)
    {
        require_term();
        if (const char* rule = pool_->broken_rule(ttl)) detail::raise_invalid(errc::invalid_terms, rule);
        std::error_code ec;
        const bool extended = guard_.renew(ttl, ec);
        if (ec) pool_->raise_failure(ec, "renew");
        return extended;
    }
    /// The same, reported in `ec`: does not throw.
    bool renew(duration ttl, std::error_code& ec) noexcept { return guard_.renew(ttl, ec); }

    /// Ends the term, in this process in any case: the guard is empty afterwards. Does I/O. Throws like lease_guard::release().
    release_outcome release()
    {
        require_term();
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
        const release_outcome outcome = guard_.release(ec);
        if (pool) pool->released_last(std::exchange(index_, 0));
        return outcome;
    }

    /// Throws lease_lost unless held(); std::system_error with errc::not_held when the guard is empty.
    void ensure_held() const& { guard_.ensure_held(); }

    // Deleted: `if (lease.try_acquire()) work();` would work without the lease, since a temporary guard releases it before.
    explicit operator bool() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool held() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    duration remaining() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool empty() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::size_t index() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    fencing_token token() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::string_view name() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::string_view owner() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    store_type* store() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::stop_token stop_token() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::error_code renewal_error() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    void ensure_held() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()

private:
    friend Semaphore;
    friend detail::lease_access;
    using pool_type = typename Semaphore::pool_type;

    permit_guard(std::shared_ptr<pool_type> pool, typename pool_type::attempt_result tried) noexcept
        : pool_{tried.guard.empty() ? nullptr : std::move(pool)}, guard_{std::move(tried.guard)}, index_{guard_.empty() ? 0 : tried.index}
    {
    }

    [[nodiscard]] const auto& inner() const noexcept { return guard_; }

    void require_term() const
    {
        if (empty()) detail::raise_invalid(errc::not_held, "the guard is empty");
    }

    std::shared_ptr<pool_type> pool_;
    typename pool_type::guard_type guard_;
    std::size_t index_ = 0;
};

}  // namespace leasehold::inline v0

#endif
