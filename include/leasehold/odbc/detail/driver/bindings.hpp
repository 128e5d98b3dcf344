// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_BINDINGS_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_BINDINGS_HPP

#include <leasehold/limits.hpp>
#include <leasehold/odbc/detail/driver/handle.hpp>
#include <leasehold/odbc/detail/flow/session_lock_key.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

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

// A 64-bit integer in digits, which drivers convert that have no SQL_C_SBIGINT.
inline constexpr std::size_t integer_text_size = 24;
using integer_text = text_buffer<integer_text_size>;

inline void assign(integer_text& to, SQLBIGINT value) noexcept
{
    char* const begin = to.bytes.data();
    to.length = std::to_chars(begin, begin + to.bytes.size(), value).ptr - begin;
}

// Returns nothing if the text is no integer, or none that fits.
inline std::optional<SQLBIGINT> integer_in(std::string_view text) noexcept
{
    while (text.ends_with(' ')) text.remove_suffix(1);
    while (text.starts_with(' ')) text.remove_prefix(1);
    SQLBIGINT value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// Values that statements read. They are bound once per prepared statement, so the block must not move.
struct parameter_block {
    text_buffer<max_name_bytes + 1> name;
    text_buffer<max_owner_bytes + 1> owner;
    text_buffer<max_name_bytes + 8> upper;
    text_buffer<max_data_bytes + 1> data;
    text_buffer<max_checkpoint_bytes + 1> checkpoint;
    text_buffer<max_checkpoint_bytes + 1> replaced;
    SQLBIGINT token = 0;
    SQLBIGINT version = 0;
    SQLBIGINT seen = 0;
    SQLBIGINT us = 0;
    SQLBIGINT now_ms = 0;
    SQLBIGINT later_ms = 0;
    SQLBIGINT unit = 1;
    SQLBIGINT most = 0;
    SQLBIGINT lock_number = 0;
    text_buffer<session_lock_key::text_size + 1> lock_name;
    std::array<integer_text, 4> digits;  // of token, version, seen and us

    // A database in this process has the host's clock. `later_ms` is rounded up, and one step more, so that a term never ends too early.
    void read_host_clock() noexcept
    {
        using std::chrono::milliseconds;
        now_ms = std::chrono::floor<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
        later_ms = now_ms + (us + 999) / 1000 + 1;
    }

    void write_digits() noexcept
    {
        assign(digits[0], token);
        assign(digits[1], version);
        assign(digits[2], seen);
        assign(digits[3], us);
    }
};

// Values that statements write, column by column.
struct result_block {
    static constexpr std::size_t max_text = max_data_bytes + 1;  // a taken-over table may have longer owners than ours, too

    std::array<SQLBIGINT, number_columns> numbers{};
    std::array<text_buffer<max_text>, text_columns> texts{};
    text_buffer<max_checkpoint_bytes + 1> checkpoint{};
    std::array<SQLLEN, number_columns> lengths{};
    std::array<integer_text, number_columns> digits{};

    // Stands in place of a number: a driver that knows no 64-bit integers may report success without having written one.
    static constexpr SQLBIGINT untouched = std::numeric_limits<SQLBIGINT>::min();

    void clear() noexcept
    {
        numbers.fill(untouched);
        lengths.fill(0);
        for (auto& text : texts) text.length = SQL_NULL_DATA;
        checkpoint.length = SQL_NULL_DATA;
        for (auto& number : digits) number.length = 0;
    }

    // The buffer of a text column other than the checkpoint.
    [[nodiscard]] text_buffer<max_text>& text_of(column id) noexcept
    {
        return texts[static_cast<std::size_t>(id) - number_columns];
    }
    [[nodiscard]] const text_buffer<max_text>& text_of(column id) const noexcept
    {
        return texts[static_cast<std::size_t>(id) - number_columns];
    }

    // Reads a number that came in digits.
    void read_digits(std::size_t index) noexcept
    {
        lengths[index] = digits[index].length;
        if (lengths[index] != SQL_NULL_DATA) numbers[index] = integer_in(digits[index].view()).value_or(untouched);
    }
};

template <std::size_t Size>
SQLRETURN bind_text(SQLHANDLE to, SQLUSMALLINT number, text_buffer<Size>& buffer, SQLULEN most, SQLSMALLINT type = SQL_VARCHAR) noexcept
{
    return ::SQLBindParameter(to, number, SQL_PARAM_INPUT, SQL_C_CHAR, type, most, 0, buffer.bytes.data(), static_cast<SQLLEN>(Size),
                              &buffer.length);
}

inline SQLRETURN bind_integer(SQLHANDLE to, SQLUSMALLINT number, SQLBIGINT& value) noexcept
{
    return ::SQLBindParameter(to, number, SQL_PARAM_INPUT, SQL_C_SBIGINT, SQL_BIGINT, 0, 0, &value, 0, nullptr);
}

// SQL_C_CHAR passes bytes through unchanged in psqlODBC (Unicode and ANSI), MariaDB's driver and libsqliteodbc, under any
// LANG and with any or no setlocale(). SQL_C_WCHAR fails in both psqlODBCs outside a UTF-8 locale, and in the ANSI one
// always; SQL_C_BINARY makes a BLOB in SQLite, which equals no TEXT.
// `in_digits`: integers too go as text, and as SQL_NUMERIC, of which Virtuoso's driver keeps all digits; not so of SQL_BIGINT.
inline SQLRETURN bind(SQLHANDLE to, SQLUSMALLINT number, parameter id, parameter_block& in, bool in_digits = false) noexcept
{
    const auto text = [&](auto& buffer, SQLULEN most = max_name_bytes) { return bind_text(to, number, buffer, most); };
    const auto integer = [&](SQLBIGINT& value) { return bind_integer(to, number, value); };
    const auto digits = [&](integer_text& buffer) { return bind_text(to, number, buffer, 19, SQL_NUMERIC); };
    switch (id) {
    case parameter::name: return text(in.name);
    case parameter::owner: return text(in.owner);
    case parameter::upper: return text(in.upper);
    case parameter::token: return in_digits ? digits(in.digits[0]) : integer(in.token);
    case parameter::version: return in_digits ? digits(in.digits[1]) : integer(in.version);
    case parameter::seen: return in_digits ? digits(in.digits[2]) : integer(in.seen);
    case parameter::us: return in_digits ? digits(in.digits[3]) : integer(in.us);
    case parameter::now_ms: return integer(in.now_ms);
    case parameter::later_ms: return integer(in.later_ms);
    case parameter::unit: return integer(in.unit);
    case parameter::most: return integer(in.most);
    case parameter::lock_number: return integer(in.lock_number);
    case parameter::lock_name: return text(in.lock_name);
    case parameter::data: return text(in.data, max_data_bytes);
    case parameter::checkpoint: return text(in.checkpoint, max_checkpoint_bytes);
    case parameter::replaced: return text(in.replaced, max_checkpoint_bytes);
    default: break;  // those of batches have buffers of their own
    }
    return SQL_ERROR;
}

inline SQLRETURN bind(SQLHANDLE to, SQLUSMALLINT number, column id, result_block& out, bool in_digits = false) noexcept
{
    const auto text = [&](auto& buffer) {
        return ::SQLBindCol(to, number, SQL_C_CHAR, buffer.bytes.data(), static_cast<SQLLEN>(buffer.bytes.size()),
                            &buffer.length);
    };
    const auto index = static_cast<std::size_t>(id);
    if (id == column::checkpoint) return text(out.checkpoint);
    if (is_text(id)) return text(out.text_of(id));
    if (in_digits) return text(out.digits[index]);
    return ::SQLBindCol(to, number, SQL_C_SBIGINT, &out.numbers[index], sizeof(SQLBIGINT), &out.lengths[index]);
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
