// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_JOB_QUEUE_HPP
#define LEASEHOLD_RENEWAL_JOB_QUEUE_HPP

#include <leasehold/renewal/watched_term.hpp>

#include <memory>
#include <utility>

namespace leasehold::inline v0::renewal {

/// First in, first out, each term at most once; linked through the terms, so that it never allocates. Not thread-safe.
class job_queue {
public:
    [[nodiscard]] bool empty() const noexcept { return !first_; }

    /// Null when empty.
    [[nodiscard]] const watched_term* first() const noexcept { return first_.get(); }

    void push(std::shared_ptr<watched_term> term) noexcept
    {
        if (std::exchange(term->awaits_worker_, true)) return;
        watched_term* const pushed = term.get();
        (first_ ? last_->next_for_worker_ : first_) = std::move(term);
        last_ = pushed;
    }

    std::shared_ptr<watched_term> pop() noexcept
    {
        std::shared_ptr<watched_term> term = std::move(first_);
        first_ = std::move(term->next_for_worker_);
        term->awaits_worker_ = false;
        return term;
    }

    // One by one: a chain of shared_ptr that is dropped whole recurses once per link.
    void clear() noexcept
    {
        while (!empty()) pop();
    }

    ~job_queue() { clear(); }
    job_queue() = default;
    job_queue(const job_queue&) = delete;
    job_queue& operator=(const job_queue&) = delete;

private:
    std::shared_ptr<watched_term> first_;
    watched_term* last_ = nullptr;
};

}  // namespace leasehold::inline v0::renewal

#endif
