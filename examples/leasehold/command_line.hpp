// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_COMMAND_LINE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_COMMAND_LINE_HPP

#include <functional>
#include <string>
#include <vector>

namespace tool {

/// What a command line asks for: something to run that returns the exit status. Help and version are printed here.
/// Sets how loud the tool is. Throws failure (exit_code::usage), saying what is wrong and where help is.
[[nodiscard]] std::function<int()> understand(const std::vector<std::string>& arguments);

/// Overwrites connection strings that have a password in them, so that it isn't in the list of processes from here on.
void hide_passwords(int argc, char** argv) noexcept;

}  // namespace tool

#endif
