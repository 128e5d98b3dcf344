// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_THREAD_LOCKS_HPP
#define LEASEHOLD_DETAIL_THREAD_LOCKS_HPP

#include <leasehold/detail/never_destroyed.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/error.hpp>

#include <forward_list>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

inline void refuse_deadlock(std::string_view operation, std::string_view name, bool would_deadlock)
{
    if (!would_deadlock) return;
    throw_exception(
        std::system_error{std::make_error_code(std::errc::resource_deadlock_would_occur),
                          "leasehold: " + std::string{operation} + " '" + printable(name) + "': this thread has already locked it"});
}

[[noreturn]] inline void raise_not_locked(std::string_view operation, std::string_view name)
{
    throw_exception(std::system_error{std::make_error_code(std::errc::operation_not_permitted),
                                      "leasehold: " + std::string{operation} + " '" + printable(name) +
                                          "': this thread has not locked it"});
}

// The guards that the lock() of one lease keeps, the newest first. A thread unlocks its own guards only: another thread may have locked
// the lease since it was lost. A thread that locks again after a loss has two guards, since its std::lock_guard of the lost one will
// unlock, too. One pointer, and memory for each guard.
//
// The mutex that each function takes is the lease's own, always the same one: a lease that nobody locks has no memory for that.
template <class Guard, class Threads>
class thread_locks {
public:
    thread_locks() = default;
    thread_locks(thread_locks&&) noexcept = default;
    thread_locks& operator=(thread_locks&&) noexcept = default;
    ~thread_locks() = default;

    [[nodiscard]] bool held_by_this_thread(std::mutex& mutex) const noexcept
    {
        const std::lock_guard lock{mutex};
        const auto found = std::next(before(entries_, is_mine));
        return found != entries_.end() && found->guard.held();
    }

    // False if there is nothing to keep. May throw std::bad_alloc; `guard` is then released.
    bool keep(std::mutex& mutex, Guard guard)
    {
        if (guard.empty()) return false;
        entries added;
        added.emplace_front(Threads::this_thread(), std::move(guard));
        const std::lock_guard lock{mutex};
        move_next(added, added.before_begin(), entries_);
        return true;
    }

    // Takes the newest guard of this thread; empty if it has none.
    Guard take(std::mutex& mutex) noexcept
    {
        entries gone;
        const std::lock_guard lock{mutex};
        move_next(entries_, before(entries_, is_mine), gone);
        return gone.empty() ? Guard{} : std::move(gone.front().guard);
    }

    // The newest guard; empty if this thread has none. The reference is valid until this thread takes the guard, or the lease is destroyed.
    [[nodiscard]] const Guard& of_this_thread(std::mutex& mutex) const noexcept
    {
        static const never_destroyed<Guard> none;
        const std::lock_guard lock{mutex};
        const auto found = std::next(before(entries_, is_mine));
        return found == entries_.end() ? none.value : found->guard;
    }

private:
    struct entry {
        entry(decltype(Threads::this_thread()) by, Guard kept) : thread{by}, guard{std::move(kept)} {}

        decltype(Threads::this_thread()) thread;
        Guard guard;
    };
    using entries = std::forward_list<entry>;

    static bool is_mine(const entry& kept) noexcept { return kept.thread == Threads::this_thread(); }

    // The place before the first entry that `is` accepts; the last place if it accepts none.
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
