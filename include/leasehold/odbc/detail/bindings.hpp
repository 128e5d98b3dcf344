// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_BINDINGS_HPP
#define LEASEHOLD_ODBC_DETAIL_BINDINGS_HPP

#include <leasehold/limits.hpp>
#include <leasehold/odbc/detail/handle.hpp>
#include <leasehold/odbc/detail/session_lock_key.hpp>
#include <leasehold/odbc/detail/statement.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace leasehold::inline v0::odbc::detail {

// Text in a buffer that a driver reads from or writes to.
template <std::size_t Size>
struct text_buffer {
    std::array<char, Size> bytes{};
    SQLLEN length = 0;

    void assign(std::string_view text) noexcept
    {
        const std::size_t used = std::min(text.size(), Size);
        if (used != 0) std::memcpy(bytes.data(), text.data(), used);
        length = static_cast<SQLLEN>(used);
    }
    // A driver reports the whole length of what it had to cut, and a negative one for NULL.
    [[nodiscard]] std::string_view view() const noexcept
    {
        return {bytes.data(), length <= 0 ? std::size_t{0} : std::min(static_cast<std::size_t>(length), Size - 1)};
    }
};

// What statements read. Bound once per prepared statement, so it must not move.
struct parameter_block {
    text_buffer<max_name_bytes + 1> name;
    text_buffer<max_owner_bytes + 1> owner;
    text_buffer<max_name_bytes + 8> upper;
    SQLBIGINT token = 0;
    SQLBIGINT version = 0;
    SQLBIGINT seen = 0;
    SQLBIGINT us = 0;
    SQLBIGINT lock_number = 0;
    text_buffer<session_lock_key::text_size + 1> lock_name;
};

// What statements write, column by column.
struct result_block {
    static constexpr std::size_t max_text = 1024;  // a taken-over table may have longer owners than ours

    std::array<SQLBIGINT, 10> numbers{};  // count to version
    std::array<text_buffer<max_text>, 2> texts{};
    std::array<SQLLEN, 10> lengths{};

    // In place of a number: a driver that knows no 64-bit integers may report success all the same.
    static constexpr SQLBIGINT untouched = std::numeric_limits<SQLBIGINT>::min();

    void clear() noexcept
    {
        numbers.fill(untouched);
        lengths.fill(0);
        for (auto& each : texts) each.length = 0;
    }
};

// SQL_C_CHAR passes bytes through unchanged in psqlODBC (Unicode and ANSI), MariaDB's driver and libsqliteodbc, under any
// LANG and with any or no setlocale(). SQL_C_WCHAR fails in both psqlODBCs outside a UTF-8 locale, and in the ANSI one
// always; SQL_C_BINARY makes a BLOB in SQLite, which equals no TEXT.
inline SQLRETURN bind(SQLHANDLE to, SQLUSMALLINT number, parameter which, parameter_block& in) noexcept
{
    const auto text = [&](auto& buffer) {
        return ::SQLBindParameter(to, number, SQL_PARAM_INPUT, SQL_C_CHAR, SQL_VARCHAR, max_name_bytes, 0,
                                  buffer.bytes.data(), static_cast<SQLLEN>(buffer.bytes.size()), &buffer.length);
    };
    const auto integer = [&](SQLBIGINT& value) {
        return ::SQLBindParameter(to, number, SQL_PARAM_INPUT, SQL_C_SBIGINT, SQL_BIGINT, 0, 0, &value, 0, nullptr);
    };
    switch (which) {
    case parameter::name: return text(in.name);
    case parameter::owner: return text(in.owner);
    case parameter::upper: return text(in.upper);
    case parameter::token: return integer(in.token);
    case parameter::version: return integer(in.version);
    case parameter::seen: return integer(in.seen);
    case parameter::us: return integer(in.us);
    case parameter::lock_number: return integer(in.lock_number);
    case parameter::lock_name: return text(in.lock_name);
    default: break;  // those of batches have buffers of their own
    }
    return SQL_ERROR;
}

inline SQLRETURN bind(SQLHANDLE to, SQLUSMALLINT number, column which, result_block& out) noexcept
{
    const auto index = static_cast<std::size_t>(which);
    switch (which) {
    case column::owner:
    case column::name: {
        auto& buffer = out.texts[which == column::name];
        return ::SQLBindCol(to, number, SQL_C_CHAR, buffer.bytes.data(), static_cast<SQLLEN>(buffer.bytes.size()),
                            &buffer.length);
    }
    default: return ::SQLBindCol(to, number, SQL_C_SBIGINT, &out.numbers[index], sizeof(SQLBIGINT), &out.lengths[index]);
    }
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
