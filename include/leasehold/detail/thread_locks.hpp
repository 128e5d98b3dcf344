// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_THREAD_LOCKS_HPP
#define LEASEHOLD_DETAIL_THREAD_LOCKS_HPP

#include <leasehold/waiting/local_queue.hpp>

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

namespace leasehold::inline v0::detail {

// A name of a store.
struct lock_target {
    const void* queue = nullptr;
    waiting::queue_key key;

    friend bool operator==(const lock_target&, const lock_target&) = default;
};

// A name that a thread has locked. All such names of a process are linked, to detect a thread that would wait for itself,
// and a thread in std::lock() of several leases of one name, which would try one after the other for ever.
class locked_name {
public:
    locked_name(const lock_target& of, const void* thread) : of_{of}, thread_{thread}
    {
        registry& all = instance();
        const std::lock_guard lock{all.mutex};
        all.names.push_front(this);
        position_ = all.names.begin();
    }
    locked_name(const locked_name&) = delete;
    locked_name& operator=(const locked_name&) = delete;

    [[nodiscard]] const void* thread() const noexcept { return thread_; }

    // The lease by which this thread holds the target, or nullptr; identified by its locks.
    static const void* holder_of(const lock_target& target, const void* thread)
    {
        registry& all = instance();
        const std::lock_guard lock{all.mutex};
        const auto found = std::ranges::find_if(all.names, [&](const locked_name* each) {
            return each->thread_ == thread && each->of_ == target && each->held();
        });
        return found == all.names.end() ? nullptr : (*found)->owner();
    }

    // Whether this thread, which tries the target by `tried`, goes round leases of the name that block each other, of one name or of
    // several. std::lock() starts again with the lease that it has tried and not got, and so holds that one at its next conflict.
    static bool goes_in_circles(const lock_target& target, const void* thread, const void* tried)
    {
        struct conflict {
            const void* tried = nullptr;
            int turns = 0;
        };
        thread_local conflict last;
        const void* const holder = holder_of(target, thread);
        if (!holder || holder == tried) return false;
        last = {tried, holds(thread, last.tried) ? last.turns + 1 : 0};
        if (last.turns < turns_max) return false;
        last = {};
        return true;
    }

protected:
    // To be called by the destructor of the derived class, before the guard is destroyed.
    void unlink() noexcept
    {
        registry& all = instance();
        const std::lock_guard lock{all.mutex};
        all.names.erase(position_);
    }
    ~locked_name() = default;

private:
    static constexpr int turns_max = 3;

    // Whether this thread holds any name by this lease.
    static bool holds(const void* thread, const void* lease)
    {
        registry& all = instance();
        const std::lock_guard lock{all.mutex};
        return std::ranges::any_of(all.names, [&](const locked_name* each) { return each->thread_ == thread && each->owner() == lease && each->held(); });
    }

    struct registry {
        std::mutex mutex;
        std::list<locked_name*> names;
    };

    static registry& instance()
    {
        // Never destroyed, since leases in static objects may be destroyed later.
        static registry& all = *new registry;
        return all;
    }

    [[nodiscard]] virtual bool held() const noexcept = 0;
    [[nodiscard]] virtual const void* owner() const noexcept = 0;

    const lock_target of_;
    const void* const thread_;
    std::list<locked_name*>::iterator position_;
};

// The guards that the lock() of one lease keeps, one for each thread. If a thread lost its lock and another thread has
// locked the lease since, each thread unlocks its own guard.
template <class Guard, class Threads>
class thread_locks {
public:
    explicit thread_locks(const lock_target& of) noexcept : of_{of} {}
    thread_locks(const thread_locks&) = delete;
    thread_locks& operator=(const thread_locks&) = delete;

    [[nodiscard]] bool held_by_this_thread() const { return locked_name::holder_of(of_, Threads::this_thread()) != nullptr; }

    [[nodiscard]] bool goes_in_circles() const { return locked_name::goes_in_circles(of_, Threads::this_thread(), this); }

    // May throw std::bad_alloc; `guard` is then released. Also releases a lost guard that this thread still had here.
    void keep(Guard guard)
    {
        Guard lost;
        const std::lock_guard lock{mutex_};
        if (const auto found = mine(); found != entries_.end()) {
            lost = std::move(found->guard);
            entries_.erase(found);
        }
        entries_.emplace_front(of_, this, std::move(guard));
    }

    // Takes the guard of this thread, or else of another thread, since a lock may be passed from thread to thread. Empty if
    // no thread has one.
    Guard take() noexcept
    {
        Guard taken;
        std::list<entry> gone;
        const std::lock_guard lock{mutex_};
        auto found = mine();
        if (found == entries_.end()) found = std::ranges::find_if(entries_, [](const entry& each) { return each.guard.held(); });
        if (found == entries_.end()) return taken;
        taken = std::move(found->guard);
        gone.splice(gone.begin(), entries_, found);
        return taken;
    }

    // Empty if this thread has none. The reference is valid until this thread takes the guard, or the lease is destroyed.
    [[nodiscard]] const Guard& of_this_thread() const noexcept
    {
        static const Guard none;
        const std::lock_guard lock{mutex_};
        const auto found = mine();
        return found == entries_.end() ? none : found->guard;
    }

private:
    struct entry final : locked_name {
        entry(const lock_target& target, const void* of, Guard kept) : locked_name{target, Threads::this_thread()}, lease{of}, guard{std::move(kept)} {}
        ~entry() { unlink(); }
        [[nodiscard]] bool held() const noexcept override { return guard.held(); }
        [[nodiscard]] const void* owner() const noexcept override { return lease; }

        const void* lease;
        Guard guard;
    };

    auto mine() const noexcept
    {
        return std::ranges::find(entries_, Threads::this_thread(), &locked_name::thread);
    }

    const lock_target of_;
    mutable std::mutex mutex_;
    mutable std::list<entry> entries_;
};

}  // namespace leasehold::inline v0::detail

#endif
