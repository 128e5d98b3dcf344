// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_ASIO_COUNTING_ALLOCATOR_HPP
#define LEASEHOLD_TESTS_ASIO_COUNTING_ALLOCATOR_HPP

#include <atomic>
#include <cstddef>
#include <memory>

namespace leasehold_test {

/// What is known of the memory that a handler's allocator gives.
struct memory_account {
    std::atomic<int> blocks = 0;     ///< in use
    std::atomic<int> ever = 0;       ///< given, so far
    std::atomic<bool> gone = false;  ///< set by the owner of the memory, when it goes
    std::atomic<int> too_late = 0;   ///< blocks that came back after that
};

/// An allocator that writes down in an account what it does.
template <class T>
struct counting_allocator {
    using value_type = T;
    explicit counting_allocator(memory_account& of) noexcept : account{&of} {}
    template <class U>
    counting_allocator(const counting_allocator<U>& from) noexcept : account{from.account}
    {
    }
    T* allocate(std::size_t n)
    {
        ++account->blocks;
        ++account->ever;
        return std::allocator<T>{}.allocate(n);
    }
    void deallocate(T* at, std::size_t n)
    {
        --account->blocks;
        if (account->gone) ++account->too_late;
        std::allocator<T>{}.deallocate(at, n);
    }
    friend bool operator==(const counting_allocator&, const counting_allocator&) = default;
    memory_account* account;
};

}  // namespace leasehold_test

#endif
