// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_WAITING_WAIT_QUEUE_HPP
#define LEASEHOLD_WAITING_WAIT_QUEUE_HPP

#include <leasehold/clock/waker.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace leasehold::inline v0::waiting {

/// The threads of this process that wait for a name of a store, first come, first served.
///
/// Only the first of them asks the store: however many threads wait, the store sees one waiter.
class wait_queues {
    using queue = std::list<waker*>;
    using key = std::pair<const void*, std::string>;
    using key_view = std::pair<const void*, std::string_view>;

public:
    /// A place in the queue of (store, name), until it is destroyed; the waker must outlive it. May throw std::bad_alloc.
    class place {
    public:
        place(const void* store, std::string_view name, waker& to_wake) : key_{store, std::string{name}}
        {
            wait_queues& all = instance();
            const std::lock_guard lock{all.mutex_};
            queue& of = all.queues_[key_];
            position_ = of.insert(of.end(), &to_wake);
            all.waiting_.fetch_add(1);
        }

        place(const place&) = delete;
        place& operator=(const place&) = delete;

        ~place()
        {
            wait_queues& all = instance();
            const std::lock_guard lock{all.mutex_};
            const auto found = all.queues_.find(key_);
            queue& of = found->second;
            const bool was_first = position_ == of.begin();
            of.erase(position_);
            all.waiting_.fetch_sub(1);
            if (of.empty())
                all.queues_.erase(found);
            else if (was_first)
                of.front()->wake();
        }

        /// Whether it is this one's turn to ask the store.
        [[nodiscard]] bool first() const
        {
            wait_queues& all = instance();
            const std::lock_guard lock{all.mutex_};
            return all.queues_.find(key_)->second.begin() == position_;
        }

    private:
        key key_;
        queue::iterator position_;
    };

    /// A lease was released in this process: wakes the first waiter for it. Costs one atomic read where nobody waits.
    static void released(const void* store, std::string_view name) noexcept
    {
        wait_queues& all = instance();
        // Sequentially consistent with the waiter's own look at the lease: one of the two sees the other.
        if (all.waiting_.load() == 0) return;
        const std::lock_guard lock{all.mutex_};
        const auto found = all.queues_.find(key_view{store, name});
        if (found != all.queues_.end()) found->second.front()->wake();
    }

    /// How many threads of this process wait, for whatever lease.
    [[nodiscard]] static std::size_t waiting() noexcept { return instance().waiting_.load(); }

private:
    wait_queues() = default;

    static wait_queues& instance()
    {
        // Never destroyed: leases in static objects may outlive any order of destruction.
        static wait_queues& all = *new wait_queues;
        return all;
    }

    struct by_key {
        using is_transparent = void;
        bool operator()(const key_view& a, const key_view& b) const noexcept
        {
            return a.first != b.first ? std::less<const void*>{}(a.first, b.first) : a.second < b.second;
        }
    };

    std::mutex mutex_;
    std::map<key, queue, by_key> queues_;
    std::atomic<std::size_t> waiting_ = 0;
};

}  // namespace leasehold::inline v0::waiting

#endif
