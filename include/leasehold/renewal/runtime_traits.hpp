// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_RUNTIME_TRAITS_HPP
#define LEASEHOLD_RENEWAL_RUNTIME_TRAITS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/config.hpp>
#include <leasehold/detail/thread_without_signals.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <thread>
#include <utility>

namespace leasehold::inline v0::renewal {

/// A thread, of those that one counter has counted.
struct thread_number {
    const void* counter;
    std::uint64_t number;

    friend bool operator==(const thread_number&, const thread_number&) = default;
};

/// The calling thread. Differs from any other, also from one that has ended. Shared libraries that share no variable number their
/// threads by themselves, and don't take two threads for one.
LEASEHOLD_SHARED inline thread_number this_thread() noexcept
{
    static std::atomic<std::uint64_t> threads = 0;  // relaxed: each value is taken once
    static thread_local const std::uint64_t number = threads.fetch_add(1, std::memory_order_relaxed);
    return {&threads, number};
}

/// The threads and synchronisation of the background work of leases on this clock. A simulator, whose clock is not real
/// time, specialises it with its own types, so that the same engine runs there.
template <class Clock>
struct runtime_traits {
    using thread = std::thread;
    using condition_variable = std::condition_variable;

    template <class Function>
    static thread start(Function&& function)
    {
        return detail::thread_without_signals(std::forward<Function>(function));
    }

    /// Identifies the calling thread.
    [[nodiscard]] static thread_number this_thread() noexcept { return renewal::this_thread(); }

    [[nodiscard]] static bool is_this(const thread& other) noexcept { return other.get_id() == std::this_thread::get_id(); }
};

}  // namespace leasehold::inline v0::renewal

#endif
