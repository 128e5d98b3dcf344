// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXCLUSIVE_GUARD_HPP
#define LEASEHOLD_EXCLUSIVE_GUARD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/guard_base.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_set_guard.hpp>

#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

// The terms of the gate of a pool, which is the first, and of all its permits.
template <class Pool>
class held_right : public held_set<typename Pool::lease_type> {
    using set_type = lease_set_guard<typename Pool::lease_type>;

public:
    held_right() noexcept = default;
    held_right(std::shared_ptr<Pool> pool, set_type set) noexcept
        : held_set<typename Pool::lease_type>{std::move(lease_access::body(set))}, pool_{std::move(pool)}
    {
    }

    [[nodiscard]] fencing_token token() const noexcept { return this->empty() ? fencing_token{} : gate().token(); }
    [[nodiscard]] std::string_view name() const noexcept { return this->empty() ? std::string_view{} : gate().name(); }
    [[nodiscard]] std::string_view owner() const noexcept { return this->empty() ? std::string_view{} : gate().owner(); }
    [[nodiscard]] auto* store() const noexcept { return this->empty() ? nullptr : std::addressof(pool_->store()); }
    [[noreturn]] void raise_failure(std::error_code ec, std::string_view operation) const { pool_->raise_failure(ec, operation); }

private:
    [[nodiscard]] const auto& gate() const noexcept { return this->guards().front(); }

    std::shared_ptr<Pool> pool_;
};

}  // namespace detail

/// The exclusive right to a shared_lease, from its grant to its end.
///
/// The right consists of several terms: of the gate, and of every reader's share. It is held while all of them are. The destructor begins
/// no call after one that fails, nor after max_release_time (1 s): it waits no longer than that and the store's call timeout. release()
/// has no such limit.
/// Movable, not copyable; a moved-from, released or default-constructed guard is empty. Thread safety: like lease_guard.
/// Lifetime: the store must outlive it; the shared lease need not.
template <class SharedLease>
class [[nodiscard]] exclusive_guard
    : public detail::guard_base<exclusive_guard<SharedLease>, detail::held_right<typename SharedLease::pool_type>> {
public:
    using detail::guard_base<exclusive_guard, detail::held_right<typename SharedLease::pool_type>>::guard_base;

    /// The type of its shared lease.
    using lease_type = SharedLease;
    /// The type of the store.
    using store_type = typename SharedLease::store_type;
};

}  // namespace leasehold::inline v0

#endif
