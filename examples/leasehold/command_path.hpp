// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_COMMAND_PATH_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_COMMAND_PATH_HPP

#include <string>

namespace tool {

/// Whether the command can be started, as far as that can be seen beforehand: 0, exit_code::not_found or not_executable.
/// Asked before the lease, so that a mistyped command on one host doesn't cost the others their turn.
[[nodiscard]] int check_command(const std::string& command);

}  // namespace tool

#endif
