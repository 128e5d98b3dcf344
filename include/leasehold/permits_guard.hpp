// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_PERMITS_GUARD_HPP
#define LEASEHOLD_PERMITS_GUARD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/guard_base.hpp>
#include <leasehold/detail/guard_sets.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/permit_pool.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/release_outcome.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

namespace detail {

// The terms of several permits of a pool, which is told when they end.
template <class Pool>
class held_permits : public held_set<typename Pool::lease_type> {
    using set_type = held_set<typename Pool::lease_type>;

public:
    held_permits() noexcept = default;
    held_permits(std::shared_ptr<Pool> pool, typename Pool::some_result result) noexcept
        : set_type{std::move(lease_access::body(result.guard))}, pool_{this->empty() ? nullptr : std::move(pool)},
          indexes_{std::move(result.indexes)}
    {
    }

    [[nodiscard]] fencing_token token() const noexcept
    {
        fencing_token least{};
        for (const auto& guard : this->guards()) least = least == fencing_token{} ? guard.token() : std::min(least, guard.token());
        return least;
    }
    [[nodiscard]] std::string_view name() const noexcept { return this->empty() ? std::string_view{} : std::string_view{pool_->name()}; }
    [[nodiscard]] std::string_view owner() const noexcept { return this->empty() ? std::string_view{} : std::string_view{pool_->owner()}; }
    [[nodiscard]] auto* store() const noexcept { return this->empty() ? nullptr : std::addressof(pool_->store()); }
    [[nodiscard]] const std::vector<std::size_t>& indexes() const noexcept { return indexes_; }
    release_outcome end(std::error_code& ec) noexcept
    {
        const release_outcome outcome = set_type::end(ec);
        has_ended();
        return outcome;
    }
    void drop() noexcept
    {
        set_type::drop();
        has_ended();
    }
    [[noreturn]] void raise_failure(std::error_code ec, std::string_view operation) const { pool_->raise_failure(ec, operation); }

private:
    void has_ended() noexcept
    {
        if (!indexes_.empty()) pool_->released_last(indexes_.front());
        indexes_.clear();
    }

    std::shared_ptr<Pool> pool_;
    std::vector<std::size_t> indexes_;
};

}  // namespace detail

/// Several permits of a lease_semaphore, all or none: what try_acquire(3) returns. One right, from its grant to its end.
///
/// It is held while all of its permits are: one deadline, which is the earliest, and one stop token, which is asked to stop when the first
/// of them is lost. The destructor begins no call after one that fails, nor after max_release_time (1 s). release() has no such limit.
/// Movable, not copyable; a moved-from, released or default-constructed guard is empty. Thread safety: like lease_guard.
/// Lifetime: the store must outlive it; the semaphore need not.
template <class Semaphore>
class [[nodiscard]] permits_guard
    : public detail::guard_base<permits_guard<Semaphore>, detail::held_permits<typename Semaphore::pool_type>> {
    using body_of_base = detail::held_permits<typename Semaphore::pool_type>;

public:
    using detail::guard_base<permits_guard, body_of_base>::guard_base;

    /// The type of its semaphore.
    using lease_type = Semaphore;
    /// The type of the store.
    using store_type = typename Semaphore::store_type;
    /// The guards of the single permits.
    using guards_type = typename body_of_base::guards_type;

    /// How many permits it has; 0 when it is empty.
    [[nodiscard]] std::size_t size() const& noexcept { return this->body().size(); }

    /// Which permits they are, counted from 0, in ascending order.
    [[nodiscard]] const std::vector<std::size_t>& indexes() const& noexcept { return this->body().indexes(); }

    /// The guard of each permit, in the order of indexes(): for its token, and for a fence.
    [[nodiscard]] const guards_type& guards() const& noexcept { return this->body().guards(); }

    /// The fencing token of each permit, in the order of indexes(). A token is larger than every earlier one of the same index; token()
    /// is the smallest of these. May throw std::bad_alloc.
    [[nodiscard]] std::vector<fencing_token> tokens() const&
    {
        std::vector<fencing_token> all;
        all.reserve(size());
        for (const auto& guard : guards()) all.push_back(guard.token());
        return all;
    }

    std::size_t size() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    const std::vector<std::size_t>& indexes() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    const guards_type& guards() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::vector<fencing_token> tokens() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
};

}  // namespace leasehold::inline v0

#endif
