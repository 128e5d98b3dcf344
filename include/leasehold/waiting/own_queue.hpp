// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_OWN_QUEUE_HPP
#define LEASEHOLD_WAITING_OWN_QUEUE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/waker.hpp>
#include <leasehold/waiting/waiter_list.hpp>

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace leasehold::inline v0::waiting {

/// What keeps a lease object from another attempt.
enum class closed_by : std::uint8_t { nothing, attempt, guard };

/// The threads that wait for a lease through one object, first come, first served. The first thread moves on to the queue of
/// the name only while no guard of the object holds. So this object's own guard never blocks other waiters there.
///
/// Not thread-safe. Lifetime: must outlive its places.
class own_queue {
public:
    class place : public waiter {
    public:
        explicit place(waker& to_wake) noexcept : waiter{to_wake} { threads_waiting_.fetch_add(1); }
        ~place() { threads_waiting_.fetch_sub(1); }

    private:
        friend own_queue;
        bool found_closed_ = false;  // it sleeps until open(), which does not wake those that wait for the store
    };

    void join(place& added) noexcept { places_.push_back(added); }

    void leave(place& gone) noexcept
    {
        const bool was_first = places_.front() == &gone;
        places_.erase(gone);
        if (was_first && places_.front()) places_.front()->wake();
    }

    /// Whether it is the first. The next one is woken when that one leaves.
    [[nodiscard]] bool is_first(const place& asking) const noexcept { return places_.front() == &asking; }

    /// Whether the first may go, as the lease isn't `closed` by a guard or an attempt of its own. If it is closed, open() wakes it.
    [[nodiscard]] bool may_go(place& first, bool closed) noexcept
    {
        assert(is_first(first));
        first.found_closed_ = closed;
        return !closed;
    }

    /// The guard or the attempt has ended.
    void open() noexcept
    {
        auto* const first = static_cast<place*>(places_.front());
        if (!first || !first->found_closed_) return;
        first->found_closed_ = false;
        first->wake();
    }

    /// How many threads of the process wait for any lease.
    [[nodiscard]] static std::size_t threads_waiting() noexcept { return threads_waiting_.load(); }

private:
    inline static std::atomic<std::size_t> threads_waiting_ = 0;  // only shown; nothing depends on it

    waiter_list places_;
};

}  // namespace leasehold::inline v0::waiting

#endif
