// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_SPIN_MUTEX_HPP
#define LEASEHOLD_STORE_SPIN_MUTEX_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/store/basic_lockable.hpp>

#include <atomic>

namespace leasehold::inline v0 {

/// Keeps cores and threads apart with nothing but an atomic flag.
///
/// Waiting for it keeps a core busy. Do not use it between tasks of different priority, or a task and an interrupt, on one
/// core: the one with the higher priority would wait for ever for the other, which it does not let run. Those need a
/// critical section.
class spin_mutex {
public:
    constexpr spin_mutex() noexcept = default;
    spin_mutex(const spin_mutex&) = delete;
    spin_mutex& operator=(const spin_mutex&) = delete;

    /// Spins until it has the mutex.
    void lock() noexcept
    {
        // Wait by reading, which does not move the cache line.
        while (locked_.test_and_set(std::memory_order_acquire))
            while (locked_.test(std::memory_order_relaxed)) {}
    }

    /// Makes one attempt.
    [[nodiscard]] bool try_lock() noexcept { return !locked_.test_and_set(std::memory_order_acquire); }
    /// Unlocks it.
    void unlock() noexcept { locked_.clear(std::memory_order_release); }

private:
    std::atomic_flag locked_{};
};

}  // namespace leasehold::inline v0

#endif
