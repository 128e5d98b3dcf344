// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_KEEPER_HANDLE_HPP
#define LEASEHOLD_RENEWAL_KEEPER_HANDLE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace leasehold::inline v0::renewal {

/// How many handles a keeper has; the first is counted from the beginning. Thread safety: any thread may call any function.
class handle_count {
public:
    // Relaxed: the caller has a handle already, so the keeper is there, and stays.
    void add() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }

    /// True for the last one. What was done through the others (release) comes before what the last one does next (acquire).
    [[nodiscard]] bool drop() noexcept { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

private:
    std::atomic<std::size_t> count_{1};
};

/// How a lease and its guards refer to their term_keeper. The last handle calls retire(), which ends what runs in the background
/// for the lease; the engine's threads may keep the keeper's memory a moment longer. The keeper counts its handles itself, since
/// both numbers in a shared_ptr are about memory.
///
/// Thread safety: like a shared_ptr's. Distinct handles of one keeper are independent.
template <class Keeper>
class keeper_handle {
public:
    /// Refers to nothing.
    keeper_handle() noexcept = default;

    /// The first handle of a new keeper. May throw std::bad_alloc, and what the keeper's constructor throws.
    template <class... Arguments>
    [[nodiscard]] static keeper_handle make(Arguments&&... arguments)
    {
        keeper_handle first;
        std::shared_ptr<Keeper> made = std::make_shared<Keeper>(std::forward<Arguments>(arguments)...);
        first.keeper_ = made.get();
        first.keeper_->keep_itself(std::move(made));
        return first;
    }

    keeper_handle(const keeper_handle& other) noexcept : keeper_{other.keeper_}
    {
        if (keeper_) keeper_->handles_.add();
    }
    keeper_handle(keeper_handle&& other) noexcept : keeper_{std::exchange(other.keeper_, nullptr)} {}
    keeper_handle& operator=(keeper_handle other) noexcept
    {
        swap(other);
        return *this;
    }

    ~keeper_handle()
    {
        if (keeper_ && keeper_->handles_.drop()) keeper_->retire();
    }

    void swap(keeper_handle& other) noexcept { std::swap(keeper_, other.keeper_); }

    [[nodiscard]] explicit operator bool() const noexcept { return keeper_ != nullptr; }
    [[nodiscard]] Keeper& operator*() const noexcept { return *keeper_; }
    [[nodiscard]] Keeper* operator->() const noexcept { return keeper_; }
    [[nodiscard]] Keeper* get() const noexcept { return keeper_; }

private:
    Keeper* keeper_ = nullptr;
};

}  // namespace leasehold::inline v0::renewal

#endif
