// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_TOOL_RUN_COMMANDS_HPP
#define LEASEHOLD_TESTS_TOOL_RUN_COMMANDS_HPP

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace leasehold_test {

/// A command that says when it is there, and then works until it is told to end.
inline const std::vector<std::string> worker{"sh", "-c", "echo $$; exec sleep 60"};
/// One that SIGTERM doesn't end.
inline const std::vector<std::string> stubborn{"sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.1; done"};

/// `leasehold run` with these arguments and this command.
inline std::vector<std::string> run_with(std::vector<std::string> arguments, const std::vector<std::string>& command)
{
    arguments.insert(arguments.begin(), "run");
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), command.begin(), command.end());
    return arguments;
}

/// The number that such a command has said; -1: none.
inline pid_t process_in(const std::optional<std::string>& line) { return line && !line->empty() ? std::stoi(*line) : -1; }

}  // namespace leasehold_test

#endif
