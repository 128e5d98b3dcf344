// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_HOST_HPP
#define LEASEHOLD_DETAIL_HOST_HPP

#include <leasehold/limits.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#if defined(_WIN32)
#include <process.h>
#elif __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace leasehold::inline v0::detail {

// Empty if the host has no name, or if the platform has no call for it.
inline std::string host_name()
{
#if defined(_WIN32)
    const char* name = std::getenv("COMPUTERNAME");
    return name ? name : "";
#elif __has_include(<unistd.h>)
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) == 0) return name.data();
    return {};
#else
    return {};
#endif
}

inline long process_id()
{
#if defined(_WIN32)
    return static_cast<long>(::_getpid());
#elif __has_include(<unistd.h>)
    return static_cast<long>(::getpid());
#else
    return 0;
#endif
}

// 128 random bits as 32 hexadecimal digits.
inline std::string random_hex()
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::random_device device;
    std::string text;
    text.reserve(32);
    for (int word = 0; word < 4; ++word) {
        auto bits = static_cast<std::size_t>(device());
        for (int nibble = 0; nibble < 8; ++nibble, bits >>= 4) text.push_back(digits[bits & 0xF]);
    }
    return text;
}

// The readable part of a host's name, ASCII without blanks; "localhost" if it has none.
inline std::string host_prefix()
{
    std::string host = host_name();
    if (host.empty()) return "localhost";
    for (char& c : host)
        if (c <= ' ' || c > '~') c = '?';
    return host;
}

// An owner that no other object has, in this process, in a child of fork(), or on another host. It begins with `readable`,
// cut so that the whole fits into an owner, and ends with 128 random bits.
inline std::string unique_owner(std::string_view readable)
{
    const std::string unique = random_hex();
    const std::size_t room = max_owner_bytes - unique.size() - 1;
    return std::string{readable.substr(0, room)} + "/" + unique;
}

}  // namespace leasehold::inline v0::detail

#endif
