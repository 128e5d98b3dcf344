// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_LAUNCH_HPP
#define LEASEHOLD_TESTS_SUPPORT_LAUNCH_HPP

// What child_process is made of: the fork, and what the child does until its program runs.

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <pwd.h>
#include <sys/types.h>

namespace leasehold_test {

/// All that the child needs, ready before the fork: after it, in a program with threads, nothing may allocate.
struct launch {
    std::vector<char*> arguments;
    std::vector<char*> environment;
    const passwd* user = nullptr;
    const char* root = nullptr;
    const std::vector<std::pair<std::string, std::string>>* shared = nullptr;
    int input = -1;
    int output = -1;
    bool errors_too = false;
    int death_signal = SIGKILL;
    int report = -1;
    pid_t parent = -1;
};

/// What came of a launch.
struct launched {
    pid_t pid = -1;      ///< of the child; -1: there was no fork
    int fork_error = 0;  ///< why there was none
    int exec_error = 0;  ///< why the program does not run; 0: it does
};

/// Forks. It closes plan.report in this process, and reads from `report`, the pipe's other end, why the program does not run.
[[nodiscard]] launched launch_from_lasting_thread(const launch& plan, int report);

/// fork(), whose child runs `in_child` and then ends with status 0. The child has this thread alone: `in_child` may do no more
/// than a signal handler. It is reaped with waitpid(). No start of a child_process is under way meanwhile, whose pipes it would
/// keep open. Throws std::system_error.
[[nodiscard]] pid_t forked(void (*in_child)(const void*) noexcept, const void* argument);

}  // namespace leasehold_test

#endif
