// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_NAME_RANGE_HPP
#define LEASEHOLD_ODBC_DETAIL_NAME_RANGE_HPP

#include <leasehold/limits.hpp>

#include <string>
#include <string_view>

namespace leasehold::inline v0::odbc::detail {

// Where the range of the names ends that begin with `prefix`: the greatest text of them that fits.
inline std::string last_with_prefix(std::string_view prefix)
{
    constexpr std::string_view last_character = "\xF4\x8F\xBF\xBF";
    std::string last{prefix};
    while (last.size() + last_character.size() <= max_name_bytes) last += last_character;
    return last;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
