// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_THREAD_LOCKS_HPP
#define LEASEHOLD_DETAIL_THREAD_LOCKS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/waiting/local_queue.hpp>

#include <algorithm>
#include <forward_list>
#include <iterator>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// A name of a store.
struct lock_target {
    const void* queue = nullptr;
    waiting::queue_key key;

    friend bool operator==(const lock_target&, const lock_target&) = default;
};

// What a lease tells its thread_locks, which keep none of it: a lease that nobody locks has no memory for that.
struct lock_site {
    lock_target target;
    const void* lease;  // identifies it
    std::mutex& mutex;  // the lease's own, which guards its thread_locks
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
        return std::ranges::any_of(
            all.names, [&](const locked_name* each) { return each->thread_ == thread && each->owner() == lease && each->held(); });
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

inline void refuse_deadlock(std::string_view operation, std::string_view name, bool would_deadlock)
{
    if (!would_deadlock) return;
    throw_exception(
        std::system_error{std::make_error_code(std::errc::resource_deadlock_would_occur),
                          "leasehold: " + std::string{operation} + " '" + printable(name) + "': this thread has already locked the name"});
}

// The guards that the lock() of one lease keeps, one for each thread. If a thread lost its lock and another thread has
// locked the lease since, each thread unlocks its own guard. One pointer, and memory for each guard.
template <class Guard, class Threads>
class thread_locks {
public:
    thread_locks() = default;
    thread_locks(thread_locks&&) noexcept = default;
    thread_locks& operator=(thread_locks&&) noexcept = default;
    ~thread_locks() = default;

    [[nodiscard]] static bool held_by_this_thread(const lock_target& target)
    {
        return locked_name::holder_of(target, Threads::this_thread()) != nullptr;
    }

    [[nodiscard]] static bool goes_in_circles(const lock_site& here)
    {
        return locked_name::goes_in_circles(here.target, Threads::this_thread(), here.lease);
    }

    // False if there is nothing to keep. May throw std::bad_alloc; `guard` is then released. Also releases a lost guard that this
    // thread still had here.
    bool keep(const lock_site& here, Guard guard)
    {
        if (guard.empty()) return false;
        entries added, lost;
        added.emplace_front(here, std::move(guard));
        const std::lock_guard lock{here.mutex};
        move_next(entries_, before(entries_, is_mine), lost);
        move_next(added, added.before_begin(), entries_);
        return true;
    }

    // Takes the guard of this thread, or else of another thread, since a lock may be passed from thread to thread. Empty if
    // no thread has one.
    Guard take(const lock_site& here) noexcept
    {
        entries gone;
        const std::lock_guard lock{here.mutex};
        auto found = before(entries_, is_mine);
        if (std::next(found) == entries_.end()) found = before(entries_, [](const entry& each) { return each.guard.held(); });
        move_next(entries_, found, gone);
        return gone.empty() ? Guard{} : std::move(gone.front().guard);
    }

    // Empty if this thread has none. The reference is valid until this thread takes the guard, or the lease is destroyed.
    [[nodiscard]] const Guard& of_this_thread(const lock_site& here) const noexcept
    {
        static const Guard none;
        const std::lock_guard lock{here.mutex};
        const auto found = std::next(before(entries_, is_mine));
        return found == entries_.end() ? none : found->guard;
    }

private:
    struct entry final : locked_name {
        entry(const lock_site& here, Guard kept)
            : locked_name{here.target, Threads::this_thread()}, lease{here.lease}, guard{std::move(kept)}
        {
        }
        ~entry() { unlink(); }
        [[nodiscard]] bool held() const noexcept override { return guard.held(); }
        [[nodiscard]] const void* owner() const noexcept override { return lease; }

        const void* lease;
        Guard guard;
    };
    using entries = std::forward_list<entry>;

    static bool is_mine(const entry& each) noexcept { return each.thread() == Threads::this_thread(); }

    // The place before the first entry of which `is` is true; the last place if there is none.
    template <class Entries, class Is>
    static auto before(Entries& all, Is is) noexcept
    {
        auto at = all.before_begin();
        while (std::next(at) != all.end() && !is(*std::next(at))) ++at;
        return at;
    }

    // Does nothing behind the last entry.
    static void move_next(entries& from, typename entries::iterator at, entries& to) noexcept
    {
        if (std::next(at) != from.end()) to.splice_after(to.before_begin(), from, at);
    }

    entries entries_;
};

}  // namespace leasehold::inline v0::detail

#endif
