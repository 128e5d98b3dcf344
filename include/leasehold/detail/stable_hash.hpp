// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_STABLE_HASH_HPP
#define LEASEHOLD_DETAIL_STABLE_HASH_HPP

#include <cstdint>
#include <string_view>

namespace leasehold::inline v0::detail {

// A hash of two texts. It is the same in every process, build and version, since hosts must agree on what it decides.
// FNV-1a, followed by David Stafford's mixer, so that texts that differ only in the last letter still differ in all bits.
constexpr std::uint64_t stable_hash(std::uint64_t seed, std::string_view first, std::string_view second) noexcept
{
    std::uint64_t value = seed;
    for (const std::string_view text : {first, second}) {
        for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
        value = (value ^ 0x100U) * 0x100000001B3ULL;  // not a byte: marks where one text ends and the other begins
    }
    value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
    return value ^ (value >> 31U);
}

}  // namespace leasehold::inline v0::detail

#endif
