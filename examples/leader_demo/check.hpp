// SPDX-License-Identifier: BSL-1.0
#ifndef LEADER_DEMO_CHECK_HPP
#define LEADER_DEMO_CHECK_HPP

#include <filesystem>

namespace demo {

/// Judges the records in a folder, and says why. 0: nothing to object; 1: something went wrong, or wasn't shown.
/// Throws std::runtime_error for a file that doesn't hold records.
int check(const std::filesystem::path& folder);

}  // namespace demo

#endif
