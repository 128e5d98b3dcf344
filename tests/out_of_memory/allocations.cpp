// SPDX-License-Identifier: BSL-1.0
#include "allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

thread_local int out_of_memory::allocations_left = -1;

namespace {

void* allocate_if_left(std::size_t size) noexcept
{
    int& left = out_of_memory::allocations_left;
    if (left == 0) return nullptr;
    if (left > 0) --left;
    return std::malloc(size == 0 ? 1 : size);
}

void* allocate(std::size_t size)
{
    if (void* const memory = allocate_if_left(size)) return memory;
    throw std::bad_alloc{};
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate_if_left(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate_if_left(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
