// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_FIFO_HPP
#define LEASEHOLD_RENEWAL_FIFO_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <cassert>
#include <memory>
#include <utility>

namespace leasehold::inline v0::renewal {

/// What an object needs to wait in a fifo.
template <class T>
struct fifo_link {
    std::shared_ptr<T> next;
    bool waits = false;
};

/// Objects in order of arrival, each at most once. It links the objects themselves by a member of theirs, so it never allocates. Not
/// thread-safe.
template <class T, fifo_link<T> T::*Link>
class fifo {
public:
    fifo() = default;
    fifo(const fifo&) = delete;
    fifo& operator=(const fifo&) = delete;

    // Drops the objects one by one: destroying a whole chain of shared_ptr would recurse once per link.
    ~fifo()
    {
        while (!empty()) pop();
    }

    [[nodiscard]] bool empty() const noexcept { return !first_; }

    void push(std::shared_ptr<T> added) noexcept
    {
        if (std::exchange((added.get()->*Link).waits, true)) return;
        T* const pushed = added.get();
        (first_ ? (last_->*Link).next : first_) = std::move(added);
        last_ = pushed;
    }

    std::shared_ptr<T> pop() noexcept
    {
        assert(!empty());
        std::shared_ptr<T> popped = std::move(first_);
        first_ = std::move((popped.get()->*Link).next);
        (popped.get()->*Link).waits = false;
        return popped;
    }

private:
    std::shared_ptr<T> first_;
    T* last_ = nullptr;
};

}  // namespace leasehold::inline v0::renewal

#endif
