// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_SMALL_CONDITION_HPP
#define LEASEHOLD_RENEWAL_SMALL_CONDITION_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <mutex>

namespace leasehold::inline v0::renewal {

/// A condition variable that is one pointer while nobody waits: each waiting thread brings a `Condition` on its own stack.
///
/// It never allocates. Thread safety: all functions are called under the mutex that `wait()` is given, so that a waiter does not
/// leave while it is being woken. Lifetime: must outlive its waiters.
template <class Condition>
class small_condition {
public:
    small_condition() = default;
    small_condition(const small_condition&) = delete;
    small_condition& operator=(const small_condition&) = delete;

    /// Waits for notify_all(); may also return without one. Unlocks the mutex meanwhile.
    void wait(std::unique_lock<std::mutex>& lock)
    {
        waiter self{first_};
        self.woken.wait(lock);
    }

    void notify_all() noexcept
    {
        for (waiter* waiting = first_; waiting; waiting = waiting->next) waiting->woken.notify_one();
    }

private:
    struct waiter {
        explicit waiter(waiter*& list) noexcept : first{list}, next{list} { first = this; }
        waiter(const waiter&) = delete;
        waiter& operator=(const waiter&) = delete;
        ~waiter()
        {
            waiter** at = &first;
            while (*at != this) at = &(*at)->next;
            *at = next;
        }

        Condition woken;
        waiter*& first;
        waiter* next;
    };

    waiter* first_ = nullptr;
};

}  // namespace leasehold::inline v0::renewal

#endif
