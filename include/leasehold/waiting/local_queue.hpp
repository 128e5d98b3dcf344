// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_LOCAL_QUEUE_HPP
#define LEASEHOLD_WAITING_LOCAL_QUEUE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/never_destroyed.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/waiting/waiter_list.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

namespace leasehold::inline v0::waiting {

/// The waiters of one process for the names of a store, first come, first served.
///
/// Only the first waiter for a name asks the store: no matter how many threads wait, the store sees one. A waiter's own
/// object is linked into the queue, so that waiting allocates nothing here.
/// Thread safety: all functions from any thread.
/// Lifetime: must outlive its waiters.
class local_queue {
    struct bucket;

public:
    /// A place in the queue until it is destroyed. The waker, and the store and name of the key, must outlive it.
    class place : public waiter {
    public:
        place(local_queue& queue, const queue_key& key, waker& to_wake) noexcept
            : waiter{to_wake}, queue_{queue}, bucket_{queue.bucket_of(key.name)}, key_{key}
        {
            const std::lock_guard lock{bucket_.mutex};
            first_ = bucket_.first_of(key_) == nullptr;
            bucket_.waiters.push_back(*this);
            queue_.waiting_.fetch_add(1);
        }

        ~place()
        {
            const std::lock_guard lock{bucket_.mutex};
            bucket_.waiters.erase(*this);
            queue_.waiting_.fetch_sub(1);
            if (!first_) return;
            if (place* const next = bucket_.first_of(key_)) {
                next->first_ = true;
                next->wake();
            }
        }

        /// Whether it is this waiter's turn to ask the store.
        [[nodiscard]] bool first() const noexcept
        {
            const std::lock_guard lock{bucket_.mutex};
            return first_;
        }

    private:
        friend local_queue;

        local_queue& queue_;
        bucket& bucket_;
        const queue_key key_;
        bool first_ = false;
    };

    local_queue() = default;
    local_queue(const local_queue&) = delete;
    local_queue& operator=(const local_queue&) = delete;

    /// Wakes the first waiter for a lease that was released. Costs one atomic read if nobody waits.
    void released(const queue_key& key) noexcept
    {
        // Sequentially consistent with the waiter's own attempt: one of the two sees the other.
        if (waiting_.load() == 0) return;
        bucket& its_bucket = bucket_of(key.name);
        const std::lock_guard lock{its_bucket.mutex};
        if (place* const first = its_bucket.first_of(key)) first->wake();
    }

    /// How many threads wait, for any lease.
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.load(); }

private:
    struct bucket {
        std::mutex mutex;
        waiter_list waiters;

        place* first_of(const queue_key& key) const noexcept
        {
            for (waiter* queued = waiters.front(); queued; queued = waiter_list::next(*queued))
                if (auto* const found = static_cast<place*>(queued); found->key_ == key) return found;
            return nullptr;
        }
    };

    bucket& bucket_of(std::string_view name) noexcept { return buckets_[std::hash<std::string_view>{}(name) % buckets_.size()]; }

    std::array<bucket, 32> buckets_;
    std::atomic<std::size_t> waiting_ = 0;  // added to before the waiter's attempt, read after the release: see released()
};

/// The queue for waiters of all other stores; one per shared library if symbols are hidden.
inline local_queue& process_queue() noexcept
{
    // Without the heap, which may have run out.
    static detail::never_destroyed<local_queue> queue;
    return queue.value;
}

template <lease_store Store>
local_queue& queue_of(Store& store) noexcept
{
    if constexpr (queueing_store<Store>)
        return store.local_waiters();
    else
        return process_queue();
}

template <lease_store Store>
queue_key key_of(Store& store, std::string_view name) noexcept
{
    static constexpr char this_type = 0;
    if constexpr (queueing_store<Store>)
        return {.name = name};
    else if constexpr (queue_sharing_store<Store>)
        return store.queue_key_of(name);
    else
        return {std::addressof(store), &this_type, name};
}

/// Wakes waiters after a lease of this store was released in this process.
template <lease_store Store>
void released(Store& store, std::string_view name) noexcept
{
    queue_of(store).released(key_of(store, name));
}

}  // namespace leasehold::inline v0::waiting

#endif
