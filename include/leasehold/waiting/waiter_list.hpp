// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_WAITER_LIST_HPP
#define LEASEHOLD_WAITING_WAITER_LIST_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/waker.hpp>

namespace leasehold::inline v0::waiting {

/// A waiting thread, as a link of a list.
class waiter {
public:
    explicit waiter(waker& to_wake) noexcept : waker_{to_wake} {}
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    void wake() noexcept { waker_.wake(); }

private:
    friend class waiter_list;

    waker& waker_;
    waiter* before_ = nullptr;
    waiter* after_ = nullptr;
};

/// Waiters in order of arrival. Never allocates. Not thread-safe.
class waiter_list {
public:
    waiter_list() = default;
    waiter_list(const waiter_list&) = delete;
    waiter_list& operator=(const waiter_list&) = delete;

    /// Null when empty.
    [[nodiscard]] waiter* front() const noexcept { return front_; }
    /// Null after the last.
    [[nodiscard]] static waiter* next(const waiter& current) noexcept { return current.after_; }

    void push_back(waiter& added) noexcept
    {
        added.before_ = back_;
        (back_ ? back_->after_ : front_) = &added;
        back_ = &added;
    }

    void erase(waiter& gone) noexcept
    {
        (gone.before_ ? gone.before_->after_ : front_) = gone.after_;
        (gone.after_ ? gone.after_->before_ : back_) = gone.before_;
    }

private:
    waiter* front_ = nullptr;
    waiter* back_ = nullptr;
};

}  // namespace leasehold::inline v0::waiting

#endif
