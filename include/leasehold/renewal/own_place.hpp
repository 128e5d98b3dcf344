// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_OWN_PLACE_HPP
#define LEASEHOLD_RENEWAL_OWN_PLACE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/waker.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/own_queue.hpp>

#include <mutex>
#include <optional>

namespace leasehold::inline v0::renewal {

/// A waiter's place in the queue of those that share a lease object. The queue is a part of a term_keeper, whose mutex guards it.
///
/// Thread safety: any thread may call any function. Lifetime: the keeper and the waker must outlive it.
template <class Keeper>
class own_place {
public:
    own_place(Keeper& keeper, waker& to_wake) noexcept : keeper_{keeper}, place_{to_wake}
    {
        const std::lock_guard lock{keeper_.mutex_};
        keeper_.own_queue_.join(place_);
    }
    own_place(const own_place&) = delete;
    own_place& operator=(const own_place&) = delete;
    ~own_place()
    {
        const std::lock_guard lock{keeper_.mutex_};
        keeper_.own_queue_.leave(place_);
    }

    /// When to check again, unless woken before. Nothing: it is this waiter's turn, and no guard of the lease holds.
    [[nodiscard]] std::optional<time_point> closed_until() noexcept
    {
        const std::lock_guard lock{keeper_.mutex_};
        if (!keeper_.own_queue_.is_first(place_)) return time_point::max();
        if (keeper_.own_queue_.may_go(place_, keeper_.closed())) return std::nullopt;
        return keeper_.closed_until();
    }

    /// For the first: what closes the object now. The end of it wakes this waiter.
    [[nodiscard]] waiting::closed_by look() noexcept
    {
        const std::lock_guard lock{keeper_.mutex_};
        if (keeper_.own_queue_.may_go(place_, keeper_.closed())) return waiting::closed_by::nothing;
        return keeper_.attempting_ ? waiting::closed_by::attempt : waiting::closed_by::guard;
    }

private:
    Keeper& keeper_;
    waiting::own_queue::place place_;
};

}  // namespace leasehold::inline v0::renewal

#endif
