// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_LOCK_KEY_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_LOCK_KEY_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace leasehold::inline v0::odbc::detail {

// What the session lock of a lease is called. Two leases that share one by chance wait longer than they need to.
class session_lock_key {
    static constexpr std::string_view prefix = "leasehold:";

public:
    static constexpr std::size_t text_size = prefix.size() + 32;

    session_lock_key() = default;
    session_lock_key(std::string_view table, std::string_view name) noexcept
        : number_{hash(0x6C65617365686F6CULL, table, name)}, other_{hash(0x64207761697465ULL, table, name)}
    {
    }

    [[nodiscard]] std::int64_t number() const noexcept { return static_cast<std::int64_t>(number_); }

    [[nodiscard]] std::array<char, text_size> text() const noexcept
    {
        std::array<char, text_size> result{};
        char* to = result.data();
        for (const char c : prefix) *to++ = c;
        for (const std::uint64_t half : {number_, other_})
            for (int shift = 60; shift >= 0; shift -= 4) *to++ = "0123456789abcdef"[(half >> shift) & 15U];
        return result;
    }

private:
    // FNV-1a, and then David Stafford's mixer: the bits of names that differ in the last letter are spread over all.
    static std::uint64_t hash(std::uint64_t value, std::string_view table, std::string_view name) noexcept
    {
        const auto add = [&value](std::string_view text) {
            for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
            value = (value ^ 0x100U) * 0x100000001B3ULL;  // no byte: where one ends and the other begins matters
        };
        add(table);
        add(name);
        value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
        value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
        return value ^ (value >> 31U);
    }

    std::uint64_t number_ = 0;
    std::uint64_t other_ = 0;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
