// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_SIGNAL_QUEUE_HPP
#define LEASEHOLD_RENEWAL_SIGNAL_QUEUE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/renewal/watched_term.hpp>

#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>

namespace leasehold::inline v0::renewal {

/// Terms that wait for the signaller or the listener: first in, first out, each at most once. It links the terms themselves, so it never
/// allocates. Not thread-safe.
class signal_queue {
public:
    /// Which of its links the queue uses: a term can wait in one queue of each kind.
    explicit signal_queue(watched_term::queue kind) noexcept : link_{static_cast<std::size_t>(kind)} {}

    [[nodiscard]] bool empty() const noexcept { return !first_; }

    void push(std::shared_ptr<watched_term> term) noexcept
    {
        if (std::exchange(term->waits_[link_], true)) return;
        watched_term* const pushed = term.get();
        (first_ ? last_->next_[link_] : first_) = std::move(term);
        last_ = pushed;
    }

    std::shared_ptr<watched_term> pop() noexcept
    {
        assert(!empty());
        std::shared_ptr<watched_term> term = std::move(first_);
        first_ = std::move(term->next_[link_]);
        term->waits_[link_] = false;
        return term;
    }

    // Release the terms one by one: destroying a whole chain of shared_ptr would recurse once per link.
    ~signal_queue()
    {
        while (!empty()) pop();
    }
    signal_queue(const signal_queue&) = delete;
    signal_queue& operator=(const signal_queue&) = delete;

private:
    std::size_t link_;
    std::shared_ptr<watched_term> first_;
    watched_term* last_ = nullptr;
};

}  // namespace leasehold::inline v0::renewal

#endif
