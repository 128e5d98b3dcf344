// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_WATCHED_TERM_HPP
#define LEASEHOLD_RENEWAL_WATCHED_TERM_HPP

#include <leasehold/time_point.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace leasehold::inline v0::renewal {

/// What an engine knows of a term: whose store, clock and policy it has is the term's own affair.
class watched_term {
public:
    watched_term() = default;
    watched_term(const watched_term&) = delete;
    watched_term& operator=(const watched_term&) = delete;
    virtual ~watched_term() = default;

    /// Decides, schedules its own next step, and signals a loss; never does I/O. True when a renewal is to be sent.
    virtual bool step() = 0;

    /// Sends the renewal that step() asked for. Does I/O.
    virtual void renew() = 0;

    /// When the engine will call step() next, as far as is known without its mutex.
    [[nodiscard]] time_point wakes_at() const noexcept { return wakes_at_.load(std::memory_order_relaxed); }

private:
    friend class deadline_heap;
    friend class job_queue;

    static constexpr std::size_t not_queued = static_cast<std::size_t>(-1);

    // All guarded by the engine's mutex, but that wakes_at() reads without it.
    std::size_t heap_index_ = not_queued;
    std::atomic<time_point> wakes_at_{time_point::max()};
    bool awaits_worker_ = false;
    std::shared_ptr<watched_term> next_for_worker_;
};

}  // namespace leasehold::inline v0::renewal

#endif
