// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_SIGNAL_QUEUE_HPP
#define LEASEHOLD_RENEWAL_SIGNAL_QUEUE_HPP

#include <leasehold/renewal/watched_term.hpp>

#include <memory>
#include <utility>

namespace leasehold::inline v0::renewal {

/// Losses that have to be signalled: first in, first out, each at most once. It links the terms themselves, so it never
/// allocates. Not thread-safe.
class signal_queue {
public:
    [[nodiscard]] bool empty() const noexcept { return !first_; }

    void push(std::shared_ptr<watched_term> term) noexcept
    {
        if (std::exchange(term->awaits_signal_, true)) return;
        watched_term* const pushed = term.get();
        (first_ ? last_->next_to_signal_ : first_) = std::move(term);
        last_ = pushed;
    }

    std::shared_ptr<watched_term> pop() noexcept
    {
        std::shared_ptr<watched_term> term = std::move(first_);
        first_ = std::move(term->next_to_signal_);
        term->awaits_signal_ = false;
        return term;
    }

    // Release the terms one by one: destroying a whole chain of shared_ptr would recurse once per link.
    ~signal_queue()
    {
        while (!empty()) pop();
    }
    signal_queue() = default;
    signal_queue(const signal_queue&) = delete;
    signal_queue& operator=(const signal_queue&) = delete;

private:
    std::shared_ptr<watched_term> first_;
    watched_term* last_ = nullptr;
};

}  // namespace leasehold::inline v0::renewal

#endif
