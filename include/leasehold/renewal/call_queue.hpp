// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_CALL_QUEUE_HPP
#define LEASEHOLD_RENEWAL_CALL_QUEUE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/renewal/fifo.hpp>

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

    /// Its link in a call_queue, guarded by the mutex of the queue's owner.
    fifo_link<call_job> link;

private:
    friend class call_queue;

    const call_order order_;
};

/// Jobs in order of arrival, those first that others wait for; each at most once. Not thread-safe.
class call_queue {
public:
    [[nodiscard]] bool empty() const noexcept { return lists_[0].empty() && lists_[1].empty(); }

    void push(std::shared_ptr<call_job> job) noexcept { lists_[static_cast<std::size_t>(job->order_)].push(std::move(job)); }

    std::shared_ptr<call_job> pop() noexcept { return lists_[lists_[0].empty() ? 1 : 0].pop(); }

private:
    std::array<fifo<call_job, &call_job::link>, 2> lists_;  // by call_order
};

}  // namespace leasehold::inline v0::renewal

#endif
