// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_THREADING_HPP
#define LEASEHOLD_RENEWAL_THREADING_HPP

#include <leasehold/detail/quiet_thread.hpp>

#include <condition_variable>
#include <thread>
#include <utility>

namespace leasehold::inline v0::renewal {

/// What runs and waits in the background of leases on this clock: threads. A simulator, whose clock is not time, specialises
/// it with something of its own, so that the same engine runs there.
template <class Clock>
struct threading {
    using thread = std::thread;
    using condition_variable = std::condition_variable;

    template <class Function>
    static thread start(Function&& function)
    {
        return detail::quiet_thread(std::forward<Function>(function));
    }

    /// Of the calling thread; no other that lives has it.
    [[nodiscard]] static const void* this_thread() noexcept
    {
        static thread_local const char here = 0;
        return &here;
    }

    [[nodiscard]] static bool is_this(const thread& other) noexcept { return other.get_id() == std::this_thread::get_id(); }
};

}  // namespace leasehold::inline v0::renewal

#endif
