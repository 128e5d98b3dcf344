// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_JSON_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_JSON_HPP

#include <string>
#include <string_view>

namespace tool {

/// The text as a JSON string, quotes included. Characters that a terminal would obey or hide are escaped beside those that
/// must be, for JSON is also read by people; a byte that is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace tool

#endif
