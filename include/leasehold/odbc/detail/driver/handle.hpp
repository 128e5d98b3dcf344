// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_HANDLE_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_HANDLE_HPP

#if __has_include(<windows.h>)
#include <windows.h>
#endif
#include <sql.h>
#include <sqlext.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// Owns one ODBC handle; null if it could not be made.
template <SQLSMALLINT Type>
class handle {
public:
    handle() noexcept = default;
    explicit handle(SQLHANDLE parent) noexcept
    {
        if (!SQL_SUCCEEDED(::SQLAllocHandle(Type, parent, &value_))) value_ = SQLHANDLE{};
    }
    handle(handle&& other) noexcept : value_{std::exchange(other.value_, SQLHANDLE{})} {}
    handle& operator=(handle&& other) noexcept
    {
        std::swap(value_, other.value_);
        other.reset();
        return *this;
    }
    ~handle() { reset(); }

    void reset() noexcept
    {
        if (value_ != SQLHANDLE{}) ::SQLFreeHandle(Type, std::exchange(value_, SQLHANDLE{}));
    }
    [[nodiscard]] SQLHANDLE get() const noexcept { return value_; }
    [[nodiscard]] explicit operator bool() const noexcept { return value_ != SQLHANDLE{}; }

private:
    SQLHANDLE value_{};
};

using environment_handle = handle<SQL_HANDLE_ENV>;
using connection_handle = handle<SQL_HANDLE_DBC>;
using statement_handle = handle<SQL_HANDLE_STMT>;

// ODBC's functions take text they only read as non-const.
inline SQLCHAR* odbc_text(const char* text) noexcept { return reinterpret_cast<SQLCHAR*>(const_cast<char*>(text)); }

// They take a number where a pointer may be.
inline SQLPOINTER odbc_number(std::uintptr_t number) noexcept { return reinterpret_cast<SQLPOINTER>(number); }

inline std::string driver_info(SQLHDBC connection, SQLUSMALLINT what)
{
    std::array<char, 256> text{};
    SQLSMALLINT length = 0;
    ::SQLGetInfo(connection, what, text.data(), static_cast<SQLSMALLINT>(text.size()), &length);
    return text.data();
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
