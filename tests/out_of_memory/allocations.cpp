// SPDX-License-Identifier: BSL-1.0
#include "allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

thread_local int out_of_memory::allocations_left = -1;

namespace {

void* allocate(std::size_t size)
{
    int& left = out_of_memory::allocations_left;
    if (left == 0) throw std::bad_alloc{};
    if (left > 0) --left;
    if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc{};
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
