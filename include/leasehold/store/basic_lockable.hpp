// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_BASIC_LOCKABLE_HPP
#define LEASEHOLD_STORE_BASIC_LOCKABLE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <concepts>

namespace leasehold::inline v0 {

/// A mutex that keeps tasks, cores or interrupts apart: the standard's BasicLockable, constructible without arguments.
///
/// | expression | returns | does |
/// |---|---|---|
/// | m.lock() | void | returns when no other user of `m` is between its lock() and unlock(); must not throw |
/// | m.unlock() | void | lets the next user in, who sees everything that was written before; must not throw |
///
/// Neither need be noexcept, since std::mutex isn't. Minimal model, for tasks and interrupts of one Cortex-M core:
///
///     struct critical_section {
///         void lock() { const auto was = get_primask(); disable_interrupts(); before = was; }
///         void unlock() { set_primask(before); }
///         std::uint32_t before = 0;
///     };
template <class M>
concept basic_lockable = std::default_initializable<M> && requires(M& m) {
    m.lock();
    m.unlock();
};

namespace detail {

// <mutex> has such a class, but not every system without threads has <mutex>.
template <basic_lockable Mutex>
class locked {
public:
    explicit locked(Mutex& mutex) : mutex_{mutex} { mutex_.lock(); }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;
    ~locked() { mutex_.unlock(); }

private:
    Mutex& mutex_;
};

}  // namespace detail

}  // namespace leasehold::inline v0

#endif
