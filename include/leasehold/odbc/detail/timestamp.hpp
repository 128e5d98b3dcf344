// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_TIMESTAMP_HPP
#define LEASEHOLD_ODBC_DETAIL_TIMESTAMP_HPP

#include <leasehold/odbc/detail/handle.hpp>

#include <chrono>
#include <cstdint>

namespace leasehold::inline v0::odbc::detail {

// Microseconds since 1970 of a timestamp without time zone, as if it were UTC.
inline std::int64_t microseconds_of(const SQL_TIMESTAMP_STRUCT& at) noexcept
{
    using namespace std::chrono;
    const sys_days day = year{at.year} / month{at.month} / std::chrono::day{at.day};
    const auto time = day + hours{at.hour} + minutes{at.minute} + seconds{at.second} + microseconds{at.fraction / 1000};
    return time.time_since_epoch().count();
}

inline SQL_TIMESTAMP_STRUCT timestamp_of(std::int64_t microseconds_since_1970) noexcept
{
    using namespace std::chrono;
    const sys_time<microseconds> time{microseconds{microseconds_since_1970}};
    const sys_days day = floor<days>(time);
    const year_month_day date{day};
    const hh_mm_ss clock{time - day};
    SQL_TIMESTAMP_STRUCT result{};
    result.year = static_cast<SQLSMALLINT>(static_cast<int>(date.year()));
    result.month = static_cast<SQLUSMALLINT>(static_cast<unsigned>(date.month()));
    result.day = static_cast<SQLUSMALLINT>(static_cast<unsigned>(date.day()));
    result.hour = static_cast<SQLUSMALLINT>(clock.hours().count());
    result.minute = static_cast<SQLUSMALLINT>(clock.minutes().count());
    result.second = static_cast<SQLUSMALLINT>(clock.seconds().count());
    result.fraction = static_cast<SQLUINTEGER>(clock.subseconds().count() * 1000);
    return result;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
