// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_NEAREST_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_NEAREST_HPP

#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// The one of `words` that `typed` was probably meant to be; empty where none is near.
[[nodiscard]] std::string nearest(std::string_view typed, const std::vector<std::string>& words);

}  // namespace tool

#endif
