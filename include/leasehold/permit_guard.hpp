// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_PERMIT_GUARD_HPP
#define LEASEHOLD_PERMIT_GUARD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/guard_base.hpp>
#include <leasehold/detail/held_term.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/permit_pool.hpp>
#include <leasehold/release_outcome.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

// A term of one of the permits of a pool, which is told when it ends.
template <class Pool>
class held_permit : public lease_parts<typename Pool::lease_type>::term {
    using term_type = typename lease_parts<typename Pool::lease_type>::term;

public:
    held_permit() noexcept = default;
    held_permit(std::shared_ptr<Pool> pool, typename Pool::attempt_result result) noexcept
        : term_type{std::move(lease_access::body(result.guard))}, pool_{this->empty() ? nullptr : std::move(pool)},
          index_{result.index}
    {
    }

    [[nodiscard]] auto* store() const noexcept { return this->empty() ? nullptr : std::addressof(pool_->store()); }
    [[nodiscard]] std::size_t index() const noexcept { return this->empty() ? 0 : index_; }
    release_outcome end(std::error_code& ec) noexcept
    {
        const release_outcome outcome = term_type::end(ec);
        pool_->released_last(index_);
        return outcome;
    }
    void drop() noexcept
    {
        std::error_code ignored;
        end(ignored);
    }
    [[noreturn]] void raise_failure(std::error_code ec, std::string_view operation) const { pool_->raise_failure(ec, operation); }

private:
    std::shared_ptr<Pool> pool_;
    std::size_t index_ = 0;
};

}  // namespace detail

/// A permit of a lease_semaphore, or a reader's share of a shared_lease: one term, from its grant to its end.
///
/// The same as a lease_guard, with an index. Thread safety: like lease_guard.
/// Lifetime: the store must outlive it; the semaphore or the shared lease need not.
template <class Semaphore>
class [[nodiscard]] permit_guard
    : public detail::guard_base<permit_guard<Semaphore>, detail::held_permit<typename Semaphore::pool_type>> {
public:
    using detail::guard_base<permit_guard, detail::held_permit<typename Semaphore::pool_type>>::guard_base;

    /// The type of its semaphore or shared lease.
    using lease_type = Semaphore;
    /// The type of the store.
    using store_type = typename Semaphore::store_type;

    /// Which permit it is, counted from 0; no two guards that hold have the same one. 0 when the guard is empty.
    [[nodiscard]] std::size_t index() const& noexcept { return this->body().index(); }
    std::size_t index() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
};

}  // namespace leasehold::inline v0

#endif
