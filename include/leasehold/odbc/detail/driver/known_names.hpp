// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_KNOWN_NAMES_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_KNOWN_NAMES_HPP

#include <leasehold/odbc/detail/driver/handle.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

// The names that the driver manager of this program knows. odbcinst may list others.
namespace leasehold::inline v0::odbc::detail {

// A driver manager that repeats itself can't keep a call for ever.
inline constexpr std::size_t max_known_names = 64;

// Returns the first column of one of ODBC's lists, SQLDrivers or SQLDataSources.
template <class List>
std::vector<std::string> known_names(List list)
{
    std::vector<std::string> names;
    const environment_handle environment{SQL_NULL_HANDLE};
    if (!environment) return names;
    ::SQLSetEnvAttr(environment.get(), SQL_ATTR_ODBC_VERSION, odbc_number(SQL_OV_ODBC3), 0);
    std::array<SQLCHAR, 256> name{};
    std::array<SQLCHAR, 1024> rest{};
    SQLSMALLINT ignored = 0;
    SQLUSMALLINT direction = SQL_FETCH_FIRST;
    while (names.size() < max_known_names &&
           SQL_SUCCEEDED(list(environment.get(), direction, name.data(), static_cast<SQLSMALLINT>(name.size()), &ignored, rest.data(),
                              static_cast<SQLSMALLINT>(rest.size()), &ignored))) {
        names.emplace_back(reinterpret_cast<const char*>(name.data()));
        direction = SQL_FETCH_NEXT;
    }
    return names;
}

// The names that Driver= and DSN= can have.
struct known_to_driver_manager {
    std::vector<std::string> drivers{};
    std::vector<std::string> sources{};
};

inline known_to_driver_manager what_is_known() { return {known_names(::SQLDrivers), known_names(::SQLDataSources)}; }

}  // namespace leasehold::inline v0::odbc::detail

#endif
