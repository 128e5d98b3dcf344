// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_ADVICE_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_ADVICE_HPP

#include <leasehold/odbc/detail/classify.hpp>

#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>

namespace leasehold::inline v0::odbc::detail {

// What helps where unixODBC says that it can't open a driver. It says "file not found" whatever the reason is. A program can
// be linked with another driver manager than the system's, as Conan and vcpkg build one: that reads another odbcinst.ini and
// looks into other folders, so what odbcinst lists is of no use to it.
inline std::string driver_advice(std::string_view message)
{
    constexpr std::string_view before = "Can't open lib '";
    const std::size_t begin = message.find(before);
    if (begin == std::string_view::npos) return advice::driver;
    std::string_view named = message.substr(begin + before.size());
    named = named.substr(0, named.find('\''));
    if (named.find_first_of("/\\") == std::string_view::npos)
        return "the driver manager of this program knows no such ODBC driver, or finds its file in none of its folders: write the"
               " driver's full path as Driver= in the connection string; what odbcinst -q -d lists is known only to programs"
               " linked with the system's driver manager";
    if (std::ifstream{std::string{named}}.is_open())
        return "the ODBC driver's file is there, but can't be loaded: ldd shows whether a library that it needs is missing; or it"
               " was made for another processor";
    return "there is no such file, or it may not be read: check the path of the ODBC driver in the connection string, or in"
           " odbcinst.ini";
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
