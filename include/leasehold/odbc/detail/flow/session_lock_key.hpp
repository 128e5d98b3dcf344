// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_SESSION_LOCK_KEY_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_SESSION_LOCK_KEY_HPP

#include <leasehold/detail/stable_hash.hpp>

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
        : number_{leasehold::detail::stable_hash(0x6C65617365686F6CULL, table, name)},
          other_{leasehold::detail::stable_hash(0x64207761697465ULL, table, name)}
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
    std::uint64_t number_ = 0;
    std::uint64_t other_ = 0;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
