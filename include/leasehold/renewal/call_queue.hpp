// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_CALL_QUEUE_HPP
#define LEASEHOLD_RENEWAL_CALL_QUEUE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace leasehold::inline v0::renewal {

/// Which calls go first.
enum class call_order : std::uint8_t {
    first,  ///< what others wait for: releases, renewals
    second  ///< attempts
};

/// Something to do on a thread that may wait for the store.
class call_job {
public:
    explicit call_job(call_order order) noexcept : order_{order} {}
    call_job(const call_job&) = delete;
    call_job& operator=(const call_job&) = delete;
    virtual ~call_job() = default;

    virtual void run() noexcept = 0;

private:
    friend class call_queue;

    const call_order order_;
    bool queued_ = false;
    std::shared_ptr<call_job> next_;
};

/// Jobs in order of arrival, each at most once. It links the jobs themselves, so it never allocates. Not thread-safe.
class call_queue {
public:
    call_queue() = default;
    call_queue(const call_queue&) = delete;
    call_queue& operator=(const call_queue&) = delete;

    // Drop the jobs one by one: destroying a whole chain of shared_ptr would recurse once per link.
    ~call_queue()
    {
        while (!empty()) pop();
    }

    [[nodiscard]] bool empty() const noexcept { return !lists_[0].first && !lists_[1].first; }

    void push(std::shared_ptr<call_job> job) noexcept
    {
        if (std::exchange(job->queued_, true)) return;
        list& joined = lists_[static_cast<std::size_t>(job->order_)];
        call_job* const pushed = job.get();
        (joined.first ? joined.last->next_ : joined.first) = std::move(job);
        joined.last = pushed;
    }

    std::shared_ptr<call_job> pop() noexcept
    {
        assert(!empty());
        list& next = lists_[0].first ? lists_[0] : lists_[1];
        std::shared_ptr<call_job> job = std::move(next.first);
        next.first = std::move(job->next_);
        job->queued_ = false;
        return job;
    }

private:
    struct list {
        std::shared_ptr<call_job> first;
        call_job* last = nullptr;
    };

    std::array<list, 2> lists_;  // by call_order
};

}  // namespace leasehold::inline v0::renewal

#endif
