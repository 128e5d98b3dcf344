// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_SPIN_MUTEX_HPP
#define LEASEHOLD_STORE_SPIN_MUTEX_HPP

#include <leasehold/store/basic_lockable.hpp>

#include <atomic>

namespace leasehold::inline v0 {

/// Keeps cores apart, and threads, with nothing but an atomic flag.
///
/// Who waits for it keeps a core busy. Not between tasks of different priority, or a task and an interrupt, on one core: the
/// higher one would wait for ever for a lower one that it does not let run. Those need a critical section.
class spin_mutex {
public:
    constexpr spin_mutex() noexcept = default;
    spin_mutex(const spin_mutex&) = delete;
    spin_mutex& operator=(const spin_mutex&) = delete;

    /// Spins until it has it.
    void lock() noexcept
    {
        // Waits by reading, which leaves the cache line where it is.
        while (locked_.test_and_set(std::memory_order_acquire))
            while (locked_.test(std::memory_order_relaxed)) {}
    }

    /// One attempt.
    [[nodiscard]] bool try_lock() noexcept { return !locked_.test_and_set(std::memory_order_acquire); }
    /// Gives it back.
    void unlock() noexcept { locked_.clear(std::memory_order_release); }

private:
    std::atomic_flag locked_{};
};

}  // namespace leasehold::inline v0

#endif
