// SPDX-License-Identifier: BSL-1.0
// What a compiler may call without being asked to, in place of a C library.
#include <cstddef>

extern "C" {

void* memcpy(void* to, const void* from, std::size_t size)
{
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    while (size-- > 0) *out++ = *in++;
    return to;
}

void* memset(void* to, int value, std::size_t size)
{
    auto* out = static_cast<unsigned char*>(to);
    while (size-- > 0) *out++ = static_cast<unsigned char>(value);
    return to;
}

int memcmp(const void* a, const void* b, std::size_t size)
{
    const auto* left = static_cast<const unsigned char*>(a);
    const auto* right = static_cast<const unsigned char*>(b);
    for (; size > 0; --size, ++left, ++right)
        if (*left != *right) return *left < *right ? -1 : 1;
    return 0;
}

std::size_t strlen(const char* text)
{
    std::size_t size = 0;
    while (text[size] != '\0') ++size;
    return size;
}
}
