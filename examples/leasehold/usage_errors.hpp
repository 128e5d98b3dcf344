// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_USAGE_ERRORS_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_USAGE_ERRORS_HPP

#include "commands.hpp"

#include <string>
#include <vector>

namespace tool {

// What is wrong with a command line, in words. All throw failure (exit_code::usage), which repeats no value of an option.

/// `why`, and where help is.
[[noreturn]] void refuse(const std::string& why, const std::string& subcommand = {});

/// Refuses a first argument that is no subcommand, and no option that stands alone.
void check_subcommand(const std::string& first, const std::vector<std::string>& subcommands);

/// Refuses what a subcommand did not understand, which is `words`; nothing: returns. `options` are the subcommand's, `given` is
/// what it did understand.
void check_remaining(std::vector<std::string> words, const std::string& subcommand, const std::vector<std::string>& options,
                     const command_options& given);

}  // namespace tool

#endif
