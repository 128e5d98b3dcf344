// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_MEMORY_ORDERS_INSTEAD_OF_STD_HPP
#define LEASEHOLD_TESTS_MEMORY_ORDERS_INSTEAD_OF_STD_HPP

#include <memory_orders/memory_model.hpp>

#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <type_traits>

// What stands for std::atomic, std::mutex and the like in a program that is explored.
namespace orders {

template <class T>
class atomic {
public:
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

    atomic() : atomic{T{}} {}
    atomic(T value) : its_{bits(value)} {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(std::memory_order order = std::memory_order_seq_cst) const { return value(its_.load(order)); }
    operator T() const { return load(); }
    void store(T what, std::memory_order order = std::memory_order_seq_cst) { its_.store(bits(what), order); }
    T operator=(T what)
    {
        store(what);
        return what;
    }
    T exchange(T what, std::memory_order order = std::memory_order_seq_cst)
    {
        return change([&](T) { return what; }, order);
    }
    T fetch_add(T by, std::memory_order order = std::memory_order_seq_cst)
    {
        return change([&](T from) { return static_cast<T>(from + by); }, order);
    }
    T fetch_sub(T by, std::memory_order order = std::memory_order_seq_cst)
    {
        return change([&](T from) { return static_cast<T>(from - by); }, order);
    }
    bool compare_exchange_strong(T& expected, T wanted, std::memory_order order, std::memory_order otherwise)
    {
        const std::uint64_t before = its_.modify(
            [&](std::uint64_t from, std::uint64_t& to) {
                to = bits(wanted);
                return from == bits(expected);
            },
            order, otherwise);
        if (before == bits(expected)) return true;
        expected = value(before);
        return false;
    }
    bool compare_exchange_strong(T& expected, T wanted, std::memory_order order = std::memory_order_seq_cst)
    {
        return compare_exchange_strong(expected, wanted, order,
                                       order == std::memory_order_acq_rel   ? std::memory_order_acquire
                                       : order == std::memory_order_release ? std::memory_order_relaxed
                                                                            : order);
    }
    bool compare_exchange_weak(T& expected, T wanted, std::memory_order order = std::memory_order_seq_cst)
    {
        return compare_exchange_strong(expected, wanted, order);
    }

private:
    static std::uint64_t bits(T value) noexcept
    {
        std::uint64_t as = 0;
        std::memcpy(&as, &value, sizeof value);
        return as;
    }
    static T value(std::uint64_t as) noexcept
    {
        T value{};
        std::memcpy(static_cast<void*>(&value), &as, sizeof value);
        return value;
    }
    template <class Change>
    T change(Change to, std::memory_order order)
    {
        return value(its_.modify(
            [&](std::uint64_t from, std::uint64_t& wanted) {
                wanted = bits(to(value(from)));
                return true;
            },
            order, order));
    }

    mutable location its_;
};

class atomic_flag {
public:
    bool test_and_set(std::memory_order order = std::memory_order_seq_cst) { return its_.exchange(true, order); }
    [[nodiscard]] bool test(std::memory_order order = std::memory_order_seq_cst) const { return its_.load(order); }
    void clear(std::memory_order order = std::memory_order_seq_cst) { its_.store(false, order); }

private:
    atomic<bool> its_;
};

// A plain variable: two threads must not use it at once, unless both read it.
template <class T>
class plain {
public:
    plain(T value = {}) : value_{value}
    {
        current->tick();
        written_[current->running] = current->mine().known[current->running];
    }
    plain(const plain&) = delete;
    plain& operator=(const plain&) = delete;

    operator T() const
    {
        if (!current->happened(written_)) current->broken("data race: a read");
        current->tick();
        read_[current->running] = current->mine().known[current->running];
        return value_;
    }
    plain& operator=(T what)
    {
        if (!current->happened(written_) || !current->happened(read_)) current->broken("data race: a write");
        current->tick();
        written_ = {};
        written_[current->running] = current->mine().known[current->running];
        value_ = what;
        return *this;
    }

private:
    T value_;
    clocks written_{};
    mutable clocks read_{};
};

class mutex {
public:
    void lock()
    {
        current->give_way(&free_);
        free_ = false;
        current->join(left_);
    }
    bool try_lock()
    {
        current->give_way(nullptr);
        if (!free_) return false;
        free_ = false;
        current->join(left_);
        return true;
    }
    void unlock()
    {
        current->tick();
        left_ = current->mine();
        free_ = true;
    }

private:
    bool free_ = true;
    view left_;
};

// Its waits end at once, as if without a reason.
class condition_variable {
public:
    void notify_one() noexcept {}
    void notify_all() noexcept {}
    template <class Lock>
    void wait(Lock& lock)
    {
        lock.unlock();
        lock.lock();
    }
    template <class Lock, class Condition>
    void wait(Lock& lock, Condition condition)
    {
        while (!condition()) wait(lock);
    }
    template <class Lock, class Time, class Condition>
    bool wait_until(Lock& lock, Time, Condition condition)
    {
        wait(lock);
        return condition();
    }
    template <class Lock, class Time>
    std::cv_status wait_until(Lock& lock, Time)
    {
        wait(lock);
        return std::cv_status::no_timeout;
    }
};

}  // namespace orders

namespace std {
template <class T>
using explored_atomic = orders::atomic<T>;
using explored_atomic_flag = orders::atomic_flag;
using explored_mutex = orders::mutex;
using explored_condition_variable = orders::condition_variable;
}  // namespace std

#endif
